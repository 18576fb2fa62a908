//! Infers the category and the danger of a tool from evidence (R-DIS-4).
//!
//! Annotations take precedence over verbs in the name, and those over the description. Parameters only raise doubts. If
//! evidence is missing or contradictory, the tool needs review, is not READ and counts as destructive until then. A tool
//! that the server declares to be read-only is READ unless a verb of writing or acting contradicts that. A verb that makes
//! an operation run unasked (reading, adding, changing) counts only as the first word of the name, after the source's own
//! prefix: an unknown first word may be a verb of any kind (`suspend_mailing_list`, `suspend_create_user`). Verbs that make
//! it ask count anywhere. A tool that declares no danger is reversible only if its wording says clearly that it adds or
//! changes something.

mod effects;
mod evidence;
mod floor;
mod own_prefix;
mod reversible;
mod sentences;
mod settled;
mod statements;
mod verbs;
mod words;

use std::cmp::Ordering;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::Effects;
use serde::{Deserialize, Serialize};

use crate::text::first_sentence;
use crate::tool::{Annotations, Tool};
use evidence::{DescriptionEvidence, NameEvidence};
use verbs::VerbEffect;

pub use floor::Assessment;
pub use floor::EffectiveClassification;
pub use floor::HardEvidence;
pub use floor::assess;
pub use floor::assess_tool;
pub(crate) use floor::assess_with_prefix;
pub use floor::more_severe;
pub(crate) use floor::normalized_name;
pub use own_prefix::OwnPrefix;
pub use own_prefix::SharedPrefixes;

/// Maximum number of words of a sentence that stands for a name.
const MAX_SENTENCE_WORDS: usize = 16;

/// How well the evidence supports a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Little or contradictory evidence.
    Low,
    /// One kind of evidence, not contradicted.
    Medium,
    /// Annotations and name agree.
    High,
}

impl Confidence {
    /// The name in bundles.
    pub const fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// How a normalized value was derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inference {
    /// Reported by the upstream.
    DirectSourceMetadata,
    /// Derived by a deterministic rule.
    DeterministicNormalization,
    /// Derived by a heuristic.
    HeuristicClassification,
    /// Decided by a person.
    ManualOverride,
}

/// What is known about a tool before it is classified.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The operation's name, snake_case.
    pub name: &'a str,
    /// The tool's description, cleaned.
    pub description: &'a str,
    /// The canonical names of its parameters.
    pub parameters: &'a [&'a str],
    /// Its hints.
    pub annotations: Annotations,
}

impl<'a> Subject<'a> {
    /// A subject with only a name and annotations.
    pub(crate) fn named(name: &'a str, annotations: Annotations) -> Self {
        Self { name, description: "", parameters: &[], annotations }
    }
}

/// The classification of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    /// Its category.
    pub category: Category,
    /// How well the evidence supports the category.
    pub confidence: Confidence,
    /// Why it needs review. Empty if it does not.
    pub review_reasons: Vec<String>,
    /// The evidence, strongest first.
    pub evidence: Vec<String>,
    /// How the category was derived.
    pub category_from: Inference,
}

/// Classifies a tool whose name has no prefix.
pub fn classify(subject: Subject<'_>) -> Classification {
    classify_with_prefix(subject, &OwnPrefix::default())
}

/// Classifies a tool of a source whose names may be the prefix of the tool's.
pub fn classify_with_prefix(subject: Subject<'_>, prefix: &OwnPrefix) -> Classification {
    let name = evidence::verbs_in_name(subject.name, prefix);
    let words = evidence::verbs_in_description(subject.description);
    let doubt = evidence::write_parameter(subject.parameters, &name);
    let mut decision = match subject.annotations.read_only {
        Some(true) => annotated_read(&name, &words, subject, prefix),
        Some(false) => annotated_write(&name, &words, subject.annotations),
        None => unannotated(&name, &words, doubt, subject),
    };
    decision.evidence = describe_evidence(&name, &words, doubt, subject.annotations);
    decision
}

