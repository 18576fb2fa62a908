//! What the sentences of a description say is done: "This emails the owner", "Each call is billed", "An SMS goes out".
//!
//! A statement is the main clause of a sentence. What stands in a relative or conditional clause describes data or another
//! operation ("messages that were sent", "fails if the page is deleted"), and the base form of a verb tells the reader what to
//! do ("Use the id to send it"), unless it is joined to the verb that says what the operation does ("Get the report and
//! send it").

use std::collections::HashSet;
use std::sync::LazyLock;

use aquifer_protocol::effect::Effect;

use super::sentences::{
    ARTICLES, PREPOSITIONS, SentenceWord, contains, sentence_words, sentences, shortened, singular, word_before,
};
use super::verbs::{base_of_sentence_word, effect_of_sentence_word, effect_of_word};
use super::words::{self, Place};
use crate::text::first_sentence;

/// What a sentence says is done.
pub(super) struct Statement {
    /// The effect for which a person has to agree, or none: it adds or changes something.
    pub(super) effect: Option<Effect>,
    /// The words that say it.
    pub(super) text: String,
}

/// What a verb states.
enum Stated {
    /// An effect for which a person has to agree.
    Effect(Effect),
    /// An addition or a change.
    Change,
}

/// Words that join a verb to another one.
pub(super) const JOINING: &str = "and then also or automatically immediately additionally optionally";

/// Words before the base form of a verb.
pub(super) const AUXILIARIES: &str = "will would";

/// Words before a verb that turn its meaning around, or say when, and not that.
const EXCLUDING: &str = "not no never without don't doesn't won't cannot can't didn't isn't neither nor nothing if unless \
                         instead whether avoid before fails how to";

/// Those of them that turn it around.
const NEGATING: &str = "not no never without don't doesn't won't cannot can't didn't isn't neither nor nothing if unless instead \
                        whether avoid fails";

/// Words before a participle.
const PASSIVE: &str = "is are be gets get being automatically immediately";

/// Words that begin a clause about something else, or say when.
const SUBORDINATING: &str = "that which who whom whose whether if when whenever where unless until once how why because since \
                             while after before as what can could may might must should cannot has have had was were been";

/// Words that join clauses.
const CONJUNCTIONS: &str = "and but or";

/// What a description calls the operation or what runs it.
const OPERATION_NOUNS: &str = "it this tool call operation request endpoint method function command action api server service \
                               system invocation";

/// Parts of an interface. That they are removed is a matter of later versions.
const INTERFACE_NOUNS: &str = "endpoint method operation api tool field fields parameter parameters property properties attribute \
                               version versions function flag option options feature support deprecated deprecation";

/// Words that only stand before a noun, so that the word before them is a verb.
const DETERMINERS: &str = "a an the it them this these those all every each him her his their your its one any everyone \
                           everybody";

/// Verbs of a message, a payment or a permission that comes about.
const OCCURRING: &str =
    "goes go arrives arrive follows follow results result occurs occur happens happen reaches reach leaves";

/// Participles of the same.
const MADE: &str = "created made issued triggered initiated raised generated placed delivered queued dispatched opened";

/// Verbs of the person that something is sent to.
const RECEIVING: &str = "receives receive gets get";

/// Verbs that bring something about: "Triggers a payment".
const CAUSING: &str = "triggers initiates causes issues places makes generates produces creates raises starts opens";

/// The verbs and participles that depend on what they are about.
static OF_OBJECTS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| [OCCURRING, MADE, RECEIVING].into_iter().flat_map(str::split_ascii_whitespace).collect());

/// Maximum number of words between the beginning of a clause and its verb.
const MAX_SUBJECT: usize = 6;

/// What a description of an operation that should only read says is done besides, in a few words.
pub(super) fn find_besides(description: &str) -> Option<String> {
    let first = first_sentence(description);
    let rest = description.trim_start().strip_prefix(first)?;
    let stated = |sentence: &str, is_first: bool| {
        in_sentence(&sentence_words(sentence), is_first).into_iter().next().map(|statement| statement.text)
    };
    stated(first, true).or_else(|| sentences(shortened(rest)).find_map(|sentence| stated(sentence, false)))
}

/// What a sentence says is done. `is_first` means that it begins the description: its first verb is not looked at, because it
/// says what the operation as such does.
pub(super) fn in_sentence(words: &[SentenceWord], is_first: bool) -> Vec<Statement> {
    let plain = words.iter().enumerate().filter(|(_, word)| !word.is_code);
    plain.filter_map(|(index, _)| at_word(words, index, is_first)).collect()
}

