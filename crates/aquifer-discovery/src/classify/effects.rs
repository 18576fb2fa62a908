//! The effects of an operation that are more than reading, adding and changing, each with the words that show it (R-DIS-4b).
//!
//! Four places are read: the verb that begins the name, what the name and the first sentence say is added or changed, the
//! verbs of the whole description, and the names of the parameters. What a server declares can only add to it:
//! `destructiveHint: false` is true of sending, paying and granting access.

use aquifer_protocol::category::Category;
use aquifer_protocol::effect::{Effect, Effects};

use super::sentences::{
    ARTICLES, PREPOSITIONS, SentenceWord, contains, sentence_words, sentences, shortened, singular, word_before,
};
use super::statements::{self, is_excluded, is_passive};
use super::verbs::{VerbEffect, base_of_sentence_word, effect_of_word, is_empty_verb};
use super::words::{self, Place};
use super::{OwnPrefix, Subject};
use crate::text::first_sentence;

/// What is shown of things, at the end of names that begin with the thing: `post_stats`.
const VIEWS: &str =
    "count details exists history info list log logs metrics schema statistics stats status summary tree";

/// A verb for which a person has to agree, even if it may be a noun: `post_message` and `share_report`, but not `post_stats`
/// or `order_list`. It begins the name, or follows words that are no verbs and is none but a verb: `frobnicate_share_note`.
pub(super) fn find_leading(name: &str, prefix: &OwnPrefix) -> Option<String> {
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let words = words.get(prefix.count_words(&words)..)?;
    let is_known = |word: &&str| effect_of_word(word).is_some() || words::effect(Place::Verb, word).is_some();
    let at = words.iter().position(is_known)?;
    let (verb, after) = words.get(at..)?.split_first()?;
    let is_noun = words::effect(Place::Object, verb).is_some();
    let is_shown = is_noun && (at > 0 || after.last().is_some_and(|last| contains(VIEWS, last)));
    let acts = words::effect(Place::Verb, verb).is_some_and(Effect::needs_person);
    (acts && !is_shown && !is_empty_verb(verb)).then(|| (*verb).to_owned())
}

/// What is found about a subject.
struct Finder<'a> {
    subject: Subject<'a>,
    effects: Effects,
}

/// Finds the effects of an operation in this category. `prefix` is how names of its source begin.
pub(super) fn find(subject: Subject<'_>, category: Category, prefix: &OwnPrefix) -> Effects {
    let mut finder = Finder { subject, effects: Effects::default() };
    let words: Vec<&str> = subject.name.split('_').filter(|word| !word.is_empty()).collect();
    let words = words.get(prefix.count_words(&words)..).unwrap_or_default();
    if category == Category::Read {
        finder.add(Effect::Reads, "it only reads");
        return finder.effects;
    }
    finder.read_name(words);
    finder.read_description();
    finder.read_parameters();
    finder.read_hints(words);
    finder.add_category(category);
    finder.effects
}