/// Classifies a tool whose operation has a different name: shortened, disambiguated or chosen by the operator. The
/// tool's own name decides; the operation's name can only make the result more severe. `needs_review` means that
/// something other than these names requires a review.
pub(crate) fn classify_tool(
    tool: &Tool,
    operation: Subject<'_>,
    prefix: &OwnPrefix,
    needs_review: bool,
) -> (Classification, Judgement) {
    let judged = |subject: Subject<'_>| {
        let decision = classify_with_prefix(subject, prefix);
        let is_open = needs_review || !decision.review_reasons.is_empty();
        let judged = judge(subject, decision.category, is_open, prefix);
        (decision, judged)
    };
    let own_name = normalized_name(&tool.name);
    let own = judged(Subject { name: &own_name, ..operation });
    if own_name == operation.name {
        return own;
    }
    let renamed = judged(operation);
    let is_more_severe_category = more_severe(own.0.category, renamed.0.category) != own.0.category;
    match renamed.1.danger.cmp(&own.1.danger) {
        Ordering::Greater => renamed,
        Ordering::Equal if is_more_severe_category => renamed,
        _ => own,
    }
}

/// The danger of a tool's operation in the category that a reviewer chose: the higher of the levels that both names
/// imply.
pub(crate) fn danger_of_tool(
    tool: &Tool,
    operation: &str,
    category: Category,
    prefix: &OwnPrefix,
) -> (Danger, Inference) {
    let judged = |name: &str| danger_with_prefix(Subject::named(name, tool.annotations), category, false, prefix);
    let (own, renamed) = (judged(&normalized_name(&tool.name)), judged(operation));
    if renamed.0 > own.0 { renamed } else { own }
}

/// What a call of an operation does, and how dangerous that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Its danger (R-SAF-1).
    pub danger: Danger,
    /// How the danger was derived.
    pub from: Inference,
    /// Its effects (R-DIS-4b).
    pub effects: Effects,
}

/// The first sentence of a description as a name, if it begins with a verb: "Creates a new project" says `create_project`.
pub fn name_in_sentence(description: &str) -> Option<String> {
    let words = sentences::sentence_words(first_sentence(description));
    let (verb, rest) = words.split_first()?;
    let base = verbs::base_of_sentence_word(&verb.text);
    verbs::effect_of_word(&base)?;
    // "one or more" joins no verbs.
    let rest = rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ").replace("one or more", "");
    let rest = rest.split_ascii_whitespace().filter(|word| !sentences::contains(sentences::ARTICLES, word));
    let name = std::iter::once(base.as_str()).chain(rest).take(MAX_SENTENCE_WORDS).collect::<Vec<_>>().join(" ");
    Some(snake_identifier(&name))
}

/// The verb that begins a description, if no table knows it: "Ingest a profile". A word before an article is a verb.
pub fn unknown_verb(description: &str) -> Option<String> {
    let words = sentences::sentence_words(first_sentence(description));
    let [first, second, ..] = words.as_slice() else { return None };
    let is_known = verbs::effect_of_sentence_word(&first.text).is_some()
        || words::effect(words::Place::Verb, &verbs::base_of_sentence_word(&first.text)).is_some();
    let is_verb = !first.ends_phrase && !first.text.ends_with("ing") && statements::is_determiner(&second.text);
    let is_preposition = sentences::contains(sentences::PREPOSITIONS, &first.text);
    (is_verb && !is_known && !is_preposition).then(|| first.text.clone())
}

/// Whether a name in snake_case begins or ends with a verb that does something and is no thing: `set_state` and
/// `device_reboot`, but not `order_address` or `feature_set`.
pub fn says_action(name: &str) -> bool {
    let is_action = |word: &str| {
        let is_firm = verbs::effect_of_word(word).is_some_and(|(effect, firm)| firm && effect != VerbEffect::Reads);
        let is_thing = words::effect(words::Place::Object, word).is_some();
        is_firm || (!is_thing && words::effect(words::Place::Verb, word).is_some())
    };
    match name.rsplit_once('_') {
        Some((before, last)) => before.split('_').next().is_some_and(is_action) || (last != "set" && is_action(last)),
        None => is_action(name),
    }
}

