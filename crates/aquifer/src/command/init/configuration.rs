//! The configuration that `init` writes. No value that may be secret goes into it: a reference does, and the operator is
//! told where the value is now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aquifer_discovery::name::snake;
use aquifer_discovery::redact;
use aquifer_discovery::servers::{Reach, Server};
use toml::{Table, Value};

use super::clients::Client;

/// What was made of the clients' servers.
pub(super) struct Made {
    pub(super) text: String,
    pub(super) sources: usize,
    pub(super) secrets: Vec<Secret>,
}

/// A value that was left where it is.
pub(super) struct Secret {
    /// The variable the configuration reads it from.
    pub(super) variable: String,
    pub(super) server: String,
    pub(super) file: PathBuf,
    /// Where in the server's entry it stands.
    pub(super) place: String,
    value: String,
}

/// One configuration for all servers, each once.
pub(super) fn of(clients: &[Client]) -> Made {
    let mut taken: BTreeMap<String, Reach> = BTreeMap::new();
    let mut sources = Vec::new();
    let mut secrets = Secrets::default();
    for client in clients {
        for server in &client.servers {
            let mut name = server.name.clone();
            match taken.get(&name) {
                Some(known) if known == &server.reach => continue,
                Some(_) => {
                    name = format!("{name}-{}", snake(client.name).replace('_', "-"));
                    if taken.contains_key(&name) {
                        continue;
                    }
                }
                None => {}
            }
            taken.insert(name.clone(), server.reach.clone());
            secrets.server = name.clone();
            secrets.file.clone_from(&client.path);
            sources.push(Value::Table(source(&name, server, &mut secrets)));
        }
    }
    let mut text = "# Written by aquifer init. Everything that can stand here: docs/configuration.md\n".to_owned();
    let count = sources.len();
    for one in sources {
        text.push_str("\n[[source]]\n");
        if let Value::Table(table) = one {
            for (key, value) in table {
                text.push_str(&format!("{key} = {}\n", inline(&value)));
            }
        }
    }
    Made { text, sources: count, secrets: secrets.found }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("{} = {}", Value::String(key.clone()), inline(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

fn source(name: &str, server: &Server, secrets: &mut Secrets) -> Table {
    let mut table = Table::new();
    table.insert("name".to_owned(), name.into());
    match &server.reach {
        Reach::Stdio { command, args, env, env_file, cwd } => {
            table.insert("command".to_owned(), literal(command).into());
            let shown = redact::arguments(args);
            let args: Vec<Value> = args
                .iter()
                .zip(&shown)
                .enumerate()
                .map(|(index, (own, shown))| {
                    if own == shown {
                        return converted(own).into();
                    }
                    secrets.put(&format!("{}_ARGUMENT_{}", upper(name), index + 1), own, "an argument").into()
                })
                .collect();
            if !args.is_empty() {
                table.insert("args".to_owned(), args.into());
            }
            let mut all = Table::new();
            for (variable, value) in env {
                let kept = if is_open(variable, value) {
                    converted(value)
                } else {
                    secrets.put(variable, value, &format!("env {variable}"))
                };
                all.insert(variable.clone(), kept.into());
            }
            if !all.is_empty() {
                table.insert("env".to_owned(), Value::Table(all));
            }
            if let Some(cwd) = cwd {
                table.insert("cwd".to_owned(), converted(cwd).into());
            }
            if env_file.is_some() {
                secrets.note("the variables of its envFile");
            }
        }
        Reach::Http { url, headers } => {
            let shown = redact::url(url);
            let kept = if is_reference(url) {
                converted(url)
            } else if shown == *url {
                literal(url)
            } else {
                secrets.put(&format!("{}_URL", upper(name)), url, "url")
            };
            table.insert("url".to_owned(), kept.into());
            let mut all = Table::new();
            for (header, value) in headers {
                let kept = if redact::header(header, value) == *value || is_reference(value) {
                    converted(value)
                } else {
                    secrets.put(&format!("{}_{}", upper(name), upper(header)), value, &format!("header {header}"))
                };
                all.insert(header.clone(), kept.into());
            }
            if !all.is_empty() {
                table.insert("headers".to_owned(), Value::Table(all));
            }
        }
    }
    if let Some(timeout) = server.timeout {
        table.insert(
            "timeout_seconds".to_owned(),
            Value::Integer(i64::try_from(timeout.as_secs()).unwrap_or(60).max(1)),
        );
    }
    table
}

/// Values left where they are. One variable cannot hold two of them.
#[derive(Default)]
struct Secrets {
    server: String,
    file: PathBuf,
    found: Vec<Secret>,
}

impl Secrets {
    /// A reference in place of the value.
    fn put(&mut self, wanted: &str, value: &str, place: &str) -> String {
        let mut variable = wanted.to_owned();
        let held = |variable: &str, found: &[Secret]| {
            found.iter().find(|known| known.variable == variable).map(|known| known.value == value)
        };
        if held(&variable, &self.found) == Some(false) {
            variable = format!("{}_{wanted}", upper(&self.server));
        }
        if held(&variable, &self.found).is_none() {
            self.found.push(Secret {
                variable: variable.clone(),
                server: self.server.clone(),
                file: self.file.clone(),
                place: place.to_owned(),
                value: value.to_owned(),
            });
        }
        format!("${{{variable}}}")
    }

    fn note(&mut self, place: &str) {
        eprintln!("'{}': {place} were not copied; name them under env in the configuration", self.server);
    }
}

/// A value that says nothing about anybody: a switch, a small number, a file that is there, an address.
fn is_open(name: &str, value: &str) -> bool {
    const WORDS: &[&str] = &[
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "debug",
        "info",
        "warn",
        "warning",
        "error",
        "trace",
        "production",
        "development",
        "test",
        "stdio",
        "http",
        "utf-8",
    ];
    if is_reference(value) || value.is_empty() {
        return true;
    }
    if redact::names_secret(name) || redact::looks_secret(value) {
        return false;
    }
    let is_number = value.len() <= 5 && value.chars().all(|c| c.is_ascii_digit());
    let is_file = value.starts_with('/') && Path::new(value).exists();
    let is_address = value.starts_with("http") && value.contains("://") && redact::url(value) == value;
    WORDS.contains(&value.to_ascii_lowercase().as_str()) || is_number || is_file || is_address
}

/// Whether everything in the value that matters is a reference.
fn is_reference(value: &str) -> bool {
    let rest = value.strip_prefix("Bearer ").unwrap_or(value);
    (rest.starts_with("${") && rest.ends_with('}') && rest.matches("${").count() == 1)
        || rest
            .strip_prefix('$')
            .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// References as the configuration writes them: `${env:NAME}`, `$NAME` and `${input:name}` become `${NAME}`.
fn converted(value: &str) -> String {
    if let Some(name) = value.strip_prefix('$').filter(|_| is_reference(value) && !value.contains('{')) {
        return format!("${{{name}}}");
    }
    let mut made = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        made.push_str(before);
        let Some((reference, after)) = after.split_once('}') else {
            made.push_str("$${");
            rest = after;
            continue;
        };
        let reference = match reference {
            "userHome" => "HOME".to_owned(),
            "workspaceFolder" | "workspaceRoot" => "PWD".to_owned(),
            other => match other.strip_prefix("input:") {
                Some(id) => snake(id).to_ascii_uppercase(),
                None => other.strip_prefix("env:").unwrap_or(other).to_owned(),
            },
        };
        made.push_str(&format!("${{{reference}}}"));
        rest = after;
    }
    made.push_str(rest);
    made
}

fn literal(value: &str) -> String {
    converted(value)
}

fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}
