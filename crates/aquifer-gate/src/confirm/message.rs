//! The question shown to a person: what would be done and where it goes, why a person is asked, and every parameter,
//! without secrets and with misleading characters escaped.
//!
//! Clients truncate long text, so a question has a maximum length. A call that does not fit cannot be confirmed by a
//! question (see `is_complete`); it needs an approval, which shows all of it. Texts for people, such as the body of a mail,
//! are shortened in a question.

use std::time::Duration;

use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::Effect;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;

use super::approvals::ApprovalPreview;
use super::call::FullCall;
use super::headline;
use super::placeholders::{MAX_MENTIONED_CHARS, PlaceholderValues, fill_in};
use super::preview::Findings;
use super::render::escape;
use crate::policy::{PolicyDecision, consequence};

/// Maximum number of characters of the operator's text, the source's text and of a reason.
pub(super) const MAX_TEXT_CHARS: usize = 4000;

/// Maximum number of characters of the question, including reasons.
const MAX_QUESTION_CHARS: usize = 8000;

/// Maximum number of characters of what the calls of a batch would change.
const MAX_PREVIEW_CHARS: usize = 20_000;

/// Maximum number of unknown destinations that are named, and of characters of each.
const MAX_NAMED: usize = 5;
const MAX_NAME_CHARS: usize = 200;

/// The reason added when a call needs an approval only because of its length.
const TOO_LONG: &str = "The call is too long to be shown completely in a question, so a person has to approve it with \
                        'aquifer approvals approve'";

/// The question shown to a person, and its reasons.
#[derive(Debug, Clone)]
pub(crate) struct ConfirmationPrompt {
    /// What would run, in the operator's words or ours, plus any text from the source. Without parameters.
    pub(crate) headline: String,
    /// The question: the headline and the parameters.
    pub(crate) message: String,
    /// Why a person is asked. Callers get the reasons beside the message; a person reads them below the headline.
    pub(crate) reasons: Vec<String>,
    /// The full call. `None` if it cannot be shown.
    pub(crate) call: Option<FullCall>,
    /// The batch, if it is about several calls.
    pub(crate) batch: Option<BatchSubject>,
    /// What the call would change.
    pub(crate) preview: Option<ApprovalPreview>,
    /// Whether agreeing makes the destinations of the call known.
    pub(crate) offers_memory: bool,
    is_complete: bool,
    /// How many characters the message would have if nothing in it were shortened.
    full_chars: usize,
}

/// The calls of a batch that a question covers.
#[derive(Debug, Clone)]
pub(crate) struct BatchSubject {
    /// The indices of the calls in the batch.
    pub(crate) covered: Vec<usize>,
    /// The indices of all calls that have to be sent again.
    pub(crate) sent_again: Vec<usize>,
    /// The sources, the places behind them, and the operations, as an approval shows them.
    pub(crate) source: String,
    pub(crate) place: String,
    pub(crate) operations: String,
}

/// A call covered by a batch confirmation.
pub(crate) struct CoveredCall<'a> {
    pub(crate) index: usize,
    pub(crate) operation: &'a Operation,
    pub(crate) prompt: ConfirmationPrompt,
}

impl ConfirmationPrompt {
    /// Creates the question about a call. The operator can set its text. The source's text is appended to ours and
    /// never replaces it: neither a source nor a caller decides what a person sees.
    pub(crate) fn new(request: &Checked, decision: &PolicyDecision) -> Self {
        Self::build(request, decision, Findings::default())
    }

    /// Creates the question with the findings of a rehearsal. If both do not fit, the parameters take precedence: whether
    /// a call is shown completely must not depend on the data.
    pub(crate) fn with_findings(request: &Checked, decision: &PolicyDecision, findings: Findings<'_>) -> Self {
        let mut plain = Self::new(request, decision);
        if findings.is_empty() {
            return plain;
        }
        let detailed = plain.is_complete.then(|| Self::build(request, decision, findings));
        if let Some(detailed) = detailed.filter(Self::is_complete) {
            return detailed;
        }
        // An approval can still show the findings apart from the question.
        plain.preview = findings.summary().map(|text| ApprovalPreview { text, is_in_message: false });
        plain
    }