/// Whether a name in snake_case has verbs, and all of them read.
pub fn only_reads(name: &str) -> bool {
    let mut verbs = name.split('_').filter_map(verbs::effect_of_word).peekable();
    verbs.peek().is_some() && verbs.all(|(effect, _)| effect == VerbEffect::Reads)
}

/// Whether a name in snake_case begins with a verb.
pub fn begins_with_verb(name: &str) -> bool {
    name.split('_').next().is_some_and(|word| verbs::effect_of_word(word).is_some())
}

/// The danger of an operation (R-SAF-1, R-DIS-4), and how it was derived.
pub fn danger(subject: Subject<'_>, category: Category, needs_review: bool) -> (Danger, Inference) {
    danger_with_prefix(subject, category, needs_review, &OwnPrefix::default())
}

/// The danger of an operation of a source whose names may be the prefix of the operation's.
pub(crate) fn danger_with_prefix(
    subject: Subject<'_>,
    category: Category,
    needs_review: bool,
    prefix: &OwnPrefix,
) -> (Danger, Inference) {
    let judged = judge(subject, category, needs_review, prefix);
    (judged.danger, judged.from)
}

/// The effects and the danger of an operation.
///
/// What sends, pays, grants, removes or runs something is destructive, whatever the server declares. For the rest, its
/// declaration decides. Without one, a clear addition or change is reversible and everything else destructive.
pub fn judge(subject: Subject<'_>, category: Category, needs_review: bool, prefix: &OwnPrefix) -> Judgement {
    let annotations = subject.annotations;
    let mut effects = effects::find(subject, category, prefix);
    let inferred = Danger::infer(subject.name, category);
    let asks = inferred.max(Danger::Destructive);
    let (danger, from) = match (category, annotations.destructive) {
        _ if needs_review => (asks, Inference::HeuristicClassification),
        (Category::Read, _) if annotations.read_only == Some(true) => (inferred, Inference::DirectSourceMetadata),
        (Category::Read, _) => (inferred, Inference::HeuristicClassification),
        (_, Some(true)) => (asks, Inference::DirectSourceMetadata),
        _ if effects.first_for_person().is_some() => (asks, Inference::HeuristicClassification),
        (_, Some(false)) => (inferred, Inference::HeuristicClassification),
        (_, None) if reversible::is_reversible_change(subject, category, prefix) => {
            (inferred, Inference::HeuristicClassification)
        }
        (_, None) => (asks, Inference::HeuristicClassification),
    };
    if !needs_review && danger == Danger::Destructive && annotations.destructive != Some(true) {
        let is_harmless =
            annotations.destructive == Some(false) || reversible::is_reversible_change(subject, category, prefix);
        effects.settled_by = settled::settled_by(subject, &effects, is_harmless, prefix);
    }
    Judgement { danger, from, effects }
}

fn decided(category: Category, confidence: Confidence, category_from: Inference) -> Classification {
    Classification { category, confidence, review_reasons: Vec::new(), evidence: Vec::new(), category_from }
}

fn doubtful(category: Category, reason: String) -> Classification {
    // An operation whose effect is in doubt is never classified as READ.
    let category = if category == Category::Read { Category::Execute } else { category };
    Classification {
        review_reasons: vec![reason],
        ..decided(category, Confidence::Low, Inference::HeuristicClassification)
    }
}

