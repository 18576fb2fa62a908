//! What a tool's own words give away: its name, its description, its parameters.

use super::verbs::{Says, is_empty_verb, of_sentence_word, of_word};
use crate::text::first_sentence;

/// What the name says.
#[derive(Debug, Clone, Default)]
pub(super) struct NameEvidence {
    /// The verb that leads, with what it says.
    pub(super) lead: Option<(String, Says)>,
    /// Whether that is a word that could not be a noun.
    pub(super) firm: bool,
    /// A graver verb joined to it by "and" or "or".
    pub(super) joined: Option<(String, Says)>,
    /// A verb of writing that stands further on, not joined: `get_update_status`.
    pub(super) beside: Option<(String, Says)>,
    /// What is run, where that is a way of looking: `run_select_query`.
    pub(super) object: Option<(String, Says)>,
}

impl NameEvidence {
    /// A verb that for certain says that something is done, where that is not a way of looking.
    pub(super) fn acts(&self) -> Option<&str> {
        let lead = self.lead.as_ref().filter(|_| self.firm && self.object.is_none());
        let (verb, _) = self.joined.as_ref().into_iter().chain(lead).find(|(_, says)| *says == Says::Acts)?;
        Some(verb)
    }

    /// What the name says altogether: the gravest of what leads and what is joined to it.
    pub(super) fn says(&self) -> Option<Says> {
        let lead = self.lead.as_ref().map(|(_, says)| *says)?;
        Some(self.joined.as_ref().map_or(lead, |(_, joined)| lead.graver(*joined)))
    }
}

/// Looks for verbs in a name that is already snake_case.
///
/// The first firm verb leads, wherever it stands: `pods_delete`, `git_create_branch`. A soft one leads only in front,
/// or at the end of a name that has no firm one: `git_log`.
pub(super) fn in_name(name: &str) -> NameEvidence {
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let firm = words.iter().enumerate().find_map(|(index, word)| match of_word(word) {
        Some((says, true)) => Some((index, *word, says)),
        _ => None,
    });
    let soft = |index: usize| {
        let word = words.get(index)?;
        of_word(word).map(|(says, _)| (index, *word, says))
    };
    let last = words.len().checked_sub(1);
    let lead = match firm {
        Some(firm) => Some((firm, true)),
        None => soft(0).or_else(|| last.and_then(soft)).map(|soft| (soft, false)),
    };
    let Some(((index, word, says), is_firm)) = lead else { return NameEvidence::default() };
    let mut evidence = NameEvidence { lead: Some((word.to_owned(), says)), firm: is_firm, ..NameEvidence::default() };
    let mut joining = false;
    for word in words.iter().skip(index + 1) {
        if matches!(*word, "and" | "or" | "then") {
            joining = true;
            continue;
        }
        if let Some((other, other_firm)) = of_word(word).filter(|(_, firm)| *firm || joining) {
            let place = if joining { &mut evidence.joined } else { &mut evidence.beside };
            let graver = place.as_ref().is_none_or(|(_, known)| known.graver(other) != *known);
            if (joining || (other.is_write() && other_firm)) && graver {
                *place = Some(((*word).to_owned(), other));
            }
        }
        joining = false;
    }
    evidence.object = looked_at(word, words.iter().skip(index + 1).copied());
    evidence
}

/// What is run where the verb only says that something is: the first word of looking after "execute", "run" or the like,
/// if no word of writing stands near it.
fn looked_at<'a>(verb: &str, after: impl Iterator<Item = &'a str>) -> Option<(String, Says)> {
    if !is_empty_verb(verb) {
        return None;
    }
    let near: Vec<&str> = after.take(OBJECT).collect();
    if near.iter().any(|word| of_word(word).is_some_and(|(says, _)| says.is_write())) {
        return None;
    }
    let looks =
        |word: &&&str| matches!(of_word(word), Some((Says::Reads, true))) || matches!(**word, "select" | "query");
    near.iter().find(looks).map(|word| ((*word).to_owned(), Says::Reads))
}

/// How far from its verb an object may stand: "Execute a read-only SELECT query".
const OBJECT: usize = 5;

/// What the description says.
#[derive(Debug, Clone, Default)]
pub(super) struct WordEvidence {
    /// The verb the first sentence begins with.
    pub(super) lead: Option<(String, Says)>,
    /// Whether that is a word that could not be a noun.
    pub(super) firm: bool,
    /// A verb of writing joined to it: "Get or update the scale".
    pub(super) joined: Option<(String, Says)>,
    /// What is run, where that is a way of looking: "Execute a SELECT query".
    pub(super) object: Option<(String, Says)>,
}

impl WordEvidence {
    /// A verb that for certain says that something is done, where that is not a way of looking.
    pub(super) fn acts(&self) -> Option<&str> {
        let (verb, says) = self.lead.as_ref().filter(|_| self.firm && self.object.is_none())?;
        (*says == Says::Acts).then_some(verb)
    }
}

/// Looks at the first sentence of a description.
pub(super) fn in_description(description: &str) -> WordEvidence {
    let sentence = first_sentence(description);
    let mut words = sentence.split(|c: char| c.is_whitespace() || "/(".contains(c)).filter(|word| !word.is_empty());
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let mut evidence = WordEvidence::default();
    let Some(first) = words.next() else { return evidence };
    if let Some((says, firm)) = of_sentence_word(&plain(first)) {
        evidence.lead = Some((plain(first), says));
        evidence.firm = firm;
    }
    let mut joining = first.ends_with(',');
    let words: Vec<&str> = words.take(24).collect();
    let bare: Vec<String> = words.iter().map(|word| plain(word)).collect();
    evidence.object = looked_at(&plain(first), bare.iter().map(String::as_str));
    for word in words {
        let bare = plain(word);
        if matches!(bare.as_str(), "and" | "or" | "then") {
            joining = true;
            continue;
        }
        // Only the bare form: "and updates" is more often a noun than a verb.
        if let Some((says, true)) = of_word(&bare).filter(|(says, _)| joining && says.is_write())
            && evidence.joined.as_ref().is_none_or(|(_, known)| known.graver(says) != *known)
        {
            evidence.joined = Some((bare, says));
        }
        joining = word.ends_with(',');
    }
    evidence
}

/// Parameters that only make sense where something is changed.
const WRITING_PARAMETERS: &[&str] =
    &["dry_run", "force", "overwrite", "confirm", "confirmation", "recursive_delete", "upsert", "create_if_missing"];

/// Parameters that carry a program: whoever takes one can do anything.
const PROGRAM_PARAMETERS: &[&str] =
    &["command", "cmd", "script", "code", "shell", "sql", "statement", "expression", "javascript", "python"];

/// A parameter that only makes sense where something is changed or run.
pub(super) fn in_parameters<'a>(names: &[&'a str]) -> Option<&'a str> {
    let known = |name: &&&str| WRITING_PARAMETERS.contains(*name) || PROGRAM_PARAMETERS.contains(*name);
    names.iter().find(known).copied()
}
