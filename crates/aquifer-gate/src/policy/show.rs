//! Lists the decisions for a caller: one line per operation of a catalog.

use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{EffectEvidence, Effects};
use aquifer_protocol::trust::Trust;
use serde::Serialize;

use super::condition::TypedOperation;
use super::decision::Effect;
use super::{Policy, Subject, explain};
use crate::strength::RequiredStrength;

/// The decision about one operation, independent of parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyLine {
    /// Its name.
    pub operation: Arc<str>,
    /// Its source.
    pub source: Arc<str>,
    /// Its category.
    pub category: Category,
    /// Its danger.
    pub danger: Danger,
    /// The trust of its source.
    pub trust: Trust,
    /// `allow`, `confirm` or `deny`.
    pub decision: &'static str,
    /// The strength of the confirmation, if one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<RequiredStrength>,
    /// What its danger level is based on: its server's declaration, its name, or a reviewer's decision.
    pub evidence: String,
    /// What a call does in the world, with the words that show it.
    pub effects: Vec<ShownEffect>,
    /// The deciding reason, and rules that depend on parameters, as text.
    pub why: String,
    /// The part of `why` that only restates danger, trust and decision.
    #[serde(skip)]
    pub cell: Option<String>,
}

/// An effect of an operation, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownEffect {
    /// The effect.
    pub effect: &'static str,
    /// What shows it.
    pub evidence: Arc<str>,
}

/// The effects of an operation, as they are listed.
pub(crate) fn shown_effects(effects: &Effects) -> Vec<ShownEffect> {
    let shown =
        |found: &EffectEvidence| ShownEffect { effect: found.effect.as_str(), evidence: found.evidence.clone() };
    effects.iter().map(shown).collect()
}

impl Policy {
    /// The decision about each operation of the catalog for this caller.
    pub fn describe_operations(&self, catalog: &Catalog, caller: &Caller, scopes: &[Arc<str>]) -> Vec<PolicyLine> {
        let line = |operation: &Arc<_>| {
            let operation: &aquifer_protocol::operation::Operation = operation;
            let types = Some(&**catalog.types());
            let decision = self.decide(&Subject { operation, caller, scopes, params: None, types });
            let strength = if let Effect::Confirm(strength) = decision.effect { Some(strength) } else { None };
            PolicyLine {
                operation: operation.name.clone(),
                source: operation.origin.source.clone(),
                category: operation.category,
                danger: operation.safety.danger,
                trust: operation.origin.trust,
                decision: decision.effect.as_str(),
                strength,
                evidence: explain::evidence(operation).to_owned(),
                effects: shown_effects(&operation.safety.effects),
                cell: decision.cell_text(),
                why: decision.explanation_for(Some(TypedOperation { operation, types })),
            }
        };
        catalog.operations().iter().map(line).collect()
    }
}
