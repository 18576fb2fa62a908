//! Recognizes additions and changes that can be undone, by the tool's name and description (R-DIS-4).
//!
//! A tool that declares nothing needs confirmation unless its wording leaves no doubt. Removing, overwriting something
//! as a whole, merging, sending to others, moving money, granting access and everything in neither list is in doubt.
//! Wording only provides a default: the server's declaration takes precedence over it, and the operator's configuration
//! over both.

use aquifer_protocol::category::Category;

use super::OwnPrefix;
use super::Subject;
use super::evidence::{verbs_in_description, verbs_in_name};
use super::sentences::{PREPOSITIONS, contains};
use super::verbs::VerbEffect;

/// Verbs of additions and changes that can be undone.
const REVERSIBLE_VERBS: &str = "create add insert new make generate register clone duplicate mkdir init initialize initialise \
                           attach draft bookmark star note update edit modify patch rename append prepend assign unassign \
                           mark pin unpin archive unarchive mute unmute hide unhide reopen reorder reassign increment \
                           decrement adjust bump set change enable disable toggle resume pause \
                           reschedule configure save";

/// Words in a name that make an addition or a change more than that: it affects much at once, or other people's work.
const NAME_HAZARDS: &str = "all bulk mass every batch force access approval merge rebase release post";

/// Objects that are overwritten as a whole when they are updated.
const WHOLE_OBJECTS: &str = "file content document blob";

/// Verbs of changes that keep everything that was there.
const KEEPING_VERBS: &str = "append prepend";

/// Objects whose update merges or rebases other work.
const MERGED_OBJECTS: &str = "branch ref fork";

/// Parameters that determine what a change does. What is added only contains them: a rule has an `action`.
const DECIDING_PARAMETERS: &[&str] = &["action", "method", "operation"];

/// Parameters that allow more than the name implies.
const EXCEEDING_PARAMETERS: &[&str] =
    &["force", "overwrite", "upsert", "query", "statement", "sql", "command", "script"];

/// Whether the wording of a tool says clearly that it only adds or changes something.
pub(super) fn is_reversible_change(subject: Subject<'_>, category: Category, prefix: &OwnPrefix) -> bool {
    if !matches!(category, Category::Create | Category::Update) {
        return false;
    }
    let name = verbs_in_name(subject.name, prefix);
    // Two verbs are in doubt, even if each is not: "create or update" may overwrite something unintentionally.
    if name.joined.is_some()
        || !name.is_first
        || !name.lead.as_ref().is_some_and(|(verb, _)| has(REVERSIBLE_VERBS, verb))
    {
        return false;
    }
    let decides = |parameter: &&str| {
        EXCEEDING_PARAMETERS.contains(parameter)
            || (category == Category::Update && DECIDING_PARAMETERS.contains(parameter))
    };
    if subject.parameters.iter().any(decides) {
        return false;
    }
    let described = verbs_in_description(subject.description);
    let contradicts = |(_, effect): &(String, VerbEffect)| matches!(effect, VerbEffect::Deletes | VerbEffect::Acts);
    if described.lead.as_ref().filter(|_| described.firm).is_some_and(contradicts)
        || described.joined.as_ref().is_some_and(contradicts)
    {
        return false;
    }
    // A merge request does not merge anything.
    let text = subject.name.replace("merge_request", "request");
    let in_name: Vec<&str> = text.split('_').filter(|word| !word.is_empty()).collect();
    let is_kept = name.lead.as_ref().is_some_and(|(verb, _)| has(KEEPING_VERBS, verb));
    // The last word before a preposition says what is changed: a document version is no document.
    let is_preposition = |word: &&str| contains(PREPOSITIONS, word);
    let end = in_name.iter().position(is_preposition).unwrap_or(in_name.len());
    let head = end.checked_sub(1).and_then(|at| in_name.get(at)).copied().unwrap_or_default();
    let is_whole = category == Category::Update && !is_kept && has_stem(WHOLE_OBJECTS, head);
    let is_brought_up_to_date = name.lead.as_ref().is_some_and(|(verb, _)| verb == "update");
    let is_merged = |word: &str| is_brought_up_to_date && has_stem(MERGED_OBJECTS, word);
    !in_name.iter().any(|word| has_stem(NAME_HAZARDS, word) || is_merged(word)) && !is_whole
}

fn has(list: &str, wanted: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == wanted)
}

/// Whether a word or its base form is in a list.
fn has_stem(list: &str, word: &str) -> bool {
    let stems = ["s", "es", "ed", "d", "ing"].iter().filter_map(|suffix| word.strip_suffix(suffix));
    std::iter::once(word).chain(stems).any(|stem| has(list, stem))
        || word.strip_suffix("ing").is_some_and(|stem| has(list, &format!("{stem}e")))
        || word.strip_suffix("ies").is_some_and(|stem| has(list, &format!("{stem}y")))
}