    fn build(request: &Checked, decision: &PolicyDecision, findings: Findings<'_>) -> Self {
        let operation = request.operation();
        let call = FullCall::new(request);
        let values = PlaceholderValues { call: call.as_ref(), preview: findings.preview };
        let question = || findings.question(operation).unwrap_or_else(|| headline::describe(operation, call.as_ref()));
        let mut headline = match (decision.message(), operation.safety.safeguards.message.as_deref()) {
            (Some(ours), _) => {
                let statement = findings.statement().map(|statement| format!(" {statement}"));
                format!("{}{}", fill_in(ours, values), statement.unwrap_or_default())
            }
            (None, Some(theirs)) => format!("{} Its source says: {}", question(), fill_in(theirs, values)),
            (None, None) => question(),
        };
        headline.push_str(&findings.consequences());
        let mut reasons: Vec<String> = operation.safety.safeguards.reasons.iter().map(|reason| clean(reason)).collect();
        // A decision by the matrix already describes the effect.
        if reasons.is_empty() && !decision.says_what_it_does() && operation.safety.danger != Danger::Safe {
            reasons.push(clean(&format!("It {}", consequence::describe(operation))));
        }
        let why = decision.reason_for_caller();
        if !why.is_empty() {
            reasons.push(clean(&why));
        }
        let taken = headline.chars().count() + reasons.iter().map(|reason| reason.chars().count() + 3).sum::<usize>();
        let room = MAX_QUESTION_CHARS.saturating_sub(taken);
        let (message, parameter_chars) = match &call {
            // Code is shown whole: what it does may be anywhere in it.
            Some(call) => {
                let shortens = !operation.safety.effects.contains(Effect::Runs);
                with_parameters(&headline, call, shortens, room)
            }
            None => (format!("{headline}\nNOT SHOWN: the parameters, which are nested too deeply"), usize::MAX),
        };
        // Longer text would push the parameters out of view.
        let is_complete = parameter_chars.saturating_add(taken) <= MAX_QUESTION_CHARS;
        let full_chars = parameter_chars.saturating_add(headline.chars().count());
        if !is_complete {
            reasons.push(TOO_LONG.to_owned());
        }
        let preview = findings.summary().map(|text| ApprovalPreview { text, is_in_message: true });
        Self { headline, message, reasons, call, batch: None, preview, offers_memory: false, is_complete, full_chars }
    }

    /// Creates the question about several calls of a batch. `others` run with them without confirmation; `later_count`
    /// more calls will need a confirmation of their own.
    pub(crate) fn for_batch(
        covered: &[CoveredCall<'_>],
        others: &[&str],
        later_count: usize,
        sent_again: Vec<usize>,
    ) -> Self {
        let mut headline = match covered.len() {
            1 => "Run this operation of a batch?".to_owned(),
            count => format!("Run these {count} operations?"),
        };
        if !others.is_empty() {
            let plural = if others.len() == 1 { "" } else { "s" };
            let names: Vec<String> = others.iter().map(|name| escape(name)).collect();
            headline.push_str(&format!(
                " The batch has {} more operation{plural} that need{} no confirmation: {}.",
                others.len(),
                if others.len() == 1 { "s" } else { "" },
                truncate(&names.join(", "), MAX_MENTIONED_CHARS)
            ));
        }
        if later_count > 0 {
            headline.push_str(&format!(" You will be asked about {later_count} more later."));
        }
        let mut message = headline.clone();
        let mut reasons: Vec<String> = Vec::new();
        for (number, call) in covered.iter().enumerate() {
            message.push_str(&format!("\n{}. {}", number + 1, call.prompt.message));
            for reason in &call.prompt.reasons {
                if !reasons.contains(reason) {
                    reasons.push(reason.clone());
                }
            }
        }
        let full_chars = covered.iter().map(|call| call.prompt.full_chars).fold(0, usize::saturating_add);
        let full_chars = full_chars.max(message.chars().count());
        let reason_chars: usize = reasons.iter().map(|reason| reason.chars().count() + 3).sum();
        let is_complete = covered.iter().all(|call| call.prompt.is_complete)
            && full_chars.saturating_add(reason_chars) <= MAX_QUESTION_CHARS;
        if !is_complete && !reasons.iter().any(|reason| reason == TOO_LONG) {
            reasons.push(TOO_LONG.to_owned());
        }
        let calls = covered.iter().map(|call| {
            // The number distinguishes calls of the same operation.
            Some((format!("{}. {}", call.index, call.operation.name), call.prompt.call.as_ref()?))
        });
        let call = calls.collect::<Option<Vec<_>>>().map(FullCall::combine);
        let distinct = |name: fn(&Operation) -> &str| {
            let mut names: Vec<&str> = Vec::new();
            for call in covered {
                if !names.contains(&name(call.operation)) {
                    names.push(name(call.operation));
                }
            }
            names.join(", ")
        };
        let batch = BatchSubject {
            covered: covered.iter().map(|call| call.index).collect(),
            sent_again,
            source: distinct(|operation| &operation.origin.source),
            place: distinct(|operation| &operation.origin.place),
            operations: format!("batch: {}", distinct(|operation| &operation.name)),
        };
        let preview = batch_preview(covered);
        Self {
            headline,
            message,
            reasons,
            call,
            batch: Some(batch),
            preview,
            offers_memory: false,
            is_complete,
            full_chars,
        }
    }

    /// The beginning of a sentence that says what requires confirmation.
    pub(crate) fn subject(&self) -> String {
        match self.batch.as_ref().map(|batch| batch.covered.len()) {
            None => "This operation requires".to_owned(),
            Some(1) => "An operation of this batch requires".to_owned(),
            Some(count) => format!("{count} operations of this batch require one"),
        }
    }

    /// The end of a sentence that says how to continue after the confirmation.
    pub(crate) fn how_to_continue(&self) -> String {
        match &self.batch {
            None => "send the same request again with 'confirmation_token'".to_owned(),
            Some(batch) => format!(
                "send {} again in this order, as a batch with 'confirmation_token' beside 'operations'",
                list_indices(&batch.sent_again)
            ),
        }
    }

    /// Whether the question shows everything that would be sent. A call that is only partly shown must not be
    /// confirmed.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether a person may edit the call: it is a single one, and shown in full. A call with hidden values is not, so
    /// nobody could tell what would be sent.
    pub(crate) fn is_editable(&self) -> bool {
        self.batch.is_none() && self.call.as_ref().is_some_and(FullCall::can_be_edited)
    }

    /// The same, with the destinations that nobody has agreed to.
    pub(crate) fn naming_unknown<'a>(mut self, unknown: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> =
            unknown.map(|name| format!("\"{}\"", truncate(&escape(name), MAX_NAME_CHARS))).collect();
        let others = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        if others > 0 {
            names.push(format!("{others} more"));
        }
        if !names.is_empty() {
            self.reasons.push(format!("Nobody has agreed to this before: {}", names.join(", ")));
        }
        self
    }

