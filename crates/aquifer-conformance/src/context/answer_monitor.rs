//! Checks the invariants of every answer in a run. The results are reported at the end.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::{Map, Value};

use crate::mcp::{Reply, ReplyKind};
use crate::report::Tally;

/// Patterns that a message for callers must not match.
static LEAKS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        // Names from programming languages.
        r"\b(Type|Reference|Syntax|Range|Attribute|Key|Index|Value|Runtime|Assertion)Error\b",
        r"\b[A-Z]\w*Exception\b",
        r"#<\w+>|\[object \w+\]|\bundefined is not\b|\bis not a function\b|\bCannot read propert(y|ies) of\b|\bNoneType\b|\bnil pointer\b",
        r"panicked at|called `\w+::unwrap\(\)`|\bstd::\w+::|\bcore::\w+::",
        // Stack traces.
        r"(?m)^\s+at \S+ ?\(|\bat (Function|Module|Object)\.|Traceback \(most recent call last\)|goroutine \d+",
        r#"File "[^"]+", line \d+"#,
        // Source locations and paths.
        r"\.(js|ts|mjs|py|rs|go|rb|java|cs|php):\d+",
        r"/(src|node_modules|site-packages|dist|usr|home|Users|var|tmp|opt|root|etc)/\S",
        r"[A-Za-z]:\\\w+\\",
        // Databases and their drivers.
        r#"(?i)\bSQLSTATE\b|\bSQLITE_[A-Z]+\b|\bsyntax error (at or )?near\b|\bno such (table|column): \S|\brelation "[^"]+" does not exist"#,
        r"(?i)\b(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed\b|\bviolates (unique|foreign key|check|not-null) constraint\b",
        r"\b(SELECT\s.+\sFROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\s",
        r"\b(rusqlite|psycopg2?|sqlalchemy|tokio_postgres|ECONNREFUSED|ENOENT)\b",
    ])
    .ok()
});

/// The tallies over all answers.
#[derive(Default)]
pub(crate) struct AnswerMonitor {
    /// Whether answers are envelopes of the published shape.
    pub(crate) envelope: Tally,
    /// Whether failures are tool results instead of JSON-RPC errors.
    pub(crate) transport: Tally,
    /// Whether structured content and text agree.
    pub(crate) texts: Tally,
    /// Whether error codes are UPPER_SNAKE_CASE.
    pub(crate) codes: Tally,
    /// Whether messages leak internals.
    pub(crate) leaks: Tally,
    /// Whether failures have the published codes.
    pub(crate) registry: Tally,
    /// Whether messages are actionable.
    pub(crate) actionable: Tally,
}

impl AnswerMonitor {
    /// Examines one answer. A malformed request may be refused with a JSON-RPC error.
    pub(crate) fn observe(&mut self, reply: &Reply, well_formed: bool) {
        let subject = subject(reply);
        match reply.kind {
            ReplyKind::Lost => return,
            ReplyKind::RpcError => {
                if well_formed {
                    self.transport.count();
                    self.transport.fail(
                        &subject,
                        "the request failed with a JSON-RPC error instead of a tool result",
                        Some(reply),
                    );
                }
                self.check_leak(&subject, reply.exchange.answer.get("message").and_then(Value::as_str), reply);
                return;
            }
            _ => {}
        }
        self.envelope.count();
        if let Some(problem) = envelope_problem(&reply.exchange.answer) {
            self.envelope.fail(&subject, problem, Some(reply));
        }
        if let Some(agree) = reply.texts_agree {
            self.texts.count();
            if !agree {
                self.texts.fail(&subject, "the first text block is not the JSON of 'structuredContent'", Some(reply));
            }
        }
        if reply.kind == ReplyKind::Failure {
            self.transport.count();
            if let Some(code) = reply.exchange.answer.pointer("/error/code").and_then(Value::as_str) {
                self.codes.count();
                if !is_upper_snake(code) {
                    self.codes.fail(&subject, format!("code '{code}' is not UPPER_SNAKE_CASE"), Some(reply));
                }
            }
            self.check_leak(&subject, Some(reply.message()), reply);
            let errors = reply.exchange.answer.pointer("/error/details/errors").and_then(Value::as_array);
            for error in errors.into_iter().flatten() {
                self.check_leak(&subject, error.get("message").and_then(Value::as_str), reply);
            }
        }
        for warning in reply.warnings() {
            self.check_leak(&subject, warning.get("message").and_then(Value::as_str), reply);
        }
    }

    /// Expects a failure to have one of these codes.
    pub(crate) fn expect_code(&mut self, subject: &str, codes: &[&str], reply: &Reply) {
        if reply.kind == ReplyKind::Failure && !reply.code().is_empty() {
            self.registry.count();
            if !codes.contains(&reply.code()) {
                let problem = format!("the code is '{}', not '{}'", reply.code(), codes.join("' or '"));
                self.registry.warn(subject, problem, Some(reply));
            }
        }
    }