fn at_word(words: &[SentenceWord], index: usize, is_first: bool) -> Option<Statement> {
    let word = words.get(index)?.text.as_str();
    let base = base_of_sentence_word(word);
    let is_third_person = base != word;
    let before = index.saturating_sub(1);
    let by_participle = words::effect(Place::Participle, word)
        .and_then(|effect| Some((stated_participle(words, index, effect)?, before)));
    let by_object = || {
        let is_candidate = OF_OBJECTS.contains(word);
        let effect = is_candidate.then(|| occurring_object(words, index).or_else(|| received_object(words, index)));
        Some((Stated::Effect(effect.flatten()?), before))
    };
    let by_verb = || Some((stated_verb(words, index, is_first, &base)?, index));
    let (stated, from) = by_participle.or_else(by_object).or_else(by_verb)?;
    // What turns a verb around is only looked for where there is one.
    if is_negated(words, index) || (!is_third_person && from == index && is_excluded(words, index)) {
        return None;
    }
    let text: Vec<&str> = words.get(from..=index)?.iter().map(|word| word.text.as_str()).collect();
    let effect = match stated {
        Stated::Effect(effect) => Some(effect),
        Stated::Change => None,
    };
    Some(Statement { effect, text: text.join(" ") })
}

/// The effect of a passive in a main clause: "The file is deleted".
fn stated_participle(words: &[SentenceWord], index: usize, effect: Effect) -> Option<Stated> {
    let is_stated = is_passive(words, index) && is_main_clause(words, index) && !is_of_interface(words, index, effect);
    is_stated.then_some(Stated::Effect(effect))
}

/// The effect of a verb that says what is done: "It sends a copy", "Triggers a payment", "Also updates the page".
fn stated_verb(words: &[SentenceWord], index: usize, is_first: bool, base: &str) -> Option<Stated> {
    let word = words.get(index)?.text.as_str();
    let is_third_person = base != word;
    let stated = || is_stated_verb(words, index, is_first, is_third_person);
    if let Some(effect) = words::effect(Place::Verb, base).filter(|effect| effect.needs_person()) {
        return stated().then_some(Stated::Effect(effect));
    }
    if !is_third_person {
        return None;
    }
    let writes = effect_of_word(base).is_some_and(|(effect, firm)| firm && effect.is_write());
    let caused = if contains(CAUSING, word) { object_after(words, index, |_| true) } else { None };
    let is_change = writes && follows_determiner(words, index);
    ((caused.is_some() || is_change) && stated()).then_some(caused.map_or(Stated::Change, Stated::Effect))
}

/// Whether a verb is the verb of a statement, rather than a noun or a verb of another clause.
fn is_stated_verb(words: &[SentenceWord], index: usize, is_first: bool, is_third_person: bool) -> bool {
    // "It automatically sends"
    let back = if index > 0 && word_before(words, index, 1).ends_with("ly") { 2 } else { 1 };
    let before = word_before(words, index, back);
    if index == 0 {
        return is_third_person && (!is_first || follows_determiner(words, index));
    }
    if contains("also then automatically immediately additionally", word_before(words, index, 1)) && is_third_person {
        return true;
    }
    if contains("and then or", before) {
        return follows_determiner(words, index) && has_form_of_first_verb(words, is_third_person);
    }
    if contains(AUXILIARIES, before) && !is_third_person {
        return is_main_clause(words, index);
    }
    // "This emails the owner", "Each call charges one credit"
    let subject = index.saturating_sub(back);
    let start = clause_start(words, subject);
    let determined = subject.saturating_sub(1);
    let is_determined = |word: &str| contains(ARTICLES, word) || contains("each every", word);
    let begins = subject == start || (determined == start && is_determined(word_before(words, subject, 1)));
    is_third_person && contains(OPERATION_NOUNS, before) && begins
}

/// Whether the first word of the sentence is a verb of the same form: "Gets the report and sends it", but not "List orders
/// and refunds".
fn has_form_of_first_verb(words: &[SentenceWord], is_third_person: bool) -> bool {
    let Some(first) = words.first() else { return false };
    let base = base_of_sentence_word(&first.text);
    let is_verb = effect_of_sentence_word(&first.text).is_some() || words::effect(Place::Verb, &base).is_some();
    let other = base != first.text || matches!(first.text.as_str(), "returns" | "provides" | "displays");
    // "Each call is billed and sends a mail"
    let is_passive = words.iter().take(MAX_SUBJECT).any(|word| contains("is are", &word.text));
    (is_verb && other == is_third_person) || (is_passive && is_third_person)
}

/// Whether a word only stands before a noun.
pub(super) fn is_determiner(word: &str) -> bool {
    contains(DETERMINERS, word)
}

fn follows_determiner(words: &[SentenceWord], index: usize) -> bool {
    let ends = words.get(index).is_none_or(|word| word.ends_phrase);
    !ends && words.get(index + 1).is_some_and(|next| contains(DETERMINERS, &next.text))
}