    /// The same, if agreeing makes the destinations of the call known for so long.
    pub(crate) fn offering_memory(mut self, keep: Duration, is_sending: bool) -> Self {
        let days = keep.as_secs() / (24 * 60 * 60);
        let what = match is_sending {
            true => "sending to the same destinations, with the same links in it, needs no agreement",
            false => "the same addresses and hosts need no agreement here",
        };
        self.reasons.push(format!("If you agree, {what} for {days} days, unless you choose otherwise"));
        self.offers_memory = true;
        self
    }

    /// The question and its reasons as one text. The reasons stand below the headline, above the values of the call.
    pub(crate) fn to_text(&self) -> String {
        let (headline, rest) = self.message.split_at_checked(self.headline.len()).unwrap_or((&self.message, ""));
        let mut text = headline.to_owned();
        for reason in &self.reasons {
            text.push_str("\n- ");
            text.push_str(reason);
        }
        text.push_str(rest);
        text
    }
}

/// What the calls of a batch would change, one line for each. The headline of a batch does not say it.
fn batch_preview(covered: &[CoveredCall<'_>]) -> Option<ApprovalPreview> {
    let lines = covered.iter().filter_map(|call| {
        let preview = call.prompt.preview.as_ref()?;
        Some(format!("{}. {}: {}", call.index, escape(&call.operation.name), preview.text))
    });
    let text = truncate(&lines.collect::<Vec<_>>().join("\n"), MAX_PREVIEW_CHARS);
    (!text.is_empty()).then_some(ApprovalPreview { text, is_in_message: false })
}

/// Lists operations of a batch for a message.
fn list_indices(indices: &[usize]) -> String {
    let is_range = indices.windows(2).all(|pair| matches!(pair, [one, next] if one + 1 == *next));
    match indices {
        [only] => format!("operations[{only}]"),
        [first, .., last] if is_range => format!("operations[{first}] to operations[{last}]"),
        _ => {
            let listed: Vec<String> = indices.iter().map(|index| format!("operations[{index}]")).collect();
            listed.join(", ")
        }
    }
}

/// The headline followed by every parameter on its own line, and how many characters these take without shortening any.
fn with_parameters(headline: &str, call: &FullCall, shortens: bool, room: usize) -> (String, usize) {
    let count = |line: &String| line.chars().count() + 3;
    let full = call.parameter_lines(false);
    let full_chars = full.iter().map(count).sum();
    let lines = if shortens { call.parameter_lines(true) } else { full };
    let mut message = headline.to_owned();
    // The count comes first, so that a value that looks like another parameter stands out.
    match lines.len() {
        0 => message.push_str("\nNo parameters"),
        1 => message.push_str("\n1 parameter:"),
        count => message.push_str(&format!("\n{count} parameters:")),
    }
    let (mut taken, mut missing, mut missing_chars) = (0, 0, 0);
    for line in lines {
        let chars = count(&line);
        if taken + chars > room {
            (missing, missing_chars) = (missing + 1, missing_chars + chars - 3);
            continue;
        }
        taken += chars;
        message.push_str("\n  ");
        message.push_str(&line);
    }
    if missing > 0 {
        let plural = if missing == 1 { "" } else { "s" };
        message.push_str(&format!(
            "\nNOT SHOWN: {missing} parameter{plural} with {missing_chars} characters. 'aquifer approvals show' shows the \
             whole call"
        ));
    }
    (message, full_chars)
}

/// Puts text of the operator or the source on one line, escaped and truncated.
fn clean(text: &str) -> String {
    truncate(&escape(text), MAX_TEXT_CHARS)
}

/// Truncates text and states how many characters are not shown.
pub(super) fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (shown, rest) = text.split_at(end);
            format!("{shown}… (NOT SHOWN: {} more characters)", rest.chars().count())
        }
    }
}
