//! The configuration that `init` writes. It contains references instead of values that may be secret.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aquifer_discovery::redact;
use aquifer_discovery::servers::{Input, Server, ServerTransport, env_file, is_placeholder};
use aquifer_protocol::case::snake_identifier;
use toml::{Table, Value};

use super::clients::Client;
use super::existing::ExistingConfig;
use super::values::{Variable, VariableValue, Variables, upper};
use crate::config::CONFIG_VERSION;

/// The beginning of every configuration that `init` writes.
pub(super) const HEADING: &str = "# Written by aquifer init.";

/// The order of keys in a source.
const KEY_ORDER: &[&str] = &["name", "command", "args", "env", "cwd", "url", "headers", "timeout_seconds"];

/// The configuration generated from the servers of all clients.
pub(super) struct GeneratedConfig {
    sources: Vec<Table>,
    pub(super) variables: Vec<Variable>,
    /// Remarks about settings that could not be migrated.
    pub(super) remarks: Vec<String>,
}

impl GeneratedConfig {
    pub(super) fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The text of the configuration. `env_file` is the file with the values of its variables.
    pub(super) fn text(&self, env_file: Option<&str>) -> String {
        let mut text = format!("{HEADING} See docs/configuration.md for all settings.\nversion = {CONFIG_VERSION}\n");
        if let Some(file) = env_file {
            text.push_str(&format!(
                "\n# Values of ${{NAME}}. The environment is used for names that are not in this file.\nenv_file = {}\n",
                Value::from(file)
            ));
        }
        text.push_str(&self.source_text());
        text
    }

    /// The text of the sources alone.
    pub(super) fn source_text(&self) -> String {
        let mut text = String::new();
        for table in &self.sources {
            text.push_str("\n[[source]]\n");
            let mut keys: Vec<(&String, &Value)> = table.iter().collect();
            keys.sort_by_key(|(key, _)| KEY_ORDER.iter().position(|known| known == key));
            for (key, value) in keys {
                text.push_str(&format!("{key} = {}\n", inline(value)));
            }
        }
        text
    }
}

/// Builds one configuration for all servers, without duplicates, or what has to be added to an existing one.
pub(super) fn build(clients: &[&Client], existing: Option<&ExistingConfig>) -> GeneratedConfig {
    let occupied: BTreeSet<String> = existing.into_iter().flat_map(ExistingConfig::source_names).collect();
    let reserved = existing.map(ExistingConfig::variable_names).unwrap_or_default();
    let mut taken: BTreeMap<String, ServerTransport> = BTreeMap::new();
    let mut generated = GeneratedConfig { sources: Vec::new(), variables: Vec::new(), remarks: Vec::new() };
    let mut variables = Variables::new(environment_references(clients).into_iter().chain(reserved).collect());
    for client in clients {
        for server in &client.servers {
            if let Some(name) = existing.and_then(|existing| existing.find(server)) {
                generated.remarks.push(format!("'{}' is already in the configuration as '{name}'", server.name));
                continue;
            }
            let own = format!("{}-{}", server.name, snake_identifier(client.name).replace('_', "-"));
            let numbered = (2..).map(|number| format!("{own}-{number}"));
            let mut names = [server.name.clone(), own.clone()].into_iter().chain(numbered);
            // The first name that is free or already belongs to the same server.
            let is_usable = |name: &String| {
                !occupied.contains(name) && taken.get(name).is_none_or(|known| known == &server.transport)
            };
            let Some(name) = names.find(is_usable) else { continue };
            if taken.insert(name.clone(), server.transport.clone()).is_some() {
                variables.add_file(&name, &client.path);
                continue;
            }
            variables.start_server(&name, &client.path);
            let mut writer = Writer { name: &name, client, variables: &mut variables, remarks: &mut generated.remarks };
            generated.sources.push(writer.source(server));
        }
    }
    generated.variables = variables.all;
    generated
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

fn insert_unless_empty(table: &mut Table, key: &str, value: Value) {
    let is_empty = match &value {
        Value::Array(list) => list.is_empty(),
        Value::Table(pairs) => pairs.is_empty(),
        _ => false,
    };
    if !is_empty {
        table.insert(key.to_owned(), value);
    }
}

/// Writes one server as a source.
struct Writer<'a> {
    name: &'a str,
    client: &'a Client,
    variables: &'a mut Variables,
    remarks: &'a mut Vec<String>,
}

