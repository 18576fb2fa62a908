//! The danger of an operation in an adapter file: the published fields, and the block from the danger document.

use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Code;

use crate::problem::{Findings, join, shown};
use crate::text::yaml::Node;

/// The danger document's fields, then those of the published danger schema.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "level", "reasons", "confirmation_message", "cooldown_seconds", "requires_reauth", "audit_context",
    "reason", "requires_confirmation", "hook_blockable",
];

/// The maximum cooldown in seconds. With a longer one, a confirmation would expire before it takes effect.
const MAX_COOLDOWN: u64 = 240;

/// What a file says about the danger of an operation.
#[derive(Debug, Default)]
pub(super) struct DeclaredDanger {
    pub(super) level: Option<Danger>,
    pub(super) requires_confirmation: bool,
    pub(super) reasons: Vec<String>,
    pub(super) message: Option<String>,
    pub(super) cooldown_seconds: u64,
    pub(super) warnings: Vec<String>,
}

/// `danger_level: x` and `requires_confirmation`, `danger: x`, or a whole `danger` block.
pub(super) fn read_danger(node: &Node, path: &str, findings: &mut Findings) -> DeclaredDanger {
    let mut declared = DeclaredDanger {
        requires_confirmation: findings.flag(node, "requires_confirmation", path).unwrap_or(false),
        ..DeclaredDanger::default()
    };
    let place = join(path, "danger");
    match node.get("danger") {
        Some(block) if block.entries().is_some() => read_block(block, &place, &mut declared, findings),
        Some(word) => declared.level = level(word, &place, findings),
        None => {}
    }
    if let Some(word) = node.get("danger_level") {
        declared.level = level(word, &join(path, "danger_level"), findings);
    }
    declared
}

fn read_block(block: &Node, path: &str, declared: &mut DeclaredDanger, findings: &mut Findings) {
    findings.object(block, path, FIELDS);
    declared.level = block.get("level").and_then(|word| level(word, &join(path, "level"), findings));
    declared.requires_confirmation |= findings.flag(block, "requires_confirmation", path).unwrap_or(false);
    declared.reasons.extend(findings.optional_text(block, "reason", path));
    if let Some(list) = block.get("reasons") {
        let place = join(path, "reasons");
        match list.items() {
            Some(items) => declared.reasons.extend(items.iter().filter_map(|item| findings.text(item, &place))),
            None => findings.wrong_type(list, &place, "array"),
        }
    }
    declared.message = findings.optional_text(block, "confirmation_message", path);
    if let Some(node) = block.get("cooldown_seconds") {
        match node.to_json().as_u64() {
            Some(seconds) if seconds <= MAX_COOLDOWN => declared.cooldown_seconds = seconds,
            Some(_) => {
                let place = join(path, "cooldown_seconds");
                let message = format!("Field '{place}' must be {MAX_COOLDOWN} or less: a confirmation expires");
                findings.add(Code::SchemaInvalidType, &place, node.at, message);
            }
            None => findings.wrong_type(node, &join(path, "cooldown_seconds"), "number"),
        }
    }
    if findings.flag(block, "requires_reauth", path) == Some(true) {
        declared.requires_confirmation = true;
        declared.warnings.push("requires its caller to log in again; a confirmation is required instead".to_owned());
    }
}

fn level(node: &Node, path: &str, findings: &mut Findings) -> Option<Danger> {
    let words = Danger::ALL.map(Danger::as_str);
    findings.one_of(node, path, &words, Code::SchemaInvalidType).and_then(Danger::from_name)
}

/// Reports a placeholder in the confirmation message that is not the name of a parameter.
pub(super) fn unknown_placeholder(message: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let mut placeholders = message.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let (unknown, _) = placeholders.find(|(name, _)| !is_known(name))?;
    Some(format!("has '{{{}}}' in its confirmation message, but no such parameter", shown(unknown)))
}
