//! Redacts configurations: names are shown, secrets never (R-DIS-2).
//!
//! A value is hidden unless there is a reason to show it. Values of environment variables, headers and query parameters
//! are always hidden; arguments are hidden where their name or their format suggests a secret.

use aquifer_protocol::secrets;
use serde_json::{Map, Value};

pub use aquifer_protocol::secrets::REDACTED;
pub use aquifer_protocol::secrets::may_name_secret as names_secret;

/// Replaces a secret inside a URL, where brackets are not allowed.
const REDACTED_IN_URL: &str = "REDACTED";

/// Headers whose values cannot identify the sender.
const OPEN_HEADERS: &[&str] = &["accept", "accept-language", "content-type", "mcp-protocol-version"];

/// Whether a value looks like a credential, whatever its name. This is a heuristic: long runs of letters and digits
/// also count, because in a configuration they usually are credentials.
pub fn looks_secret(value: &str) -> bool {
    if secrets::begins_like_secret(value) || secrets::looks_like_secret(value) {
        return true;
    }
    // Long random runs of letters and digits. Paths and sentences contain separators.
    value.split(|c: char| !(c.is_ascii_alphanumeric() || "+=_-".contains(c))).any(|run| {
        let digits = run.chars().filter(char::is_ascii_digit).count();
        let letters = run.chars().filter(char::is_ascii_alphabetic).count();
        (run.len() >= 20 && digits >= 3 && letters >= 3) || (run.len() >= 40 && !run.contains('-'))
    })
}

/// Whether text written by people contains a credential of a known format. Values that are only recognised by their
/// name do not count, because false positives would be a nuisance.
pub(crate) fn holds_credential(text: &str) -> bool {
    secrets::find_secrets(text).any(|found| !found.is_by_name)
}

/// The value of an environment variable. Only references are shown.
pub fn env_value(value: &str) -> String {
    if is_reference(value) { value.to_owned() } else { REDACTED.to_owned() }
}

/// The value of a header.
pub fn header(name: &str, value: &str) -> String {
    let open = OPEN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) && !looks_secret(value);
    if open || is_reference(value) { value.to_owned() } else { REDACTED.to_owned() }
}

/// A URL without user, password, query values and fragment.
pub fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return word(text) };
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match rest.find('/') {
        Some(index) => rest.split_at(index),
        None => (rest, ""),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path: Vec<String> = path.split('/').map(path_segment).collect();
    let mut shown = format!("{}://{host}{}", in_url(scheme), path.join("/"));
    if let Some(query) = query {
        let pairs: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((key, _)) => format!("{}={REDACTED_IN_URL}", in_url(key)),
                None => REDACTED_IN_URL.to_owned(),
            })
            .collect();
        shown.push('?');
        shown.push_str(&pairs.join("&"));
    }
    shown
}

/// A command, behind which somebody may have written its arguments.
pub fn command(text: &str) -> String {
    let mut words = text.split(' ');
    let program = words.next().unwrap_or_default().to_owned();
    let given: Vec<&str> = words.collect();
    std::iter::once(program).chain(arguments(&given)).collect::<Vec<_>>().join(" ")
}

/// The arguments of a command.
pub fn arguments<S: AsRef<str>>(arguments: &[S]) -> Vec<String> {
    let mut shown = Vec::with_capacity(arguments.len());
    let mut expected = Expected::Anything;
    for argument in arguments {
        let argument = argument.as_ref();
        let (text, next) = match expected {
            Expected::Secret if is_reference(argument) => (argument.to_owned(), Expected::Anything),
            // The secret may look like an option, so the next argument may be a secret, too.
            Expected::Secret => (REDACTED.to_owned(), plain_argument(argument).1),
            Expected::Header => (after(argument, ':'), Expected::Anything),
            Expected::Pair => (after(argument, '='), Expected::Anything),
            Expected::Doubtful if !is_small_number(argument) && !is_reference(argument) => {
                (REDACTED.to_owned(), Expected::Anything)
            }
            Expected::Doubtful | Expected::Anything => plain_argument(argument),
        };
        shown.push(text);
        expected = next;
    }
    shown
}

/// The expected kind of the argument after an option.
#[derive(Clone, Copy)]
enum Expected {
    Anything,
    Secret,
    /// `Name: value`.
    Header,
    /// `NAME=value`.
    Pair,
    /// After `-p` and the like: a port or a password.
    Doubtful,
}