impl Writer<'_> {
    fn source(&mut self, server: &Server) -> Table {
        let mut table = Table::new();
        table.insert("name".to_owned(), self.name.into());
        match &server.transport {
            ServerTransport::Stdio { command, args, env, env_file, cwd } => {
                let command = self.value("COMMAND", command, "command", false);
                table.insert("command".to_owned(), command.into());
                insert_unless_empty(&mut table, "args", self.arguments(args));
                insert_unless_empty(&mut table, "env", self.env(env, env_file.as_deref()));
                if let Some(cwd) = cwd {
                    let wanted = format!("{}_FOLDER", upper(self.name));
                    table.insert("cwd".to_owned(), self.value(&wanted, cwd, "cwd", false).into());
                }
            }
            ServerTransport::Http { url, headers } => {
                let wanted = format!("{}_URL", upper(self.name));
                let written = match environment_reference(url) {
                    Some(reference) => reference,
                    None => self.value(&wanted, url, "url", redact::url(url) != *url),
                };
                table.insert("url".to_owned(), written.into());
                insert_unless_empty(&mut table, "headers", self.headers(headers));
            }
        }
        if let Some(timeout) = server.timeout {
            let seconds = i64::try_from(timeout.as_secs()).unwrap_or(60).max(1);
            table.insert("timeout_seconds".to_owned(), Value::Integer(seconds));
        }
        if !server.hidden_tools.is_empty() {
            let tools = server.hidden_tools.join(", ");
            self.remarks.push(format!(
                "'{}': the client hides these tools, but this configuration does not: {tools}",
                self.name
            ));
        }
        table
    }

    fn arguments(&mut self, args: &[String]) -> Value {
        let shown = redact::arguments(args);
        let written = args.iter().zip(&shown).enumerate().map(|(index, (own, shown))| {
            let wanted = format!("{}_ARGUMENT_{}", upper(self.name), index + 1);
            // In `--token=VALUE`, only the value is secret.
            let option = own.split_once('=').filter(|(option, _)| option.starts_with('-'));
            let (option, rest) =
                option.map_or((String::new(), own.as_str()), |(option, rest)| (format!("{option}="), rest));
            let rest = self.value(&wanted, rest, &format!("argument {}", index + 1), own != shown);
            Value::from(format!("{option}{rest}"))
        });
        Value::Array(written.collect())
    }

    fn env(&mut self, env: &[(String, String)], env_file: Option<&str>) -> Value {
        let mut all = env.to_vec();
        all.extend(self.env_of_file(env_file, env));
        let pairs = all.iter().map(|(variable, value)| {
            let reference = match environment_reference(value) {
                Some(reference) => reference,
                None => self.value(variable, value, &format!("env {variable}"), !is_open(variable, value)),
            };
            (variable.clone(), Value::from(reference))
        });
        Value::Table(pairs.collect())
    }

    fn headers(&mut self, headers: &[(String, String)]) -> Value {
        let pairs = headers.iter().map(|(header, value)| {
            let wanted = format!("{}_{}", upper(self.name), upper(header));
            let is_secret = redact::header(header, value) != *value;
            // In `Bearer TOKEN`, only the token is secret.
            let (scheme, rest) = match value.split_once(' ') {
                Some((scheme @ ("Bearer" | "Basic" | "Token"), rest)) => (format!("{scheme} "), rest),
                _ => (String::new(), value.as_str()),
            };
            let reference = match environment_reference(rest) {
                Some(reference) => reference,
                None => self.value(&wanted, rest, &format!("header {header}"), is_secret),
            };
            (header.clone(), Value::from(format!("{scheme}{reference}")))
        });
        Value::Table(pairs.collect())
    }

    /// Converts a text for the configuration: references to its own syntax, secrets and placeholders to references.
    fn value(&mut self, wanted: &str, text: &str, place: &str, is_secret: bool) -> String {
        if !text.contains("${") {
            return if is_placeholder(text) {
                self.reference(wanted, VariableValue::Unfilled, place)
            } else if is_secret {
                self.reference(wanted, VariableValue::Stored(text.to_owned()), place)
            } else {
                text.to_owned()
            };
        }
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            written.push_str(&self.literal(wanted, before, place, is_secret));
            match after.split_once('}') {
                Some((reference, after)) => {
                    written.push_str(&self.converted(wanted, reference, place));
                    rest = after;
                }
                // Not a reference.
                None => {
                    written.push_str("$${");
                    rest = after;
                }
            }
        }
        written.push_str(&self.literal(wanted, rest, place, is_secret));
        written
    }

    /// Converts the text between references. Next to a reference, only text that looks like a credential is treated as
    /// one.
    fn literal(&mut self, wanted: &str, text: &str, place: &str, is_secret: bool) -> String {
        match is_secret && redact::looks_secret(text) {
            true => self.reference(wanted, VariableValue::Stored(text.to_owned()), place),
            false => text.to_owned(),
        }
    }

    fn reference(&mut self, wanted: &str, value: VariableValue, place: &str) -> String {
        format!("${{{}}}", self.variables.allocate(wanted, value, place))
    }

    /// Converts a client's reference to the syntax of the configuration.
    fn converted(&mut self, wanted: &str, reference: &str, place: &str) -> String {
        let folder = self.client.workspace.as_deref();
        match reference {
            "userHome" => return "${HOME}".to_owned(),
            "pathSeparator" | "/" => return "/".to_owned(),
            "workspaceFolder" | "workspaceRoot" => {
                return folder.map_or("${PWD}".to_owned(), |folder| folder.display().to_string());
            }
            "workspaceFolderBasename" => {
                let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
                return name.unwrap_or_else(|| self.reference(wanted, VariableValue::Unfilled, place));
            }
            _ => {}
        }
        if let Some(id) = reference.strip_prefix("input:") {
            let input = self.client.inputs.iter().find(|input| input.id == id);
            let description = input.and_then(|input| input.description.clone());
            let name =
                self.variables.allocate(&upper(id), VariableValue::Input { id: id.to_owned(), description }, place);
            return match default_of(input) {
                Some(default) => format!("${{{name}:-{default}}}"),
                None => format!("${{{name}}}"),
            };
        }
        match variable_of(reference) {
            Some(_) => format!("${{{}}}", reference.strip_prefix("env:").unwrap_or(reference)),
            // `${command:…}` and the like, which only the editor can resolve.
            None => self.reference(wanted, VariableValue::Unfilled, place),
        }
    }

    /// The variables of a server's `envFile` that it does not set itself.
    fn env_of_file(&mut self, file: Option<&str>, own: &[(String, String)]) -> Vec<(String, String)> {
        let Some(file) = file else { return Vec::new() };
        let folder = self.client.workspace.as_deref();
        let place = folder.map_or("${workspaceFolder}".to_owned(), |folder| folder.display().to_string());
        let home = crate::system::variable("HOME").unwrap_or_default();
        let path = file.replace("${workspaceFolder}", &place).replace("${userHome}", &home);
        let path = folder.unwrap_or(Path::new("/")).join(path);
        match crate::files::read(&path) {
            Ok(text) => {
                env_file(&text).into_iter().filter(|(name, _)| !own.iter().any(|(set, _)| set == name)).collect()
            }
            Err(_) => {
                let remark = format!("'{}': its envFile cannot be read here. Name its variables under env", self.name);
                self.remarks.push(remark);
                Vec::new()
            }
        }
    }
}

