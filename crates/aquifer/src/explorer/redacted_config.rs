//! The text of a configuration and its values, without secrets. References to variables are shown as they are written.

use std::borrow::Cow;
use std::ops::Range;

use aquifer_discovery::redact;
use aquifer_protocol::secrets;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Keys whose values may contain credentials in any form.
const STRICT_KEYS: &[&str] = &[
    "target",
    "url",
    "openapi",
    "base_url",
    "token_url",
    "store",
    "command",
    "client_document",
    "issuer",
    "explorer_url",
];

/// Tables whose values are credentials unless they refer to a variable.
const SECRET_TABLES: &[&str] = &["env", "server_variables"];

/// Sections whose keys are names of operations, tables and columns, which may look like names of secrets.
const PLAIN_SECTIONS: &[&str] = &["gate", "profile", "tables", "operations"];

/// A value that is set in the file.
#[derive(Debug, PartialEq)]
pub(super) struct ConfigValue {
    /// Its path: `source[0].env.TOKEN`.
    pub(super) key: String,
    pub(super) value: Value,
    /// Its line, from 1.
    pub(super) line: u64,
}

/// A configuration without secrets.
#[derive(Debug, PartialEq)]
pub(super) struct RedactedConfig {
    /// All values, in the order of the file.
    pub(super) values: Vec<ConfigValue>,
    /// The text of the file. Lines keep their numbers.
    pub(super) text: String,
}

impl RedactedConfig {
    /// Reads a file. `None` if it is not TOML: then it is unknown where its secrets are.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let document = DeTable::parse(text).ok()?;
        let mut walk = Walk { text, values: Vec::new(), scalars: Vec::new() };
        walk.table(document.get_ref(), "", &[]);
        let Walk { mut values, mut scalars, .. } = walk;
        values.sort_by_key(|value| value.line);
        scalars.sort_by_key(|scalar| scalar.span.start);
        Some(Self { values, text: redact_text(text, &scalars) })
    }
}

/// A value in the text.
struct Scalar {
    span: Range<usize>,
    /// What is shown instead, if it is a secret.
    redacted: Option<String>,
}

struct Walk<'t> {
    text: &'t str,
    values: Vec<ConfigValue>,
    scalars: Vec<Scalar>,
}

impl Walk<'_> {
    /// `names`: the keys that lead to the table, without indexes.
    fn table(&mut self, table: &DeTable<'_>, path: &str, names: &[&str]) {
        for (key, value) in table {
            let key: &str = key.get_ref();
            let path = join(path, key);
            let names: Vec<&str> = names.iter().copied().chain([key]).collect();
            self.entry(value, path, &names);
        }
    }

    fn entry(&mut self, value: &Spanned<DeValue<'_>>, path: String, names: &[&str]) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, &path, names),
            DeValue::Array(items) if items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))) => {
                for (index, item) in items.iter().enumerate() {
                    self.entry(item, format!("{path}[{index}]"), names);
                }
            }
            _ => {
                let line = line_of(self.text, value.span().start);
                let shown = self.value(value, names);
                self.values.push(ConfigValue { key: path, value: shown, line });
            }
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, names: &[&str]) -> Value {
        match value.get_ref() {
            DeValue::Array(items) => self.array(items, names),
            DeValue::Table(_) => Value::Null,
            DeValue::String(text) => self.string(text, &redact_string(names, text), value.span()),
            plain => {
                self.scalars.push(Scalar { span: value.span(), redacted: None });
                to_json(plain)
            }
        }
    }

    fn array(&mut self, items: &DeArray<'_>, names: &[&str]) -> Value {
        let texts: Option<Vec<&str>> = items.iter().map(|item| item.get_ref().as_str()).collect();
        // What an argument means depends on the one before it.
        if let (Some(texts), Some(&"args")) = (texts, names.last()) {
            let shown = redact::arguments(&texts);
            let both = items.iter().zip(texts.iter().zip(&shown));
            return both.map(|(item, (text, shown))| self.string(text, shown, item.span())).collect();
        }
        items.iter().map(|item| self.value(item, names)).collect()
    }

    fn string(&mut self, text: &str, shown: &str, span: Range<usize>) -> Value {
        let redacted = (shown != text).then(|| Value::from(shown).to_string());
        self.scalars.push(Scalar { span, redacted });
        Value::from(shown)
    }
}

/// A string as it may be shown. `names`: the keys that lead to it.
fn redact_string<'t>(names: &[&str], text: &'t str) -> Cow<'t, str> {
    let name = names.last().copied().unwrap_or_default();
    let table = names.iter().rev().nth(1).copied().unwrap_or_default();
    if table == "headers" {
        return redact::header(name, text).into();
    }
    if SECRET_TABLES.contains(&table) {
        return redact::env_value(text).into();
    }
    if name == "webhook" {
        return redact_path(text).into();
    }
    if STRICT_KEYS.contains(&name) {
        return redact::url(text).into();
    }
    let is_plain =
        names.iter().any(|name| PLAIN_SECTIONS.contains(name)) || name.ends_with("_env") || name == "env_file";
    match !is_plain && redact::names_secret(name) {
        true => redact::env_value(text).into(),
        false => secrets::redact(text),
    }
}

