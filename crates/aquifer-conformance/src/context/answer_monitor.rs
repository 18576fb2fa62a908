//! Checks the invariants of every answer in a run. The results are reported at the end.

use std::sync::{Arc, LazyLock};

use regex::RegexSet;
use serde_json::Value;

use crate::mcp::{Reply, ReplyKind};
use crate::published::{self, SpecSchemas, UPPER_SNAKE_CASE};
use crate::record::Exchange;
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
    /// The published schemas, if a checkout of the specification is at hand.
    pub(crate) schemas: Option<Arc<SpecSchemas>>,
    /// Whether answers of introspection have exactly the published members and values.
    pub(crate) introspection: Tally,
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
        let answer = &reply.exchange.answer;
        let published = || self.schemas.as_ref()?.result_problems(answer).into_iter().next();
        if let Some(problem) = published::envelope::problem(answer).or_else(published) {
            self.envelope.fail(&subject, problem, Some(reply));
        }
        // What is not well-formed may be refused before it is known to be an introspection.
        if well_formed && is_published_introspection(&reply.exchange) {
            self.introspection.count();
            let published = || self.schemas.as_ref()?.introspection_problems(answer).into_iter().next();
            if let Some(problem) = published::introspection_problems(answer).into_iter().next().or_else(published) {
                let params = reply.exchange.arguments.get("params").map(Value::to_string).unwrap_or_default();
                self.introspection.fail(params, problem, Some(reply));
            }
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
                if !(UPPER_SNAKE_CASE.matches)(code) {
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

/// Whether an exchange is an introspection whose answer is published: a query for operations or types by nothing but a
/// name, or a query that was refused. What other parameters add is up to the server.
fn is_published_introspection(exchange: &Exchange) -> bool {
    let arguments = &exchange.arguments;
    if arguments.get("operation").and_then(Value::as_str) != Some("introspect") {
        return false;
    }
    if exchange.answer.get("success") == Some(&Value::Bool(false)) {
        return true;
    }
    let params = arguments.get("params").and_then(Value::as_object);
    let query = params.and_then(|params| params.get("query")).and_then(Value::as_str);
    matches!(query, Some("operations" | "types"))
        && params.is_some_and(|params| params.keys().all(|name| ["query", "name"].contains(&name.as_str())))
}

fn subject(reply: &Reply) -> String {
    match reply.exchange.arguments.get("operation").and_then(Value::as_str) {
        Some(operation) => operation.to_owned(),
        None if reply.exchange.arguments.get("operations").is_some() => "batch".to_owned(),
        None => reply.exchange.tool.clone(),
    }
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