/// Classifies a tool with `readOnlyHint: true`. A verb of writing or acting that leads or is joined to the leading verb
/// contradicts it: such a tool is not READ (R-DIS-4a).
fn annotated_read(
    name: &NameEvidence,
    words: &DescriptionEvidence,
    subject: Subject<'_>,
    prefix: &OwnPrefix,
) -> Classification {
    let in_name =
        name.joined.as_ref().or(name.lead.as_ref().filter(|_| name.firm)).filter(|(_, effect)| effect.is_write());
    if let Some((verb, effect)) = in_name {
        return doubtful(effect.category(), format!("readOnlyHint is true, but the name says '{verb}'"));
    }
    let in_words = words.lead.as_ref().filter(|(_, effect)| words.firm && effect.is_write()).or(words.joined.as_ref());
    if let Some((verb, effect)) = in_words {
        return doubtful(effect.category(), format!("readOnlyHint is true, but the description says '{verb}'"));
    }
    let reads = name.firm && matches!(name.lead, Some((_, VerbEffect::Reads)));
    if let Some(verb) = name.acting_verb() {
        return doubtful(Category::Execute, format!("readOnlyHint is true, but the name says '{verb}'"));
    }
    if let Some(verb) = words.acting_verb().filter(|_| !reads) {
        return doubtful(Category::Execute, format!("readOnlyHint is true, but the description says '{verb}'"));
    }
    if let Some(verb) = effects::find_leading(subject.name, prefix) {
        return doubtful(Category::Execute, format!("readOnlyHint is true, but the name says '{verb}'"));
    }
    if let Some(reason) = speaks_against_reading(name, words, subject.parameters) {
        return doubtful(Category::Execute, format!("readOnlyHint is true, but {reason}"));
    }
    let agrees = reads && name.beside.is_none();
    let confidence = if agrees { Confidence::High } else { Confidence::Medium };
    decided(Category::Read, confidence, Inference::DirectSourceMetadata)
}

/// What besides the verbs of the name and the first sentence says that something is done: a later sentence, or a path
/// that a download is written to.
fn speaks_against_reading(name: &NameEvidence, words: &DescriptionEvidence, parameters: &[&str]) -> Option<String> {
    if let Some(word) = &words.besides {
        return Some(format!("the description also says '{word}'"));
    }
    let is_download = name.lead.as_ref().is_some_and(|(verb, _)| verb == "download");
    let path = parameters.iter().find(|parameter| evidence::is_target_path(parameter)).filter(|_| is_download)?;
    Some(format!("it takes '{path}'"))
}

/// Classifies a tool with `readOnlyHint: false` by its name and description.
fn annotated_write(name: &NameEvidence, words: &DescriptionEvidence, annotations: Annotations) -> Classification {
    let by_name = match (name.effect(), &name.beside) {
        // "get_and_lock" is decided by both verbs; "list_update" does at least what its second verb says.
        (Some(VerbEffect::Reads), Some((_, effect))) => Some(*effect),
        (by_name, _) => by_name,
    };
    let by_words = words.joined.as_ref().or(words.lead.as_ref()).map(|(_, effect)| *effect);
    // After an unknown word a verb shows nothing harmless: the description decides, and the verb can only raise it.
    let (by_name, by_words) = match by_name.filter(|_| name.is_after_unknown()) {
        Some(raised) => (None, by_words.map(|effect| effect.more_severe(raised))),
        None => (by_name, by_words),
    };
    let (effect, confidence) = match (by_name, by_words) {
        (Some(VerbEffect::Reads), _) if name.firm => {
            return doubtful(Category::Execute, "readOnlyHint is false, but the name says that it reads".to_owned());
        }
        (Some(effect), _) if effect != VerbEffect::Reads && name.firm => (effect, Confidence::High),
        (Some(effect), _) if effect != VerbEffect::Reads => (effect, Confidence::Medium),
        (_, Some(effect)) if effect != VerbEffect::Reads => (effect, Confidence::Medium),
        _ => {
            return doubtful(Category::Execute, "readOnlyHint is false, and no verb tells what is changed".to_owned());
        }
    };
    let category = effect.category();
    match (category, annotations.destructive) {
        (Category::Create, Some(true)) => {
            doubtful(Category::Update, "the words say that it adds something, but destructiveHint is true".to_owned())
        }
        (Category::Delete, Some(false)) => doubtful(
            Category::Delete,
            "the words say that it removes something, but destructiveHint is false".to_owned(),
        ),
        _ => decided(category, confidence, Inference::HeuristicClassification),
    }
}