/// A URL whose path is a secret, as with most webhooks.
fn redact_path(text: &str) -> String {
    let shown = redact::url(text);
    let Some((scheme, rest)) = shown.split_once("://") else { return redact::env_value(text) };
    match rest.split_once('/') {
        Some((host, path)) if !path.is_empty() => format!("{scheme}://{host}/{}", redact::REDACTED),
        _ => shown,
    }
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| number.as_str().into(), Value::from)
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
            parsed.map_or_else(|| number.as_str().into(), Value::from)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::String(text) => Value::from(&**text),
        DeValue::Array(_) | DeValue::Table(_) => Value::Null,
    }
}

/// Replaces secrets in values and comments.
fn redact_text(text: &str, scalars: &[Scalar]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied_to = 0;
    for scalar in scalars {
        redact_comments(&mut out, text.get(copied_to..scalar.span.start).unwrap_or_default());
        let written = text.get(scalar.span.clone()).unwrap_or_default();
        match &scalar.redacted {
            Some(redacted) => {
                out.push_str(redacted);
                // The lines below keep their numbers.
                out.extend(written.matches('\n'));
            }
            None => out.push_str(written),
        }
        copied_to = scalar.span.end.max(copied_to);
    }
    redact_comments(&mut out, text.get(copied_to..).unwrap_or_default());
    out
}

/// Copies text between values. Comments may contain settings that were turned off.
fn redact_comments(out: &mut String, text: &str) {
    for line in text.split_inclusive('\n') {
        match line.split_once('#') {
            Some((before, comment)) => {
                out.push_str(before);
                out.push('#');
                out.push_str(&secrets::redact(comment));
                if comment.ends_with('\n') && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
            None => out.push_str(line),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let key: Cow<'_, str> = match !key.is_empty() && key.chars().all(is_bare) {
        true => key.into(),
        false => Value::from(key).to_string().into(),
    };
    if path.is_empty() { key.into_owned() } else { format!("{path}.{key}") }
}

/// The line of a position, from 1.
fn line_of(text: &str, position: usize) -> u64 {
    text.get(..position).unwrap_or_default().matches('\n').count() as u64 + 1
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#"# token = "hunter2hunter2"
lenient = true
env_file = ".env"

[state]
cursor_secret = "correct horse battery"
store = "redis://user:hunter2@cache/0" # shared

[approvals]
webhook = "https://hooks.example/services/hunter2/xyz"

[[source]]
name = "shop"
target = "postgres://${USER}:${PASSWORD}@db/shop"

[[source]]
command = "npx"
args = ["server", "--api-key", "hunter2", "--port", "80"]
env = { TOKEN = "hunter2", OTHER = "${OTHER}" }
headers.Authorization = """
Bearer hunter2
"""
max_concurrent_calls = 0x10
bearer_env = "SHOP_TOKEN"

[source.tables.users]
hide = ["password"]

[[gate.rule]]
effect = "deny"
operation = ["delete_order", "reset_password_of_a_customer_who_has_forgotten_it"]
"#;

    #[test]
    fn secrets_are_shown_nowhere() {
        let redacted = RedactedConfig::parse(TEXT).unwrap();
        let everything = format!("{redacted:?}");
        for secret in ["hunter2", "correct horse"] {
            assert!(!everything.contains(secret), "{everything}");
        }
        for shown in ["${OTHER}", "SHOP_TOKEN", "reset_password_of_a_customer_who_has_forgotten_it", "# shared"] {
            assert!(redacted.text.contains(shown), "{}", redacted.text);
        }
        toml::from_str::<toml::Table>(&redacted.text).unwrap();
    }

    #[test]
    fn values_have_their_path_and_line() {
        let redacted = RedactedConfig::parse(TEXT).unwrap();
        let find = |key: &str| {
            let value = redacted.values.iter().find(|value| value.key == key).unwrap_or_else(|| panic!("{key}"));
            (value.value.clone(), value.line)
        };
        assert_eq!(find("lenient"), (json!(true), 2));
        assert_eq!(find("state.cursor_secret"), (json!("[redacted]"), 6));
        assert_eq!(find("approvals.webhook"), (json!("https://hooks.example/[redacted]"), 10));
        assert_eq!(find("source[0].name"), (json!("shop"), 13));
        assert_eq!(find("source[0].target"), (json!("postgres://db/shop"), 14));
        assert_eq!(find("source[1].args"), (json!(["server", "--api-key", "[redacted]", "--port", "80"]), 18));
        assert_eq!(find("source[1].env.OTHER"), (json!("${OTHER}"), 19));
        assert_eq!(find("source[1].max_concurrent_calls"), (json!(16), 23));
        assert_eq!(find("source[1].tables.users.hide"), (json!(["password"]), 27));
        assert_eq!(find("gate.rule[0].effect"), (json!("deny"), 30));
        // Lines keep their numbers in the text.
        for value in &redacted.values {
            let line = redacted.text.lines().nth(value.line as usize - 1).unwrap();
            let name = value.key.rsplit('.').next().unwrap();
            assert!(line.contains(name), "{} is not in line {}: {line}", value.key, value.line);
        }
    }

    #[test]
    fn text_that_is_no_toml_is_not_shown() {
        assert_eq!(RedactedConfig::parse("[state\ncursor_secret = \"hunter2\""), None);
    }
}