/// Whether the words before a participle make it a passive: "is sent", "are automatically deleted".
pub(super) fn is_passive(words: &[SentenceWord], index: usize) -> bool {
    // "Get shared links"
    if index == 1 {
        return false;
    }
    let before = |distance: usize| word_before(words, index, distance);
    contains(PASSIVE, before(1)) || (contains(PASSIVE, before(2)) && before(1).ends_with("ly"))
}

/// Whether words before a verb turn its meaning around.
pub(super) fn is_excluded(words: &[SentenceWord], index: usize) -> bool {
    (1..=5).any(|distance| contains(EXCLUDING, word_before(words, index, distance)))
}

fn is_negated(words: &[SentenceWord], index: usize) -> bool {
    (1..=5).any(|distance| contains(NEGATING, word_before(words, index, distance)))
}

/// Where the clause of a word begins.
fn clause_start(words: &[SentenceWord], index: usize) -> usize {
    let before = words.get(..index).unwrap_or_default();
    before.iter().rposition(|word| word.ends_phrase || contains(CONJUNCTIONS, &word.text)).map_or(0, |at| at + 1)
}

/// Where the part of the sentence since the last punctuation begins.
fn phrase_start(words: &[SentenceWord], index: usize) -> usize {
    let before = words.get(..index).unwrap_or_default();
    before.iter().rposition(|word| word.ends_phrase).map_or(0, |at| at + 1)
}

/// Whether a verb is that of a main clause: nothing subordinates it, and its subject is short and contains no other verb.
fn is_main_clause(words: &[SentenceWord], index: usize) -> bool {
    let since_punctuation = words.get(phrase_start(words, index)..index).unwrap_or_default();
    if since_punctuation.iter().any(|word| contains(SUBORDINATING, &word.text)) {
        return false;
    }
    let start = clause_start(words, index);
    let clause = words.get(start..index).unwrap_or_default();
    let is_auxiliary = |word: &&SentenceWord| contains(PASSIVE, &word.text) || contains(AUXILIARIES, &word.text);
    let subject = clause.iter().position(|word| is_auxiliary(&word)).unwrap_or(clause.len());
    let between = clause.get(subject..).unwrap_or_default();
    if between.iter().any(|word| !is_auxiliary(&word) && !word.text.ends_with("ly")) || subject > MAX_SUBJECT {
        return false;
    }
    // "Gets the messages being sent", but "Messages are sent"
    let begins_with_verb = clause.first().is_some_and(|word| effect_of_sentence_word(&word.text).is_some());
    !(begins_with_verb && subject > 1)
}

fn begins_clause(words: &[SentenceWord], index: usize) -> bool {
    clause_start(words, index) == index
}

/// Whether a sentence says that a part of the interface will be removed.
fn is_of_interface(words: &[SentenceWord], index: usize, effect: Effect) -> bool {
    let before = words.get(..index).unwrap_or_default();
    effect == Effect::Removes && before.iter().any(|word| contains(INTERFACE_NOUNS, &word.text))
}

/// The effect of what comes about: "An SMS goes out", "a payment is made".
fn occurring_object(words: &[SentenceWord], index: usize) -> Option<Effect> {
    let word = words.get(index)?.text.as_str();
    let is_made = contains(MADE, word) && is_passive(words, index);
    if !is_made && !contains(OCCURRING, word) {
        return None;
    }
    if !is_main_clause(words, index) || begins_clause(words, index) {
        return None;
    }
    let start = clause_start(words, index);
    let clause = words.get(start..index)?;
    let subject = clause.iter().position(|word| contains(PASSIVE, &word.text) || contains(AUXILIARIES, &word.text));
    let head = clause.get(..subject.unwrap_or(clause.len()))?.last()?;
    words::effect(Place::Object, singular(&head.text)).filter(|effect| effect.needs_person())
}

/// The effect of what somebody receives: "The owner receives an email".
fn received_object(words: &[SentenceWord], index: usize) -> Option<Effect> {
    let is_verb = contains(RECEIVING, &words.get(index)?.text) && index > 0 && !begins_clause(words, index);
    let effect = object_after(words, index, |effect| effect == Effect::Sends)?;
    (is_verb && is_main_clause(words, index)).then_some(effect)
}

/// The effect of the noun that a verb acts on, after an article: "receives an email", "triggers a bank transfer".
fn object_after(words: &[SentenceWord], index: usize, is_wanted: impl Fn(Effect) -> bool) -> Option<Effect> {
    let mut after = words.get(index + 1..)?.iter();
    if words.get(index)?.ends_phrase || !contains("a an the one another new", &after.next()?.text) {
        return None;
    }
    let mut head = None;
    for word in after {
        if contains(PREPOSITIONS, &word.text) || word.text.ends_with("ly") {
            break;
        }
        head = Some(&word.text);
        if word.ends_phrase {
            break;
        }
    }
    words::effect(Place::Object, singular(head?)).filter(|effect| effect.needs_person() && is_wanted(*effect))
}