fn default_of(input: Option<&Input>) -> Option<&str> {
    input?.default.as_deref().filter(|default| !default.contains(['}', '$', '\n']))
}

/// The environment variable that a reference names.
fn variable_of(reference: &str) -> Option<&str> {
    let name = reference.strip_prefix("env:").unwrap_or(reference);
    let name = name.split_once(":-").map_or(name, |(name, _)| name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_name);
    is_variable.then_some(name)
}

/// A value that consists only of `$NAME`, as one client writes it.
fn environment_reference(value: &str) -> Option<String> {
    let name = value.strip_prefix('$').filter(|name| !name.starts_with('{'))?;
    (variable_of(name) == Some(name)).then(|| format!("${{{name}}}"))
}

/// The environment variables that servers refer to.
fn environment_references(clients: &[&Client]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["HOME", "PATH", "PWD"].map(str::to_owned).into();
    for server in clients.iter().flat_map(|client| &client.servers) {
        let (mut texts, pairs): (Vec<&String>, _) = match &server.transport {
            ServerTransport::Stdio { command, args, env, cwd, .. } => {
                ([command].into_iter().chain(args).chain(cwd).collect(), env)
            }
            ServerTransport::Http { url, headers } => (vec![url], headers),
        };
        texts.extend(pairs.iter().map(|(_, value)| value));
        for text in texts {
            let braced = text.split("${").skip(1).filter_map(|rest| variable_of(rest.split_once('}')?.0));
            let whole = text.rsplit(' ').next().and_then(|word| word.strip_prefix('$')).and_then(variable_of);
            names.extend(braced.chain(whole).map(str::to_owned));
        }
    }
    names
}

/// Whether a value is certainly not secret: a switch, a small number, an existing file, an address.
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
    if value.is_empty() {
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
