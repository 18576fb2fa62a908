//! A table of verbs and what they imply about an operation.
//!
//! A *firm* word is always a verb in a name. A *soft* word is also a noun (`post`, `log`, `branch`) and counts as a
//! verb only at the beginning.

use std::collections::HashMap;
use std::sync::LazyLock;

use aquifer_protocol::category::Category;

use super::words::{self, Place};

/// The effect that a verb implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerbEffect {
    Reads,
    /// It performs an action that may not change anything, so it does not contradict stronger evidence.
    Acts,
    /// It adds something.
    Creates,
    /// It changes something.
    Updates,
    /// It removes something.
    Deletes,
}

impl VerbEffect {
    pub(crate) const fn category(self) -> Category {
        match self {
            VerbEffect::Reads => Category::Read,
            VerbEffect::Acts => Category::Execute,
            VerbEffect::Creates => Category::Create,
            VerbEffect::Updates => Category::Update,
            VerbEffect::Deletes => Category::Delete,
        }
    }

    /// Whether it definitely changes something.
    pub(crate) const fn is_write(self) -> bool {
        matches!(self, VerbEffect::Creates | VerbEffect::Updates | VerbEffect::Deletes)
    }

    /// Ranks effects by the damage of an unintended call, to choose between several verbs in a name.
    const fn severity(self) -> u8 {
        match self {
            VerbEffect::Reads => 0,
            VerbEffect::Creates => 1,
            VerbEffect::Acts => 2,
            VerbEffect::Updates => 3,
            VerbEffect::Deletes => 4,
        }
    }

    pub(crate) fn more_severe(self, other: VerbEffect) -> VerbEffect {
        if other.severity() > self.severity() { other } else { self }
    }
}

const FIRM: &[(VerbEffect, &str)] = &[
    (
        VerbEffect::Reads,
        "get list read search find fetch show view describe retrieve lookup inspect browse explain enumerate peek \
         discover locate summarize summarise preview whoami check can count verify estimate download calculate compute",
    ),
    (
        VerbEffect::Creates,
        "create add insert new make generate register upload clone duplicate provision invite publish import \
         mkdir init initialize initialise subscribe enqueue submit attach",
    ),
    (
        VerbEffect::Updates,
        "update edit modify patch set put write rename move replace upsert save append merge push assign unassign \
         enable disable toggle scale resize configure apply mark mutate overwrite rotate sync restore revert \
         rollback transfer upgrade downgrade migrate promote demote archive unarchive lock unlock pin unpin \
         rebase stash reopen resolve approve reject grant pause resume mute unmute hide unhide increment \
         decrement alter adjust bump store persist reorder reassign unset swap prepend chmod chown withdraw deposit reschedule",
    ),
    (
        VerbEffect::Deletes,
        "delete remove destroy drop purge truncate wipe erase uninstall unregister clear revoke unsubscribe \
         detach prune rm rmdir discard expire evict ban deprovision kill terminate flush unlink forget empty \
         cleanup trash",
    ),
    (
        VerbEffect::Acts,
        "run execute exec trigger invoke call start stop restart send deploy install click hover drag navigate \
         evaluate eval press fill emulate simulate launch cancel retry reboot shutdown notify authenticate login \
         logout connect disconnect reset compile compress decompress gzip zip unzip transcode render debug scan \
         crawl handle close abort reload refresh dispatch replay rerun reindex rebuild pay charge refund purchase \
         checkout play scroll swipe tap speak act spawn attempt perform confirm accept decline reply forward \
         broadcast ask delegate wake buy sell trade bid sign",
    ),
];

const SOFT: &[(VerbEffect, &str)] = &[
    (
        VerbEffect::Reads,
        "log logs status diff tree info details stats statistics summary version history schema help \
         metrics health ping top query validate compare analyze analyse convert \
         watch open lint wait screenshot snapshot capture export echo monitor trace profile \
         parse extract translate suggest recommend identify detect select load tail head exists decode encode \
         hash sum current return provide report display",
    ),
    (
        VerbEffect::Creates,
        "post comment fork branch commit tag book order schedule reserve note record draft request copy message \
         mail email react star follow like link label share vote plan reference build compose review",
    ),
    (VerbEffect::Updates, "change format fix sort stage cherry switch process manage control"),
    (VerbEffect::Deletes, "cut block unstar unfollow release deactivate"),
    (VerbEffect::Acts, "type test use take go work task tool action command shell bash python sql do drive agent"),
];

/// The words of both tables. A word in both is firm; if it has several effects, the first counts.
static WORDS: LazyLock<HashMap<&str, (VerbEffect, bool)>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for (table, is_firm) in [(FIRM, true), (SOFT, false)] {
        for (effect, words) in table {
            for word in words.split_ascii_whitespace() {
                all.entry(word).or_insert((*effect, is_firm));
            }
        }
    }
    all
});

/// The effect that a word of a name implies, and whether the word is firm.
pub(crate) fn effect_of_word(word: &str) -> Option<(VerbEffect, bool)> {
    WORDS.get(word).copied()
}

/// Verbs whose effect depends on the next word: "run a search" is a search.
const EMPTY_VERBS: &[&str] = &["execute", "executes", "exec", "run", "runs", "perform", "performs"];

pub(crate) fn is_empty_verb(word: &str) -> bool {
    EMPTY_VERBS.contains(&word)
}

/// Verbs that denote reading in a description only in this form: "Return a book" is not a read.
const SENTENCE_VERBS: &[&str] = &["returns", "provides", "displays"];

/// The effect that a word of a sentence implies, including the third person ("Returns", "Searches", "Modifies").
pub(crate) fn effect_of_sentence_word(word: &str) -> Option<(VerbEffect, bool)> {
    let word = word.to_lowercase();
    if SENTENCE_VERBS.contains(&word.as_str()) {
        return Some((VerbEffect::Reads, true));
    }
    effect_of_word(&base_of_sentence_word(&word))
}

/// The base form of a verb in the third person, if it is in the table ("modifies"), otherwise the word itself.
pub(super) fn base_of_sentence_word(word: &str) -> String {
    let is_known = |word: &str| effect_of_word(word).is_some() || words::effect(Place::Verb, word).is_some();
    if is_known(word) {
        return word.to_owned();
    }
    let stems = [("ies", "y"), ("es", ""), ("es", "e"), ("s", "")];
    let bases = stems.iter().filter_map(|(suffix, ending)| Some(format!("{}{ending}", word.strip_suffix(suffix)?)));
    bases.into_iter().find(|base| is_known(base)).unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_4_no_word_has_two_effects() {
        let mut seen = std::collections::HashSet::new();
        for (_, words) in FIRM.iter().chain(SOFT) {
            for word in words.split(' ') {
                assert!(seen.insert(word), "{word} stands twice");
                assert!(aquifer_protocol::operation::is_snake_case(word), "{word}");
            }
        }
    }
}
