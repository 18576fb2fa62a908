//! Checks the claims of an adapter file against the evidence (R-DIS-4).

use std::collections::HashMap;

use aquifer_protocol::operation::Operation;

use super::{AdapterOperation, MapsTo};
use crate::classify::{
    self, Assessment, EffectiveClassification, HardEvidence, OwnPrefix, Subject, assess, assess_tool,
};
use crate::digest::pin;
use crate::overrides::Override;
use crate::tool::{Annotations, Tool};

/// What is known about the operations of an adapter besides its file.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownEvidence<'a> {
    /// The live tools by name, once the server has listed them.
    pub live: Option<&'a HashMap<&'a str, &'a Tool>>,
    /// The names of the source, with which names of its tools may begin.
    pub prefix: Option<&'a OwnPrefix>,
    /// The operator's decisions by tool, from a file that the configuration names.
    pub decisions: Option<&'a HashMap<&'a str, &'a Override>>,
    /// Whether the operator trusts the file. Its claims then stand where there is no hard evidence.
    pub is_settled: bool,
}

/// The category and danger that an operation gets.
pub(crate) fn raise_to_evidence(operation: &AdapterOperation, evidence: &KnownEvidence<'_>) -> EffectiveClassification {
    let tool = match &operation.maps_to {
        MapsTo::Tool(tool) => tool,
        MapsTo::Route { method, path } => {
            let assessment = assess_route(operation, method, path);
            return assessment.apply_floor(operation.category, operation.danger, evidence.is_settled);
        }
    };
    let live = evidence.live.and_then(|live| live.get(tool.as_str()).copied());
    let decided = evidence.decisions.and_then(|decisions| decisions.get(tool.as_str()).copied());
    let decided = decided.filter(|decided| is_current(decided, live, operation));
    let no_prefix = OwnPrefix::default();
    let prefix = evidence.prefix.unwrap_or(&no_prefix);
    let assessment = assessment(operation, tool, live, prefix);
    let is_reviewed = decided.is_some_and(|decided| decided.reviewed || decided.endpoint.is_some());
    let mut effective =
        assessment.apply_floor(operation.category, operation.danger, evidence.is_settled || is_reviewed);
    if let Some(category) = decided.and_then(|decided| decided.endpoint) {
        let annotations = live.map_or(operation.annotations, |tool| tool.annotations);
        let name = classify::normalized_name(tool);
        let subject = Subject::named(&name, annotations);
        let (danger, _) = classify::danger_with_prefix(subject, category, false, prefix);
        effective = EffectiveClassification { category, danger: danger.max(operation.danger), ignored: None };
    }
    if let Some(danger) = decided.and_then(|decided| decided.danger_level) {
        effective = EffectiveClassification { danger, ignored: None, ..effective };
    }
    effective
}

/// The category and danger that an operation of a built adapter gets. `described` is the operation from the API's
/// description.
pub fn hold_to_description(
    operation: &AdapterOperation,
    described: &Operation,
    is_settled: bool,
) -> EffectiveClassification {
    let (category, danger) = (operation.category, operation.danger);
    if category == described.category && danger >= described.safety.danger {
        return EffectiveClassification { category, danger, ignored: None };
    }
    let hard = match &operation.maps_to {
        MapsTo::Route { method, path } => assess_route(operation, method, path).hard,
        MapsTo::Tool(_) => None,
    };
    let hard = hard.map(|hard| HardEvidence { danger: hard.danger.min(described.safety.danger), ..hard });
    let assessment = Assessment { category: described.category, danger: described.safety.danger, hard };
    assessment.apply_floor(category, danger, is_settled)
}

/// Assesses the live tool if it is known, otherwise the definition in the sidecar, otherwise the names alone.
fn assessment(operation: &AdapterOperation, tool: &str, live: Option<&Tool>, prefix: &OwnPrefix) -> Assessment {
    let by_tool = match live {
        Some(live) => assess_tool(live, prefix),
        None => {
            let parameters: Vec<&str> = operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let assessment = classify::assess_with_prefix(
                Subject {
                    name: &classify::normalized_name(tool),
                    description: &operation.description,
                    parameters: &parameters,
                    annotations: operation.annotations,
                },
                prefix,
            );
            if operation.digest.is_some() { assessment } else { assessment.restrict_to_names() }
        }
    };
    // The name of the operation in the file is evidence just like the name of the tool.
    let by_name = Subject { name: &operation.name, description: "", parameters: &[], annotations: Default::default() };
    let by_name = assess(by_name).restrict_to_names();
    match by_name.hard {
        Some(hard) if by_tool.hard.as_ref().is_none_or(|other| hard.danger > other.danger) => Assessment {
            category: classify::more_severe(by_tool.category, by_name.category),
            danger: by_tool.danger.max(hard.danger),
            hard: Some(hard),
        },
        _ => by_tool,
    }
}

/// Assesses a request to an HTTP API by its method and the text of the file.
fn assess_route(operation: &AdapterOperation, method: &str, path: &str) -> Assessment {
    let parameters: Vec<&str> = operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let subject = Subject {
        name: &operation.name,
        description: &operation.description,
        parameters: &parameters,
        annotations: Annotations::for_method(method),
    };
    classify::assess_with_prefix(subject, &OwnPrefix::of_route([], path))
}

/// Whether a decision was made about the current definition.
fn is_current(decided: &Override, live: Option<&Tool>, operation: &AdapterOperation) -> bool {
    let Some(reviewed) = &decided.digest else { return true };
    match live {
        Some(live) => *reviewed == pin(live).digest,
        None => Some(reviewed) == operation.digest.as_ref(),
    }
}