fn plain_argument(argument: &str) -> (String, Expected) {
    if let Some((name, value)) = argument.split_once('=')
        && !name.contains("://")
    {
        let hidden = names_secret(name) && !is_reference(value);
        let value = if hidden { REDACTED.to_owned() } else { word(value) };
        return (format!("{}={value}", word(name)), Expected::Anything);
    }
    match argument {
        "-H" | "--header" | "--headers" => (argument.to_owned(), Expected::Header),
        "-e" | "--env" | "--environment" => (argument.to_owned(), Expected::Pair),
        "-p" | "-k" | "-t" | "-u" | "-P" => (argument.to_owned(), Expected::Doubtful),
        option if option.starts_with('-') && names_secret(option) && !looks_secret(option) => {
            (option.to_owned(), Expected::Secret)
        }
        other => {
            let header = other.split_once(':').filter(|(name, value)| !value.starts_with("//") && names_secret(name));
            (header.map_or_else(|| word(other), |_| after(other, ':')), Expected::Anything)
        }
    }
}

/// The configuration of an upstream, redacted so that it can be written to a file.
pub fn configuration(
    command: Option<(&str, &[String])>,
    env: &[(String, String)],
    target: Option<&str>,
    headers: &[(String, String)],
) -> Map<String, Value> {
    let pairs = |entries: &[(String, String)], hide: &dyn Fn(&str, &str) -> String| -> Value {
        let mut sorted: Vec<&(String, String)> = entries.iter().collect();
        sorted.sort();
        sorted.into_iter().map(|(name, value)| (name.clone(), Value::from(hide(name, value)))).collect()
    };
    let mut shown = Map::new();
    if let Some((program, given)) = command {
        shown.insert("command".to_owned(), word(program).into());
        shown.insert("args".to_owned(), arguments(given).into());
    }
    if let Some(target) = target {
        shown.insert("url".to_owned(), url(target).into());
    }
    if !env.is_empty() {
        shown.insert("env".to_owned(), pairs(env, &|_, value| env_value(value)));
    }
    if !headers.is_empty() {
        shown.insert("headers".to_owned(), pairs(headers, &header));
    }
    shown
}

/// A captured configuration without values that may be secret.
pub(crate) fn captured_configuration(configuration: Map<String, Value>) -> Map<String, Value> {
    match json("", Value::Object(configuration)) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Redacts any configuration. Values are hidden if their name denotes a secret or they look like one.
fn json(name: &str, value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let whole = ["env", "headers"].contains(&name);
            let inner = |(key, value): (String, Value)| {
                let hidden = match &value {
                    Value::String(text) if name == "headers" => header(&key, text).into(),
                    Value::String(text) if whole => env_value(text).into(),
                    _ => json(&key, value),
                };
                (key, hidden)
            };
            map.into_iter().map(inner).collect()
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if names_secret(name) { REDACTED.into() } else { arguments(&words).into() }
        }
        Value::Array(items) => items.into_iter().map(|item| json(name, item)).collect(),
        Value::String(text) if names_secret(name) => env_value(&text).into(),
        Value::String(text) => word(&text).into(),
        Value::Number(_) if names_secret(name) => REDACTED.into(),
        plain => plain,
    }
}

/// Redacts a single word: a URL, a list of settings, or a value that looks like a credential.
fn word(text: &str) -> String {
    if text.contains("://") {
        return url(text);
    }
    if text.contains(';') && text.contains('=') {
        let parts: Vec<String> = text.split(';').map(|part| plain_argument(part).0).collect();
        return parts.join(";");
    }
    if looks_secret(text) && !is_reference(text) { REDACTED.to_owned() } else { text.to_owned() }
}

fn path_segment(segment: &str) -> String {
    let (name, value) = match segment.split_once('=') {
        Some((name, _)) => (name, Some(REDACTED_IN_URL)),
        None => (segment, None),
    };
    let name = in_url(name);
    value.map_or(name.clone(), |value| format!("{name}={value}"))
}

fn in_url(text: &str) -> String {
    if looks_secret(text) { REDACTED_IN_URL.to_owned() } else { text.to_owned() }
}

fn after(text: &str, separator: char) -> String {
    match text.split_once(separator) {
        Some((name, value)) if is_reference(value.trim()) => format!("{name}{separator}{value}"),
        Some((name, _)) => format!("{}{separator}{REDACTED}", word(name)),
        // `-e NAME` passes a variable on by its name alone.
        None if separator == '=' => word(text),
        None => REDACTED.to_owned(),
    }
}

/// Whether the whole text is `${NAME}` or `$NAME`. A reference to a secret is not a secret.
fn is_reference(value: &str) -> bool {
    let name = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| value.strip_prefix('$'));
    name.is_some_and(is_variable_name)
}

/// Whether the text is a valid name of an environment variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_small_number(text: &str) -> bool {
    text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}