/// Classifies a tool without annotations by its name. The description or a parameter may contradict the name.
fn unannotated(
    name: &NameEvidence,
    words: &DescriptionEvidence,
    doubt: Option<&str>,
    subject: Subject<'_>,
) -> Classification {
    let (Some((verb, _)), Some(effect)) = (&name.lead, name.effect()) else {
        let category =
            words.joined.as_ref().or(words.lead.as_ref()).map_or(Category::Execute, |(_, effect)| effect.category());
        return doubtful(category, "no annotation, and no verb in the name".to_owned());
    };
    if effect != VerbEffect::Reads {
        if name.is_after_unknown() {
            return doubtful(
                effect.category(),
                format!("no annotation, and '{verb}' is not the first word of the name"),
            );
        }
        return unannotated_write(effect, name.firm, verb, words);
    }
    let objection = if !name.is_first {
        Some(format!("no annotation, and '{verb}' is not the first word of the name"))
    } else if let Some((verb, _)) = &name.beside {
        Some(format!("the name says that it reads, but also '{verb}'"))
    } else if let Some((verb, _)) = &words.joined {
        Some(format!("the name says that it reads, but the description also says '{verb}'"))
    } else if let Some((verb, _)) = words.lead.as_ref().filter(|(_, effect)| words.firm && effect.is_write()) {
        Some(format!("the name says that it reads, but the description says '{verb}'"))
    } else if let Some(verb) = words.acting_verb() {
        Some(format!("the name says that it reads, but the description says '{verb}'"))
    } else if let Some(parameter) = doubt {
        Some(format!("the name says that it reads, but it takes '{parameter}'"))
    } else if let Some(reason) = speaks_against_reading(name, words, subject.parameters) {
        Some(format!("the name says that it reads, but {reason}"))
    } else if subject.annotations.destructive == Some(true) {
        Some("the name says that it reads, but destructiveHint is true".to_owned())
    } else if !(name.firm || words.firm && matches!(words.lead, Some((_, VerbEffect::Reads)))) {
        Some(format!("no annotation, and '{verb}' in the name could mean anything"))
    } else {
        None
    };
    match objection {
        Some(reason) => doubtful(Category::Execute, reason),
        None => decided(Category::Read, Confidence::Medium, Inference::HeuristicClassification),
    }
}

fn unannotated_write(effect: VerbEffect, firm: bool, verb: &str, words: &DescriptionEvidence) -> Classification {
    let category = effect.category();
    if !firm {
        let supported = words.lead.as_ref().is_some_and(|(_, other)| *other == effect);
        if !supported {
            return doubtful(category, format!("no annotation, and '{verb}' in the name could mean anything"));
        }
    }
    let contrary = words.lead.as_ref().filter(|(_, other)| {
        words.firm
            && matches!(
                (effect, other),
                (VerbEffect::Creates | VerbEffect::Updates | VerbEffect::Acts, VerbEffect::Deletes)
            )
    });
    match contrary {
        Some((other, _)) => {
            doubtful(Category::Delete, format!("the name says '{verb}', but the description says '{other}'"))
        }
        None => decided(category, Confidence::Medium, Inference::HeuristicClassification),
    }
}

/// Describes the evidence, strongest first.
fn describe_evidence(
    name: &NameEvidence,
    words: &DescriptionEvidence,
    doubt: Option<&str>,
    annotations: Annotations,
) -> Vec<String> {
    let mut lines = Vec::new();
    let hints = [
        ("readOnlyHint", annotations.read_only),
        ("destructiveHint", annotations.destructive),
        ("idempotentHint", annotations.idempotent),
    ];
    lines.extend(hints.into_iter().filter_map(|(hint, value)| value.map(|value| format!("{hint}={value}"))));
    let mut verb = |place: &str, found: &Option<(String, VerbEffect)>| {
        if let Some((word, effect)) = found {
            lines.push(format!("{place} '{word}' → {}", effect.category()));
        }
    };
    verb(if name.firm { "name" } else { "name, perhaps a noun," }, &name.lead);
    verb("name, joined", &name.joined);
    verb("name, beside", &name.beside);
    verb("name, object", &name.object);
    verb("description", &words.lead);
    verb("description, object", &words.object);
    verb("description, joined", &words.joined);
    lines.extend(doubt.map(|parameter| format!("parameter '{parameter}'")));
    lines
}