    /// Expects the message of a failure to contain a word of each group.
    pub(crate) fn expect_words(&mut self, subject: &str, groups: &[&[String]], reply: &Reply) {
        if !reply.is_refused() {
            return;
        }
        self.actionable.count();
        let missing = groups.iter().find(|group| !group.iter().any(|word| reply.message().contains(word.as_str())));
        if let Some(missing) = missing {
            let problem = format!("the message does not contain '{}'", missing.join("' or '"));
            self.actionable.warn(subject, problem, Some(reply));
        }
    }

    fn check_leak(&mut self, subject: &str, message: Option<&str>, reply: &Reply) {
        let Some(message) = message else { return };
        self.leaks.count();
        if LEAKS.as_ref().is_some_and(|leaks| leaks.is_match(message)) {
            self.leaks.fail(subject, "the message reveals implementation internals", Some(reply));
        }
    }
}

fn subject(reply: &Reply) -> String {
    match reply.exchange.arguments.get("operation").and_then(Value::as_str) {
        Some(operation) => operation.to_owned(),
        None if reply.exchange.arguments.get("operations").is_some() => "batch".to_owned(),
        None => reply.exchange.tool.clone(),
    }
}

pub(crate) fn is_upper_snake(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The first problem of an envelope, if any.
fn envelope_problem(answer: &Value) -> Option<String> {
    let Some(envelope) = answer.as_object() else {
        return Some("the answer is not a JSON object".into());
    };
    match envelope.get("success") {
        Some(Value::Bool(true)) => success_problem(envelope),
        Some(Value::Bool(false)) => failure_problem(envelope),
        Some(_) => Some("'success' is neither true nor false".into()),
        None => Some("there is no 'success'".into()),
    }
}

fn success_problem(envelope: &Map<String, Value>) -> Option<String> {
    const KNOWN: [&str; 8] =
        ["success", "data", "warnings", "_meta", "results", "summary", "halted_at", "pending_operations"];
    if envelope.contains_key("error") {
        return Some("a success has an 'error'".into());
    }
    if !envelope.contains_key("data") && !envelope.contains_key("results") {
        return Some("a success has no 'data'".into());
    }
    if let Some(extra) = envelope.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Some(format!("'{extra}' does not belong beside 'data'"));
    }
    let warnings = match envelope.get("warnings") {
        None => return None,
        Some(Value::Array(warnings)) => warnings,
        Some(_) => return Some("'warnings' is not a list".into()),
    };
    let bad = |warning: &Value| {
        let code = warning.get("code").and_then(Value::as_str).is_some_and(is_upper_snake);
        !(code && warning.get("message").is_some_and(Value::is_string))
    };
    warnings.iter().any(bad).then(|| "a warning lacks an UPPER_SNAKE_CASE code or a message".into())
}

fn failure_problem(envelope: &Map<String, Value>) -> Option<String> {
    const KNOWN: [&str; 7] =
        ["success", "error", "confirmation", "deprecated", "deprecationMessage", "deprecatedSince", "removalVersion"];
    let error = match envelope.get("error") {
        None => return Some("a failure has no 'error'".into()),
        Some(Value::Object(error)) => error,
        Some(Value::String(_)) => return Some("'error' is a string, not {code, message}".into()),
        Some(_) => return Some("'error' is not an object".into()),
    };
    for needed in ["code", "message"] {
        if error.get(needed).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Some(format!("'error.{needed}' is not text"));
        }
    }
    if error.get("details").is_some_and(|details| !details.is_object()) {
        return Some("'error.details' is not an object".into());
    }
    if let Some(extra) = error.keys().find(|key| !["code", "message", "details"].contains(&key.as_str())) {
        return Some(format!("'error.{extra}' does not belong there"));
    }
    let extra = envelope.keys().find(|key| !KNOWN.contains(&key.as_str()));
    extra.map(|extra| format!("a failure has an unknown member '{extra}'"))
}

#[cfg(test)]
mod tests {
    use super::LEAKS;

    #[test]
    fn driver_messages_are_leaks_and_similar_sentences_are_not() {
        let leaks = |message: &str| LEAKS.as_ref().is_some_and(|leaks| leaks.is_match(message));
        for message in [
            "no such table: orders",
            "no such column: orders.total",
            "relation \"orders\" does not exist",
            "UNIQUE constraint failed: orders.id",
            "syntax error near \"FROM\"",
        ] {
            assert!(leaks(message), "{message}");
        }
        for message in [
            "There is no such table. Find its name with list_tables",
            "There is no such column. Did you mean 'total'?",
            "The change is forbidden: 'customer_id' refers to a row of 'customers' which does not exist",
        ] {
            assert!(!leaks(message), "{message}");
        }
    }
}
