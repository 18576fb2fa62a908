//! Evidence of a tool's effect in its name, description and parameters.

use super::OwnPrefix;
use super::statements;
use super::verbs::{VerbEffect, effect_of_sentence_word, effect_of_word, is_empty_verb};
use crate::text::first_sentence;

/// Verbs found in the name.
#[derive(Debug, Clone, Default)]
pub(super) struct NameEvidence {
    /// The leading verb and its effect.
    pub(super) lead: Option<(String, VerbEffect)>,
    /// Whether that word cannot be a noun.
    pub(super) firm: bool,
    /// Whether the name begins with that verb, after the prefix of its source.
    pub(super) is_first: bool,
    /// A more severe verb joined to it by "and" or "or".
    pub(super) joined: Option<(String, VerbEffect)>,
    /// A later write verb that is not joined to it: `get_update_status`.
    pub(super) beside: Option<(String, VerbEffect)>,
    /// The object of an empty verb, if it denotes a read: `run_select_query`.
    pub(super) object: Option<(String, VerbEffect)>,
}

impl NameEvidence {
    /// A firm action verb whose object is not a read.
    pub(super) fn acting_verb(&self) -> Option<&str> {
        let lead = self.lead.as_ref().filter(|_| self.firm && self.object.is_none());
        let (verb, _) = self.joined.as_ref().into_iter().chain(lead).find(|(_, effect)| *effect == VerbEffect::Acts)?;
        Some(verb)
    }

    /// Whether the verb says that something is added or changed, but follows a word that may be a verb itself:
    /// `suspend_create_user`.
    pub(super) fn is_after_unknown(&self) -> bool {
        !self.is_first && matches!(self.effect(), Some(VerbEffect::Creates | VerbEffect::Updates))
    }

    /// The effect of the whole name: the more severe of the leading verb and the one joined to it.
    pub(super) fn effect(&self) -> Option<VerbEffect> {
        let lead = self.lead.as_ref().map(|(_, effect)| *effect)?;
        Some(self.joined.as_ref().map_or(lead, |(_, joined)| lead.more_severe(*joined)))
    }
}

/// Finds verbs in a snake_case name.
///
/// The first firm verb leads, wherever it is: `pods_delete`, `git_create_branch`. A soft verb leads only at the start,
/// or at the end of a name without a firm one: `git_log`.
pub(super) fn verbs_in_name(name: &str, prefix: &OwnPrefix) -> NameEvidence {
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let firm = words.iter().enumerate().find_map(|(index, word)| match effect_of_word(word) {
        Some((effect, true)) => Some((index, *word, effect)),
        _ => None,
    });
    let soft = |index: usize| {
        let word = words.get(index)?;
        effect_of_word(word).map(|(effect, _)| (index, *word, effect))
    };
    let last = words.len().checked_sub(1);
    // What is viewed or listed can be the thing itself, if a source or a path says so: `list_create` of `/lists`.
    let known = prefix.count_words(&words);
    let follows_prefix =
        |(index, _, effect): &(usize, &str, VerbEffect)| *index < known && *effect == VerbEffect::Reads;
    let next =
        words.get(known).and_then(|word| Some((known, *word, effect_of_word(word).filter(|(_, firm)| *firm)?.0)));
    let firm = firm.map(|firm| next.filter(|_| follows_prefix(&firm)).unwrap_or(firm));
    let lead = match firm {
        Some(firm) => Some((firm, true)),
        None => soft(0).or_else(|| last.and_then(soft)).map(|soft| (soft, false)),
    };
    let Some(((index, word, effect), is_firm)) = lead else { return NameEvidence::default() };
    let effect = if is_other_verb(&words, index) { VerbEffect::Acts } else { effect };
    let lead = Some((word.to_owned(), effect));
    let is_first = index == known || index == 0;
    let mut evidence = NameEvidence { lead, firm: is_firm, is_first, ..NameEvidence::default() };
    let mut joining = false;
    for (position, word) in words.iter().enumerate().skip(index + 1) {
        if matches!(*word, "and" | "or" | "then") {
            joining = true;
            continue;
        }
        // What follows "list and" is a verb, even if it is not known.
        if joining && position == index + 2 && effect_of_word(word).is_none() {
            evidence.joined = Some(((*word).to_owned(), VerbEffect::Acts));
        }
        if let Some((other, other_firm)) = effect_of_word(word).filter(|(_, firm)| *firm || joining) {
            let place = if joining { &mut evidence.joined } else { &mut evidence.beside };
            let is_more_severe = place.as_ref().is_none_or(|(_, known)| known.more_severe(other) != *known);
            if (joining || (other.is_write() && other_firm)) && is_more_severe {
                *place = Some(((*word).to_owned(), other));
            }
        }
        joining = false;
    }
    evidence.object = find_read_object(word, words.iter().skip(index + 1).copied());
    evidence
}

/// Whether a verb of reading and the words after it are a verb of another kind: `check_in_guest`, `list_for_sale`.
fn is_other_verb(words: &[&str], index: usize) -> bool {
    let after = |distance: usize| words.get(index + distance).copied().unwrap_or_default();
    match words.get(index).copied().unwrap_or_default() {
        "check" => matches!(after(1), "in" | "out" | "off"),
        "list" => words.windows(2).any(|pair| matches!(pair, ["for", "sale" | "rent"])),
        "count" => matches!(after(1), "down"),
        "show" | "get" => matches!(after(1), "off" | "rid"),
        _ => false,
    }
}

