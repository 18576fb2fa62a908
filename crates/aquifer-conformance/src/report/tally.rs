//! The tally of a check: the number of examined subjects, and the findings.

use super::{Finding, Verdict};
use crate::mcp::Reply;
use crate::record::Exchange;

/// Further findings are only counted.
const MAX_FINDINGS: usize = 25;

/// Longer requests and answers are not shown in findings.
const MAX_SHOWN_LEN: usize = 20_000;

/// The results of a check so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) examined: usize,
    pub(crate) failed: usize,
    pub(crate) warned: usize,
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl Tally {
    /// Counts one examined subject.
    pub(crate) fn count(&mut self) {
        self.examined += 1;
    }

    /// Adds a failure.
    pub(crate) fn fail(&mut self, subject: impl Into<String>, problem: impl Into<String>, exchange: Option<&Reply>) {
        self.failed += 1;
        self.add_finding(subject.into(), problem.into(), exchange);
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, subject: impl Into<String>, problem: impl Into<String>, exchange: Option<&Reply>) {
        self.warned += 1;
        self.add_finding(subject.into(), problem.into(), exchange);
    }

    /// Counts one examined subject, and adds a failure unless the condition holds.
    pub(crate) fn expect(&mut self, holds: bool, subject: &str, problem: &str, exchange: Option<&Reply>) -> bool {
        self.count();
        if !holds {
            self.fail(subject, problem, exchange);
        }
        holds
    }

    /// Adds a note to the detail.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn add_finding(&mut self, subject: String, problem: String, exchange: Option<&Reply>) {
        if self.findings.len() < MAX_FINDINGS {
            let exchange = exchange.map(|reply| shortened(&reply.exchange));
            self.findings.push(Finding { subject, problem, exchange });
        }
    }

    /// Records that the server was lost during this check. Findings without an answer are dropped, because they only
    /// reflect the loss.
    pub(crate) fn mark_server_lost(&mut self, reason: &str) {
        let answered = |finding: &Finding| finding.exchange.as_ref().is_none_or(|exchange| !exchange.answer.is_null());
        self.findings.retain(answered);
        let problem = format!("it was lost during this check: {reason}");
        self.findings.insert(0, Finding { subject: "the server".into(), problem, exchange: None });
        (self.failed, self.warned) = (self.findings.len(), 0);
        self.examined = self.examined.max(self.failed);
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match (self.examined, self.failed, self.warned) {
            (_, failed, _) if failed > 0 => Verdict::Fail,
            (0, _, _) => Verdict::Skip,
            (_, _, warned) if warned > 0 => Verdict::Warn,
            _ => Verdict::Pass,
        }
    }

    /// One sentence: what was examined, what was wrong, or why nothing could be examined.
    pub(crate) fn detail(&self, unit: &str) -> String {
        let mut detail = match self.verdict() {
            Verdict::Skip => String::new(),
            Verdict::Pass => format!("{} {unit}, no problems", self.examined),
            // One subject can have several problems.
            _ if self.failed + self.warned > self.examined => {
                format!("{} problems with {} {unit}", self.failed + self.warned, self.examined)
            }
            _ => format!("{} of {} {unit} with problems", self.failed + self.warned, self.examined),
        };
        if let Some(first) = self.findings.first() {
            detail.push_str(&format!(": {}: {}", first.subject, first.problem));
        }
        let more = (self.failed + self.warned).saturating_sub(1);
        if more > 0 {
            detail.push_str(&format!("; and {more} more"));
        }
        for note in &self.notes {
            if !detail.is_empty() {
                detail.push_str("; ");
            }
            detail.push_str(note);
        }
        detail
    }
}

/// An exchange as shown in findings, without very long requests and answers.
pub(crate) fn shortened(exchange: &Exchange) -> Exchange {
    let short = |value: &serde_json::Value| {
        let text = value.to_string();
        if text.len() <= MAX_SHOWN_LEN { value.clone() } else { format!("({} bytes, not shown)", text.len()).into() }
    };
    Exchange { tool: exchange.tool.clone(), arguments: short(&exchange.arguments), answer: short(&exchange.answer) }
}