impl Finder<'_> {
    fn add(&mut self, effect: Effect, evidence: impl Into<String>) {
        self.effects.add(effect, evidence.into());
    }

    /// The verb that leads the name, the verbs joined to it, and what they are about.
    fn read_name(&mut self, words: &[&str]) {
        let is_firm =
            |word: &&str| effect_of_word(word).is_some_and(|(effect, firm)| firm && effect != VerbEffect::Reads);
        let at = words.iter().position(is_firm).unwrap_or_default();
        let Some((verb, after)) = words.get(at..).and_then(<[&str]>::split_first) else { return };
        self.read_verb(verb, "its name says");
        let mut objects = after;
        while let ["and" | "or" | "then", joined, rest @ ..] = objects {
            self.read_verb(joined, "its name says");
            objects = rest;
        }
        for pair in objects.windows(2).filter(|pair| matches!(pair, ["and" | "or" | "then", _])) {
            self.read_verb(pair.last().unwrap_or(&""), "its name says");
        }
        // What is removed is neither sent nor paid.
        if words::effect(Place::Verb, verb) == Some(Effect::Removes) {
            return;
        }
        let is_known = effect_of_word(verb).is_some() || words::effect(Place::Verb, verb).is_some();
        match (is_known, objects.is_empty()) {
            (true, false) => self.read_object(objects, "its name says", verb),
            // `message_create`
            (true, true) => self.read_object(words.get(..at).unwrap_or_default(), "its name says", verb),
            // An unknown verb may do anything with what it is about: `frobnicate_payment`.
            (false, _) => self.read_object(words, "its name says", ""),
        }
    }

    fn read_verb(&mut self, verb: &str, place: &str) {
        if let Some(effect) = words::effect(Place::Verb, verb) {
            self.add(effect, format!("{place} '{verb}'"));
        }
    }

    /// What is added or changed: the last word before a preposition.
    fn read_object(&mut self, words: &[&str], place: &str, verb: &str) {
        let end = words.iter().position(|word| contains(PREPOSITIONS, word)).unwrap_or(words.len());
        let (phrase, rest) = words.split_at(end);
        let Some((head, qualifiers)) = phrase.split_last() else { return };
        let singular = singular(head);
        let qualified = qualifiers.last().map(|qualifier| format!("{qualifier} {singular}"));
        let candidates = [
            (qualified.as_deref(), Place::Object),
            (Some(singular), Place::Object),
            (Some(singular).filter(|_| qualifiers.is_empty()), Place::ObjectAlone),
        ];
        let found = candidates.into_iter().find_map(|(word, place)| Some((word?, words::effect(place, word?)?)));
        // What was sent can be changed without sending it again.
        let is_sent_again = !matches!(effect_of_word(verb), Some((VerbEffect::Updates, _)));
        if let Some((word, effect)) = found.filter(|(_, effect)| *effect != Effect::Sends || is_sent_again) {
            self.add(effect, format!("{place} '{word}'"));
        }
        // `add_user_to_channel` gives access to the channel.
        let is_added = matches!(verb, "add" | "assign" | "join" | "attach" | "move" | "put" | "set");
        let is_person = words::effect(Place::Person, singular).is_some();
        if is_added && is_person && rest.first().is_some_and(|word| matches!(*word, "to" | "into")) {
            self.add(Effect::Grants, format!("{place} '{verb} … {head} to'"));
        }
    }

    /// Every sentence of the description: what it says is done, automatically or besides.
    fn read_description(&mut self) {
        let description = shortened(self.subject.description);
        let first = first_sentence(description);
        let words = sentence_words(first);
        let plain: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        if let Some((verb, rest)) = plain.split_first() {
            let base = base_of_sentence_word(verb);
            if effect_of_word(&base).is_some_and(|(effect, _)| effect.is_write()) {
                let skipped = rest
                    .iter()
                    .take_while(|word| {
                        contains(ARTICLES, word)
                            || contains("and or", word)
                            || effect_of_word(word).is_some_and(|(effect, firm)| firm && effect.is_write())
                    })
                    .count();
                let until = words
                    .iter()
                    .skip(1 + skipped)
                    .position(|word| word.ends_phrase)
                    .map_or(rest.len(), |at| (skipped + at + 1).min(rest.len()));
                let object = rest.get(skipped..until).unwrap_or_default();
                self.read_object(object, "its description says", &base);
            }
        }
        for (index, sentence) in sentences(description).enumerate() {
            self.read_sentence(&sentence_words(sentence), index == 0);
        }
    }

    fn read_sentence(&mut self, words: &[SentenceWord], is_first: bool) {
        for (index, word) in words.iter().enumerate().filter(|(_, word)| !word.is_code) {
            let before = |distance: usize| word_before(words, index, distance);
            let base = base_of_sentence_word(&word.text);
            if let Some(effect) = words::effect(Place::Verb, &base) {
                let is_third_person = base != word.text;
                let is_lead = index == 0 || (is_first && index == 1 && before(1).ends_with("ly"));
                let beside = if before(1).ends_with("ly") { before(2) } else { before(1) };
                let is_joined = contains(statements::JOINING, beside) || contains(statements::AUXILIARIES, beside);
                let is_said = (is_lead && (is_first || is_third_person)) || is_joined;
                if is_said && !is_excluded(words, index) {
                    self.add(effect, format!("its description says '{}'", word.text));
                }
            }
            if let Some(effect) = words::effect(Place::Participle, &word.text)
                && is_passive(words, index)
                && !is_excluded(words, index)
            {
                self.add(effect, format!("its description says '{} {}'", before(1), word.text));
            }
        }
        for statement in statements::in_sentence(words, is_first) {
            if let Some(effect) = statement.effect {
                self.add(effect, format!("its description says '{}'", statement.text));
            }
        }
    }

    /// Parameters that say where something goes, and parameters that only such operations have.
    fn read_parameters(&mut self) {
        let parameters = self.subject.parameters;
        let has = |place: Place| parameters.iter().copied().find(|name| words::effect(place, name).is_some());
        let effect_of = |place: Place, name: &str| words::effect(place, name);
        for name in parameters {
            if let Some(effect) = effect_of(Place::Parameter, name) {
                self.add(effect, format!("it takes '{name}'"));
            }
            if effect_of(Place::Destination, name).is_some() {
                self.effects.destinations.push((*name).into());
            }
        }
        // An amount alone may be anything; with an account it is money.
        if let (Some(amount), Some(account)) = (has(Place::Amount), has(Place::Account)) {
            self.add(Effect::Pays, format!("it takes '{amount}' and '{account}'"));
        }
        // `to` may be the end of a period; with a text it is who gets the text.
        if let (Some(text), Some(to)) = (has(Place::Text), parameters.iter().find(|name| **name == "to")) {
            self.add(Effect::Sends, format!("it takes '{to}' and '{text}'"));
            self.effects.destinations.push((*to).into());
        }
        if let (Some(role), Some(person)) = (has(Place::Role), has(Place::Person)) {
            self.add(Effect::Grants, format!("it takes '{role}' and '{person}'"));
        }
    }

    /// What the server declares adds evidence where the words leave it open.
    fn read_hints(&mut self, words: &[&str]) {
        let hints = self.subject.annotations;
        if hints.destructive == Some(true) {
            self.add(Effect::Removes, "the server declares it destructive");
        }
        if hints.open_world == Some(true) {
            let soft = words.iter().find(|word| words::effect(Place::OpenWorld, singular(word)).is_some());
            if let Some(word) = soft {
                self.add(
                    Effect::Sends,
                    format!("its name says '{word}', and the server declares that it acts outside"),
                );
            }
        }
    }

    fn add_category(&mut self, category: Category) {
        let (effect, evidence) = match category {
            Category::Create => (Effect::Adds, "its words say that it adds something"),
            Category::Update => (Effect::Changes, "its words say that it changes something"),
            Category::Delete => (Effect::Removes, "its words say that it removes something"),
            Category::Read | Category::Execute => return,
        };
        self.add(effect, evidence);
    }
}
