//! Messages for callers and for the people who confirm: the decision and its reason, without hints on how to change it.
//!
//! [`explain`](super::explain) provides the operator's view with rules, matrix and possible changes. The messages here
//! reach models, so they follow [`aquifer_protocol::error::wording`].

use std::fmt;

use aquifer_protocol::error::wording;
use serde_json::{Value, json};

use super::consequence::without_leaks;
use super::decision::{PolicyDecision, Reason};
use super::matrix::Cell;
use super::rule::Rule;
use super::settings::RuleEffect;
use crate::destination::{TextOrigin, is_invisible};

/// Maximum number of characters of a destination in a reason.
const MAX_SHOWN_CHARS: usize = 200;

impl PolicyDecision {
    /// The deciding reason, for callers.
    pub fn reason_for_caller(&self) -> String {
        self.reasons.first().map(ToString::to_string).unwrap_or_default()
    }

    /// Whether the deciding reason already says what the operation does.
    pub(crate) fn says_what_it_does(&self) -> bool {
        matches!(self.reasons.first(), Some(Reason::Cell { .. }))
    }

    /// The decision as callers see it in `details.policy`.
    pub fn for_caller(&self) -> Value {
        json!({ "decision": self.effect.as_str(), "reason": self.reason_for_caller() })
    }
}

/// The reason as callers see it.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Protocol => f.write_str("The protocol's own operations are always allowed"),
            Reason::Cell { source, does, cell, needed, .. } => match (cell, needed) {
                (Cell::Confirm, _) => write!(f, "This {does}, so a person has to confirm it"),
                // The others end up in messages.
                (Cell::Allow, _) => write!(f, "This {}, which is allowed", without_leaks(does)),
                (Cell::Deny, None) => write!(f, "This {}, which is not allowed here", without_leaks(does)),
                (Cell::Deny, Some(_)) => {
                    write!(f, "This {}, and {} is not trusted enough for this", without_leaks(does), named(source))
                }
                (Cell::IntrospectOnly, _) => not_trusted(f, source),
            },
            Reason::Minimum { source, .. } => not_trusted(f, source),
            Reason::ConfirmBelow { source, .. } => {
                write!(f, "{} is not fully trusted, so a person has to confirm this", capitalized(&named(source)))
            }
            Reason::Safeguard { source, .. } => {
                write!(f, "{} requires a person to confirm this", capitalized(&named(source)))
            }
            Reason::Quarantine(reason) => match reject_leaks(reason) {
                Some(reason) => write!(f, "This operation is quarantined: {reason}"),
                None => f.write_str("This operation is quarantined until an operator accepts its definition"),
            },
            Reason::Text(origin) => match &**origin {
                // There were too many to remember.
                TextOrigin::Destination { destination, operation: None, .. } => {
                    write!(f, "{} may stand in a text that was read, and nobody has agreed to it", quoted(destination))
                }
                TextOrigin::Destination { destination, operation: Some(name), minutes } => {
                    let when = match minutes {
                        0 => "just read".to_owned(),
                        1 => "read a minute ago".to_owned(),
                        minutes => format!("read {minutes} minutes ago"),
                    };
                    write!(
                        f,
                        "{} stands in a text of '{name}' that was {when}, and nobody has agreed to it",
                        quoted(destination)
                    )
                }
                TextOrigin::Earlier { operation } => {
                    let of = operation.as_deref().map(|name| format!(" of '{name}'")).unwrap_or_default();
                    write!(f, "The operator wants a person to confirm changes after a text{of} was read")
                }
            },
            Reason::RequiredOperation(needed) => {
                let does = match needed.decision.effect.severity() {
                    RuleEffect::Deny => "is not allowed",
                    RuleEffect::Confirm => "a person has to confirm",
                    RuleEffect::Allow => "is allowed",
                };
                if needed.is_hidden {
                    return write!(f, "This request reads something which {does}");
                }
                write!(f, "This request also needs '{}', which {does}", needed.operation)?;
                match needed.decision.effect.severity() {
                    RuleEffect::Allow => Ok(()),
                    _ => write!(f, ": {}", needed.decision.reason_for_caller()),
                }
            }
            Reason::Rule(rule) => {
                let does = match rule.effect {
                    RuleEffect::Deny => "does not allow this",
                    RuleEffect::Confirm => "requires a person to confirm this",
                    RuleEffect::Allow => "allows this",
                };
                write!(f, "{} {does}", rule_for_caller(rule))?;
                rule.reason.as_deref().and_then(reject_leaks).map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Reason::ConditionalRule(rule) => {
                let does = match rule.effect {
                    RuleEffect::Deny => "may not allow this",
                    RuleEffect::Confirm => "may require a person to confirm this",
                    RuleEffect::Allow => "may allow this",
                };
                write!(f, "{} {does}, depending on the parameters", rule_for_caller(rule))
            }
        }
    }
}

/// A destination in quotes, without line breaks and other characters that change what is around them.
fn quoted(destination: &str) -> String {
    let shown: String = destination.chars().filter(|c| !is_invisible(*c)).take(MAX_SHOWN_CHARS).collect();
    format!("\"{}\"", shown.replace('"', "'"))
}

fn named(source: &str) -> String {
    if source.is_empty() { "its source".to_owned() } else { format!("the source '{source}'") }
}

fn capitalized(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn not_trusted(f: &mut fmt::Formatter<'_>, source: &str) -> fmt::Result {
    write!(f, "{} is not trusted enough for this", capitalized(&named(source)))
}

fn rule_for_caller(rule: &Rule) -> String {
    match rule.name.as_deref().and_then(reject_leaks) {
        Some(name) => format!("The operator's rule '{name}'"),
        None => "An operator's rule".to_owned(),
    }
}

/// Drops text that a client would treat as a leak.
pub(super) fn reject_leaks(words: &str) -> Option<&str> {
    (!wording::looks_like_a_leak(words)).then_some(words)
}
