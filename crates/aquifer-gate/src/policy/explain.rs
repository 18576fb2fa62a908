//! Explains decisions to operators, as text and as JSON: the deciding reason, the other reasons, and how to change the
//! decision.
//!
//! None of this is shown to callers; see [`caller_message`](super::caller_message) for their messages.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use super::condition::TypedOperation;
use super::decision::{Effect, PolicyDecision, Reason};
use super::matrix::{Cell, Origin};
use super::rule::Rule;
use super::settings::RuleEffect;
use crate::destination::TextOrigin;

impl PolicyDecision {
    /// The complete decision as JSON. If `types` is given, it also describes how conditions compare values.
    pub fn explain(&self, operation: &Operation, types: Option<&Types>) -> Value {
        let typed = TypedOperation { operation, types };
        let mut reasons = self.reasons.iter().map(|reason| reason.to_json(typed));
        let mut json = Map::new();
        json.insert("decision".to_owned(), self.effect.as_str().into());
        if let Effect::Confirm(strength) = self.effect {
            json.insert("strength".to_owned(), json!(strength));
        }
        json.insert("decided_by".to_owned(), reasons.next().unwrap_or_default());
        json.insert("also".to_owned(), reasons.collect());
        json.insert("to_change".to_owned(), self.to_change(operation).into());
        Value::Object(json)
    }

    /// The deciding reason as text, for operators.
    pub fn explanation(&self) -> String {
        self.explanation_for(None)
    }

    pub(super) fn explanation_for(&self, typed: Option<TypedOperation<'_>>) -> String {
        let conditional = self.reasons.iter().skip(1).filter(|reason| matches!(reason, Reason::ConditionalRule(_)));
        let reasons = self.reasons.iter().take(1).chain(conditional);
        let words: Vec<String> = reasons.map(|reason| reason.for_operator(typed)).collect();
        words.join("; ")
    }

    /// The text of the matrix cell, if it decided.
    pub(super) fn cell_text(&self) -> Option<String> {
        let decided = self.reasons.first().filter(|reason| matches!(reason, Reason::Cell { .. }));
        decided.map(|reason| reason.for_operator(None))
    }

