//! The minimum danger level, which only the operator can override (R-DIS-4).
//!
//! An adapter file, an edited bundle or an upstream can claim that an operation is harmless. The evidence sets a lower
//! bound for such claims. Some evidence is *hard*: a declaration of the server, an unambiguous verb, a name that
//! reveals danger. The rest is only a lack of better information. A file that the operator trusts may go below the
//! latter, but never below hard evidence.

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;

use super::verbs::VerbEffect;
use super::{OwnPrefix, Subject, classify_with_prefix, danger_with_prefix, evidence};
use crate::name;
use crate::schema;
use crate::text;
use crate::tool::Tool;

/// The assessment of a tool by the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// Its category according to the evidence.
    pub category: Category,
    /// Its danger according to the evidence.
    pub danger: Danger,
    /// The evidence that only the operator can override.
    pub hard: Option<HardEvidence>,
}

/// Evidence that a tool changes something, which only the operator can override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardEvidence {
    /// The danger level it implies.
    pub danger: Danger,
    /// The reason in a few words: "the server declares it destructive".
    pub reason: String,
}

/// The category and danger of an operation after the lower bound was applied to a file's claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveClassification {
    /// The category.
    pub category: Category,
    /// The danger.
    pub danger: Danger,
    /// Which claims of the file were ignored, and why.
    pub ignored: Option<String>,
}

/// Assesses a subject from its own description.
pub fn assess(subject: Subject<'_>) -> Assessment {
    assess_with_prefix(subject, &OwnPrefix::default())
}

/// Assesses a tool of a source whose names may be the prefix of the tool's.
pub(crate) fn assess_with_prefix(subject: Subject<'_>, prefix: &OwnPrefix) -> Assessment {
    let decision = classify_with_prefix(subject, prefix);
    let needs_review = !decision.review_reasons.is_empty();
    let (danger, _) = danger_with_prefix(subject, decision.category, needs_review, prefix);
    let hard = find_hard_evidence(subject, decision.category)
        .map(|hard| HardEvidence { danger: hard.danger.min(danger), ..hard });
    Assessment { category: decision.category, danger, hard }
}

/// Assesses a tool that a server lists.
pub fn assess_tool(tool: &Tool, prefix: &OwnPrefix) -> Assessment {
    let input = schema::read_input(tool.input_schema());
    let names = name::parameters(input.parameters.iter().map(|parameter| parameter.original_name.as_str()));
    let names: Vec<&str> = names.iter().map(|assigned| assigned.name.as_str()).collect();
    let description = tool.text("description").or_else(|| tool.title().map(|(title, _)| title)).unwrap_or_default();
    let mut assessment = assess_with_prefix(
        Subject {
            name: &normalized_name(&tool.name),
            description: &text::clean(description),
            parameters: &names,
            annotations: tool.annotations,
        },
        prefix,
    );
    if !input.broken.is_empty() {
        assessment.danger = assessment.danger.max(Danger::Destructive);
    }
    assessment
}

/// A tool's name in the form in which verbs and patterns are searched.
pub(crate) fn normalized_name(tool: &str) -> String {
    let snake = snake_identifier(tool);
    if snake.is_empty() { "tool".to_owned() } else { snake }
}

fn find_hard_evidence(subject: Subject<'_>, category: Category) -> Option<HardEvidence> {
    // The server declares it read-only, and no hard evidence contradicts that.
    if category == Category::Read {
        return None;
    }
    let found = evidence::verbs_in_name(subject.name, &OwnPrefix::default());
    let lead = found.lead.as_ref().filter(|_| found.firm);
    let verb = found
        .joined
        .iter()
        .chain(lead)
        .filter(|(_, effect)| effect.is_write())
        .max_by_key(|(_, effect)| weight(*effect));
    let by_pattern = Danger::infer(subject.name, Category::Execute);
    let mut reasons = Vec::new();
    if subject.annotations.destructive == Some(true) {
        reasons.push((Danger::Destructive, "the server declares it destructive".to_owned()));
    }
    if by_pattern > Danger::Reversible {
        reasons.push((by_pattern, format!("its name makes it {by_pattern}")));
    }
    if let Some((verb, effect)) = verb {
        let danger = if *effect == VerbEffect::Deletes { Danger::Destructive } else { Danger::Reversible };
        reasons.push((danger, format!("its name says '{verb}'")));
    }
    if category == Category::Delete {
        reasons.push((Danger::Destructive, "its words say that it removes something".to_owned()));
    }
    if subject.annotations.read_only == Some(false) {
        reasons.push((Danger::Reversible, "the server declares that it changes something".to_owned()));
    }
    // Among equally strong reasons, the first is reported.
    let strongest = reasons.iter().map(|(danger, _)| *danger).max()?;
    let (danger, reason) = reasons.into_iter().find(|(danger, _)| *danger == strongest)?;
    Some(HardEvidence { danger, reason })
}

const fn weight(effect: VerbEffect) -> u8 {
    match effect {
        VerbEffect::Deletes => 2,
        VerbEffect::Updates | VerbEffect::Creates => 1,
        VerbEffect::Reads | VerbEffect::Acts => 0,
    }
}

impl Assessment {
    /// Reduces the assessment to what names prove, if nothing else is known.
    pub(crate) fn restrict_to_names(mut self) -> Self {
        if self.hard.is_none() {
            (self.category, self.danger) = (Category::Read, Danger::Safe);
        } else {
            self.danger = self.hard.as_ref().map_or(Danger::Safe, |hard| hard.danger);
        }
        self
    }

    /// Raises a file's claims to the lower bound set by the evidence. `is_settled` means that the operator trusts the
    /// file, so that its claims are accepted unless there is hard evidence.
    pub fn apply_floor(&self, category: Category, danger: Danger, is_settled: bool) -> EffectiveClassification {
        let hard = self.hard.as_ref();
        let floor = if is_settled { hard.map_or(Danger::Safe, |hard| hard.danger) } else { self.danger };
        let is_below = match (is_settled, hard) {
            (false, _) => severity(category) < severity(self.category),
            (true, None) => false,
            (true, Some(hard)) => {
                let denies_change = category == Category::Read;
                let denies_harm = category == Category::Create && hard.danger >= Danger::Destructive;
                denies_change || denies_harm || (self.category == Category::Delete && category != Category::Delete)
            }
        };
        let effective_category = match self.category {
            _ if !is_below => category,
            // An operation that may destroy data is more than a creation.
            Category::Create if category == Category::Create => Category::Update,
            evident => evident,
        };
        let effective =
            EffectiveClassification { category: effective_category, danger: danger.max(floor), ignored: None };
        let mut claims = Vec::new();
        if effective.category != category {
            claims.push(category.as_str());
        }
        if effective.danger != danger {
            claims.push(danger.as_str());
        }
        if claims.is_empty() {
            return effective;
        }
        let reason = hard.map_or("nothing shows what it does", |hard| hard.reason.as_str());
        let ignored =
            format!("the adapter says {}; {reason}: {}, {}", claims.join(", "), effective.category, effective.danger);
        EffectiveClassification { ignored: Some(ignored), ..effective }
    }
}

/// Ranks categories by the damage of an unintended call.
const fn severity(category: Category) -> u8 {
    match category {
        Category::Read => 0,
        Category::Create => 1,
        Category::Execute => 2,
        Category::Update => 3,
        Category::Delete => 4,
    }
}

/// The more severe of two categories.
pub fn more_severe(one: Category, other: Category) -> Category {
    if severity(other) > severity(one) { other } else { one }
}
