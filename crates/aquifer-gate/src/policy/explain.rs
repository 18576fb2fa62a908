//! Rulings in words and as JSON: what decided, what else had a say, and what would have to change.
//!
//! The words reach callers, so they keep to the rule of [`aquifer_protocol::error::wording`].

use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use super::matrix::Origin;
use super::rule::Rule;
use super::ruling::{Effect, Reason, Ruling};
use super::settings::RuleEffect;

impl Ruling {
    /// The whole decision as JSON, for `details` and for people who ask.
    pub fn explain(&self, operation: &Operation) -> Value {
        let mut because = self.because.iter().map(Reason::to_json);
        let mut told = Map::new();
        told.insert("decision".to_owned(), self.effect.as_str().into());
        if let Effect::Confirm(asking) = self.effect {
            told.insert("strength".to_owned(), json!(asking));
        }
        told.insert("decided_by".to_owned(), because.next().unwrap_or_default());
        told.insert("also".to_owned(), because.collect());
        told.insert("to_change".to_owned(), self.to_change(operation).into());
        Value::Object(told)
    }

    /// What decided, in words.
    pub fn why(&self) -> String {
        let mut words = self.because.first().map(ToString::to_string).unwrap_or_default();
        for reason in self.because.iter().filter(|reason| matches!(reason, Reason::Perhaps(_))) {
            words.push_str("; ");
            words.push_str(&reason.to_string());
        }
        words
    }

    /// What an operator would have to change for the call to meet less resistance, in words.
    pub fn to_change(&self, operation: &Operation) -> Vec<String> {
        let severity = self.effect.severity();
        let mut ways = Vec::new();
        if severity == RuleEffect::Allow {
            return ways;
        }
        for reason in &self.because {
            let way = match reason {
                Reason::Cell { cell, needed, overruled: false, .. } if cell.denies() => raise(operation, *needed),
                Reason::Minimum { needed, .. } => raise(operation, *needed),
                Reason::Cell { danger, trust, cell: super::Cell::Confirm, overruled: false, .. } => format!(
                    "Set matrix.{danger}.{trust} = \"allow\", or write a rule with effect = \"allow\" and loosen = true"
                ),
                Reason::ConfirmBelow { required, .. } => raise(operation, Some(*required)),
                Reason::Safeguard { overruled: false } => {
                    "Write a rule with effect = \"allow\" and loosen = true: its source wants a person asked".to_owned()
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

/// How the trust of an operation's source is raised.
fn raise(operation: &Operation, needed: Option<Trust>) -> String {
    let source = &operation.source;
    match needed {
        Some(level) => format!(
            "Review source '{source}', then raise its trust: trust = \"{level}\" beside it in the configuration, or \
             'aquifer trust FILE --to {level} --reason …' for its adapter file"
        ),
        None => "No trust level is enough: only a rule with loosen = true, or a matrix cell of the operator's own, \
                 lets it pass"
            .to_owned(),
    }
}

impl Reason {
    /// The reason as JSON, its words among it.
    pub fn to_json(&self) -> Value {
        let mut told = match self {
            Reason::Protocol => json!({ "kind": "protocol" }),
            Reason::Cell { danger, trust, cell, origin, overruled, .. } => json!({
                "kind": "matrix", "danger": danger, "trust": trust, "cell": cell, "origin": origin,
                "overruled": overruled,
            }),
            Reason::Minimum { category, required, actual, .. } => json!({
                "kind": "minimum_trust", "category": category, "required": required, "actual": actual,
            }),
            Reason::ConfirmBelow { required, actual } => json!({
                "kind": "require_confirmation_below", "required": required, "actual": actual,
            }),
            Reason::Safeguard { overruled } => json!({ "kind": "safeguard", "overruled": overruled }),
            Reason::Rule(rule) => rule_json("rule", rule),
            Reason::Perhaps(rule) => rule_json("rule_depending_on_parameters", rule),
        };
        if let Some(told) = told.as_object_mut() {
            told.insert("words".to_owned(), self.to_string().into());
        }
        told
    }
}

fn rule_json(kind: &str, rule: &Rule) -> Value {
    let mut told = json!({ "kind": kind, "rule": rule.number, "effect": rule.effect, "loosens": rule.loosens });
    if let Some(told) = told.as_object_mut() {
        told.extend(rule.name.as_deref().map(|name| ("name".to_owned(), name.into())));
        told.extend(rule.reason.as_deref().map(|reason| ("reason".to_owned(), reason.into())));
    }
    told
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Protocol => f.write_str("the protocol's own operations are always allowed"),
            Reason::Cell { danger, trust, cell, origin, overruled, .. } => {
                write!(f, "the matrix says {} for {danger} operations of {trust} sources", cell.as_str())?;
                f.write_str(match origin {
                    Origin::Published => "",
                    Origin::Floor => ", because from destructive on a person is asked",
                    Origin::Operator => ", as the operator set it",
                })?;
                f.write_str(if *overruled { "; a rule loosens it" } else { "" })
            }
            Reason::Minimum { category, required, actual, .. } => {
                write!(f, "{category} operations need a source trusted as '{required}', this one has '{actual}'")
            }
            Reason::ConfirmBelow { required, actual } => {
                write!(f, "a person is asked for sources trusted less than '{required}', this one has '{actual}'")
            }
            Reason::Safeguard { overruled } => {
                f.write_str("its source wants a person asked")?;
                f.write_str(if *overruled { "; a rule loosens it" } else { "" })
            }
            Reason::Rule(rule) => {
                let does = match (rule.effect, rule.loosens) {
                    (RuleEffect::Deny, _) => "denies it",
                    (RuleEffect::Confirm, false) => "wants it confirmed",
                    (RuleEffect::Confirm, true) => "wants it confirmed and no more",
                    (RuleEffect::Allow, true) => "allows it",
                    (RuleEffect::Allow, false) => "allows it, which loosens nothing without loosen = true",
                };
                write!(f, "{rule} {does}")?;
                rule.reason.as_deref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Reason::Perhaps(rule) => {
                let does = match rule.effect {
                    RuleEffect::Deny => "may deny it",
                    RuleEffect::Confirm => "may want it confirmed",
                    RuleEffect::Allow => "may allow it",
                };
                write!(f, "{rule} {does}, depending on the parameters")
            }
        }
    }
}
