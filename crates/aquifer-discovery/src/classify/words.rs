//! The table of words, read from `words.txt`: which effect a word shows, and in which place.

use std::collections::HashMap;
use std::sync::LazyLock;

use aquifer_protocol::effect::Effect;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// It says what is done.
    Verb,
    /// It says what was done: "an email is sent".
    Participle,
    /// It says what is added or changed.
    Object,
    /// It says what is added or changed, and no other word belongs to it.
    ObjectAlone,
    /// It is who gets access, or the parameter that names them.
    Person,
    /// The name of a parameter that only such operations have.
    Parameter,
    /// The name of a parameter that says where something goes.
    Destination,
    /// The name of a parameter that contains an amount.
    Amount,
    /// The name of a parameter that says from where or where to money goes.
    Account,
    /// The name of a parameter that contains a text for somebody.
    Text,
    /// The name of a parameter that says what somebody may do.
    Role,
    /// A word that means sending if the server declares that it acts outside.
    OpenWorld,
}

impl Place {
    const ALL: [(Place, &str); 12] = [
        (Place::Verb, "verb"),
        (Place::Participle, "participle"),
        (Place::Object, "object"),
        (Place::ObjectAlone, "object-alone"),
        (Place::Person, "person"),
        (Place::Parameter, "parameter"),
        (Place::Destination, "destination"),
        (Place::Amount, "amount"),
        (Place::Account, "account"),
        (Place::Text, "text"),
        (Place::Role, "role"),
        (Place::OpenWorld, "open-world"),
    ];
}

/// A line of the table.
struct Entry {
    place: Place,
    effect: Effect,
    word: &'static str,
    /// Operations that have the effect because of the word.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for readers and for the test of the table"))]
    examples: &'static str,
}

static WORDS: LazyLock<HashMap<(Place, &str), Effect>> =
    LazyLock::new(|| entries().map(|entry| ((entry.place, entry.word), entry.effect)).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn entries() -> impl Iterator<Item = Entry> {
    let mut section = None;
    lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix('[') {
            section = read_heading(heading.trim_end_matches(']'));
            return None;
        }
        let (word, examples) = line.split_once(':')?;
        let (effect, place) = section?;
        Some(Entry { place, effect, word: word.trim(), examples: examples.trim() })
    })
}

fn read_heading(heading: &str) -> Option<(Effect, Place)> {
    let (effect, place) = heading.split_once(' ')?;
    let place = Place::ALL.into_iter().find(|(_, name)| *name == place)?.0;
    Some((Effect::from_name(effect)?, place))
}

/// The effect that a word shows in this place.
pub(super) fn effect(place: Place, word: &str) -> Option<Effect> {
    WORDS.get(&(place, word)).copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::HashSet;

    use aquifer_protocol::case::snake_identifier;

    use super::super::{OwnPrefix, Subject, classify, judge};
    use super::*;
    use crate::tool::Annotations;

    #[test]
    fn r_dis_4b_every_line_of_the_table_is_read_and_no_word_is_listed_twice() {
        let written = lines().filter(|line| !line.starts_with('[')).count();
        assert_eq!(entries().count(), written, "a line is not read");
        for heading in lines().filter_map(|line| line.strip_prefix('[')) {
            assert!(read_heading(heading.trim_end_matches(']')).is_some(), "[{heading} has an unknown effect or place");
        }
        let mut seen = HashSet::new();
        for Entry { place, word, .. } in entries() {
            assert!(!word.is_empty() && seen.insert((place, word)), "{place:?} {word} is listed twice");
        }
    }

    #[test]
    fn r_dis_4b_every_word_has_the_effect_in_its_examples() {
        for Entry { place, effect, word, examples } in entries() {
            assert!(!examples.is_empty(), "{word} has no example");
            for example in examples.split('|').map(str::trim) {
                let (name, description, parameters) = read_example(example);
                let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
                let open_world = (place == Place::OpenWorld).then_some(true);
                let annotations = Annotations { open_world, ..Annotations::default() };
                let subject = Subject { name: &name, description, parameters: &parameters, annotations };
                let effects = judge(subject, classify(subject).category, false, &OwnPrefix::default()).effects;
                let by_word = |evidence: &str| evidence.contains(word);
                let is_found = match place {
                    Place::Destination => effects.destinations.iter().any(|found| **found == *word),
                    _ => effects.iter().any(|found| found.effect == effect && by_word(&found.evidence)),
                };
                assert!(is_found, "{place:?} {word}: {example} has {effects:?}");
            }
        }
    }

    /// The name, the description and the parameters of an example.
    fn read_example(example: &str) -> (String, &str, Vec<String>) {
        if let Some(sentence) = example.strip_prefix('"') {
            return ("update_entry".to_owned(), sentence.trim_end_matches('"'), Vec::new());
        }
        let (name, parameters) = example.split_once('(').unwrap_or((example, ""));
        let parameters = parameters.trim_end_matches(')').split(',').map(|name| name.trim().to_owned());
        (snake_identifier(name), "", parameters.filter(|name| !name.is_empty()).collect())
    }
}