    /// What an operator could change to make the decision less restrictive.
    pub fn to_change(&self, operation: &Operation) -> Vec<String> {
        let severity = self.effect.severity();
        let mut ways = Vec::new();
        if severity == RuleEffect::Allow {
            return ways;
        }
        for reason in &self.reasons {
            let way = match reason {
                Reason::Cell { cell, needed, overruled: false, .. } if cell.denies() => {
                    how_to_raise_trust(operation, *needed)
                }
                Reason::Minimum { needed, .. } => how_to_raise_trust(operation, *needed),
                Reason::Cell { danger, trust, cell: Cell::Confirm, overruled: false, .. } => format!(
                    "Set matrix.{danger}.{trust} = \"allow\", or write a rule with effect = \"allow\" and loosen = true"
                ),
                Reason::ConfirmBelow { required, .. } => how_to_raise_trust(operation, Some(*required)),
                Reason::Safeguard { overruled: false, .. } => {
                    "Write a rule with effect = \"allow\" and loosen = true: its source requires confirmation"
                        .to_owned()
                }
                Reason::Quarantine(_) => format!(
                    "Review the change with 'aquifer review', and accept it if you still want source '{}'",
                    operation.origin.source
                ),
                Reason::Text(origin) => match **origin {
                    TextOrigin::Destination { .. } => {
                        "Add it to known_destinations of the source, or set from_text = \"allow\" in [gate.destinations]"
                            .to_owned()
                    }
                    TextOrigin::Earlier { .. } => {
                        "Set after_untrusted = \"allow\" in [gate.destinations], the default".to_owned()
                    }
                },
                Reason::RequiredOperation(needed) if needed.decision.effect.severity() > RuleEffect::Allow => {
                    format!("See the decision about '{}', which the request needs", needed.operation)
                }
                Reason::Rule(rule) if rule.effect > RuleEffect::Allow => format!("Change {rule}"),
                Reason::Rule(rule) if !rule.loosens => {
                    format!("Add loosen = true to {rule}: a plain allow loosens nothing")
                }
                _ => continue,
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }
}

/// How to raise the trust of an operation's source. `validated` is earned, every other level is the operator's word.
fn how_to_raise_trust(operation: &Operation, needed: Option<Trust>) -> String {
    let source = &operation.origin.source;
    match needed {
        Some(Trust::Validated) => format!(
            "Test source '{source}': 'aquifer conformance SOURCE --allow-writes' on test data. A run that grants a level \
             makes it '{}'",
            Trust::Validated
        ),
        Some(level) => format!(
            "Review source '{source}', then raise its trust: trust = \"{level}\" beside it in the configuration, or \
             'aquifer trust FILE --to {level} --reason …' for its adapter file"
        ),
        None => {
            "No trust level is enough: write a rule with loosen = true, or set the matrix cell in the configuration"
                .to_owned()
        }
    }
}

impl Reason {
    /// The reason as JSON, including its text.
    fn to_json(&self, typed: TypedOperation<'_>) -> Value {
        let mut json = match self {
            Reason::Protocol => json!({ "kind": "protocol" }),
            Reason::Cell { danger, trust, cell, origin, overruled, .. } => json!({
                "kind": "matrix", "danger": danger, "trust": trust, "cell": cell, "origin": origin,
                "overruled": overruled,
            }),
            Reason::Minimum { category, required, actual, .. } => json!({
                "kind": "minimum_trust", "category": category, "required": required, "actual": actual,
            }),
            Reason::ConfirmBelow { required, actual, .. } => json!({
                "kind": "require_confirmation_below", "required": required, "actual": actual,
            }),
            Reason::Safeguard { overruled, .. } => json!({ "kind": "safeguard", "overruled": overruled }),
            Reason::Quarantine(reason) => json!({ "kind": "quarantine", "reason": reason }),
            Reason::Text(_) => json!({ "kind": "text" }),
            Reason::RequiredOperation(needed) => json!({
                "kind": "needed_operation", "operation": needed.operation, "decision": needed.decision.effect.as_str(),
                "why": needed.decision.explanation(),
            }),
            Reason::Rule(rule) => rule_json("rule", rule, typed),
            Reason::ConditionalRule(rule) => rule_json("rule_depending_on_parameters", rule, typed),
        };
        if let Some(json) = json.as_object_mut() {
            json.insert("words".to_owned(), self.for_operator(Some(typed)).into());
        }
        json
    }

    /// The reason as text, for operators.
    fn for_operator(&self, typed: Option<TypedOperation<'_>>) -> String {
        match self {
            Reason::Protocol => "the protocol's own operations are always allowed".to_owned(),
            Reason::Cell { danger, trust, cell, origin, overruled, .. } => {
                let origin = match origin {
                    Origin::Published => "",
                    Origin::Floor => ", whatever its trust level",
                    Origin::Operator => ", as set in the configuration",
                };
                let overruled = if *overruled { "; a rule loosens it" } else { "" };
                format!("{}{origin}{overruled}", describe_cell(*cell, *danger, *trust))
            }
            Reason::Minimum { category, required, actual, .. } => {
                format!("{category} needs a source trusted as '{required}', this one is '{actual}'")
            }
            Reason::ConfirmBelow { required, actual, .. } => {
                format!("sources trusted less than '{required}' need confirmation, this one is '{actual}'")
            }
            Reason::Safeguard { overruled, .. } => {
                format!("its source requires confirmation{}", if *overruled { "; a rule loosens it" } else { "" })
            }
            Reason::Quarantine(reason) => format!("quarantined: {reason}"),
            Reason::Text(_) => self.to_string(),
            Reason::RequiredOperation(needed) => {
                format!(
                    "it needs '{}': {}, {}",
                    needed.operation,
                    needed.decision.effect.as_str(),
                    needed.decision.explanation()
                )
            }
            Reason::Rule(rule) => {
                let does = match (rule.effect, rule.loosens) {
                    (RuleEffect::Deny, _) => "denies it",
                    (RuleEffect::Confirm, false) => "requires confirmation",
                    (RuleEffect::Confirm, true) => "requires confirmation and nothing more",
                    (RuleEffect::Allow, true) => "allows it",
                    (RuleEffect::Allow, false) => "allows it, which loosens nothing without loosen = true",
                };
                let reason = rule.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("{rule} {does}{reason}")
            }
            Reason::ConditionalRule(rule) => {
                let does = match rule.effect {
                    RuleEffect::Deny => "may deny it",
                    RuleEffect::Confirm => "may require confirmation",
                    RuleEffect::Allow => "may allow it",
                };
                let conditions: Vec<String> =
                    rule.conditions().iter().map(|condition| condition.describe(typed)).collect();
                format!("{rule} {does} if {}", conditions.join(" and "))
            }
        }
    }
}

/// Describes the effect of a cell of the matrix.
fn describe_cell(cell: Cell, danger: Danger, trust: Trust) -> String {
    match cell {
        Cell::Allow => format!("{danger} operations of a source trusted as '{trust}' run"),
        Cell::Confirm => format!("{danger} operations of a source trusted as '{trust}' need confirmation"),
        Cell::Deny => format!("{danger} operations of a source trusted as '{trust}' do not run"),
        Cell::IntrospectOnly => format!("a source trusted as '{trust}' only allows introspection"),
    }
}

/// What an operation's danger level is based on.
pub(super) fn evidence(operation: &Operation) -> &str {
    if let Some(evidence) = &operation.safety.danger_evidence {
        return evidence;
    }
    match operation.category {
        Category::Read => "it only reads",
        Category::Create => "it adds data",
        Category::Update => "it changes data",
        Category::Delete => "it deletes data",
        Category::Execute => "it runs something",
    }
}

fn rule_json(kind: &str, rule: &Rule, typed: TypedOperation<'_>) -> Value {
    let mut json = json!({ "kind": kind, "rule": rule.number, "effect": rule.effect, "loosens": rule.loosens });
    if let Some(json) = json.as_object_mut() {
        json.extend(rule.name.as_deref().map(|name| ("name".to_owned(), name.into())));
        json.extend(rule.reason.as_deref().map(|reason| ("reason".to_owned(), reason.into())));
        let conditions = rule.conditions().iter().map(|condition| condition.describe(Some(typed)));
        let conditions: Vec<Value> = conditions.map(Value::from).collect();
        if !conditions.is_empty() {
            json.insert("conditions".to_owned(), conditions.into());
        }
    }
    json
}