/// The object of an empty verb: the first read verb after "execute", "run" or the like, if no write verb is near.
fn find_read_object<'a>(verb: &str, after: impl Iterator<Item = &'a str>) -> Option<(String, VerbEffect)> {
    if !is_empty_verb(verb) {
        return None;
    }
    let near: Vec<&str> = after.take(MAX_OBJECT_DISTANCE).collect();
    if near.iter().any(|word| effect_of_word(word).is_some_and(|(effect, _)| effect.is_write())) {
        return None;
    }
    let looks = |word: &&&str| {
        matches!(effect_of_word(word), Some((VerbEffect::Reads, true))) || matches!(**word, "select" | "query")
    };
    near.iter().find(looks).map(|word| ((*word).to_owned(), VerbEffect::Reads))
}

/// Maximum distance in words between a verb and its object: "Execute a read-only SELECT query".
const MAX_OBJECT_DISTANCE: usize = 5;

/// Verbs found in the description.
#[derive(Debug, Clone, Default)]
pub(super) struct DescriptionEvidence {
    /// The first verb of the first sentence.
    pub(super) lead: Option<(String, VerbEffect)>,
    /// Whether that word cannot be a noun.
    pub(super) firm: bool,
    /// A write verb joined to it: "Get or update the scale".
    pub(super) joined: Option<(String, VerbEffect)>,
    /// The object of an empty verb, if it denotes a read: "Execute a SELECT query".
    pub(super) object: Option<(String, VerbEffect)>,
    /// What a sentence says is done besides: "It also sends an email".
    pub(super) besides: Option<String>,
}

impl DescriptionEvidence {
    /// A firm action verb whose object is not a read.
    pub(super) fn acting_verb(&self) -> Option<&str> {
        let (verb, effect) = self.lead.as_ref().filter(|_| self.firm && self.object.is_none())?;
        (*effect == VerbEffect::Acts).then_some(verb)
    }
}

/// Finds verbs in the first sentence of a description.
pub(super) fn verbs_in_description(description: &str) -> DescriptionEvidence {
    let sentence = first_sentence(description);
    let besides = statements::find_besides(description);
    let mut words = sentence.split(|c: char| c.is_whitespace() || "/(".contains(c)).filter(|word| !word.is_empty());
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let mut evidence = DescriptionEvidence { besides, ..DescriptionEvidence::default() };
    let Some(first) = words.next() else { return evidence };
    if let Some((effect, firm)) = effect_of_sentence_word(&plain(first)) {
        evidence.lead = Some((plain(first), effect));
        evidence.firm = firm;
    }
    let mut joining = first.ends_with(',');
    let words: Vec<&str> = words.take(24).collect();
    let bare: Vec<String> = words.iter().map(|word| plain(word)).collect();
    evidence.object = find_read_object(&plain(first), bare.iter().map(String::as_str));
    for word in words {
        let bare = plain(word);
        if matches!(bare.as_str(), "and" | "or" | "then") {
            joining = true;
            continue;
        }
        // Only the base form counts: "and updates" is more often a noun than a verb.
        if let Some((effect, true)) = effect_of_word(&bare).filter(|(effect, _)| joining && effect.is_write())
            && evidence.joined.as_ref().is_none_or(|(_, known)| known.more_severe(effect) != *known)
        {
            evidence.joined = Some((bare, effect));
        }
        joining = word.ends_with(',');
    }
    evidence
}

/// Parameters that imply that the operation changes something.
const WRITING_PARAMETERS: &[&str] =
    &["dry_run", "force", "overwrite", "confirm", "confirmation", "recursive_delete", "upsert", "create_if_missing"];

/// Parameters that contain a program, which can do anything.
const PROGRAM_PARAMETERS: &[&str] =
    &["command", "cmd", "script", "code", "shell", "sql", "statement", "expression", "javascript", "python"];

/// Parameters that contain the place where a file is written.
const TARGET_PATHS: &[&str] = &[
    "path",
    "dest",
    "destination",
    "target",
    "target_path",
    "output",
    "output_path",
    "output_file",
    "output_dir",
    "save_path",
    "save_to",
    "local_path",
    "directory",
    "download_path",
    "download_dir",
];

/// Whether a parameter contains the place where a file is written.
pub(super) fn is_target_path(parameter: &str) -> bool {
    TARGET_PATHS.contains(&parameter)
}

/// A parameter that implies that the operation changes or runs something.
/// A calculation takes a formula, which changes nothing.
pub(super) fn write_parameter<'a>(names: &[&'a str], name: &NameEvidence) -> Option<&'a str> {
    let calculates = name.lead.as_ref().is_some_and(|(verb, _)| matches!(&**verb, "calculate" | "compute" | "convert"));
    let known = |name: &&&str| WRITING_PARAMETERS.contains(*name) || PROGRAM_PARAMETERS.contains(*name);
    names.iter().find(known).copied().filter(|name| !(calculates && *name == "expression"))
}
