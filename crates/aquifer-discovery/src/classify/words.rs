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

static WORDS: LazyLock<HashMap<(Place, &str), Effect>> = LazyLock::new(|| entries().collect());

fn entries() -> impl Iterator<Item = ((Place, &'static str), Effect)> {
    let lines = include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entries = lines.filter_map(|line| {
        let (kind, words) = line.split_once(':')?;
        let (effect, place) = kind.split_once(' ')?;
        let effect = Effect::from_name(effect)?;
        let place = Place::ALL.into_iter().find(|(_, name)| *name == place)?.0;
        Some(words.split(',').map(move |word| ((place, word.trim()), effect)))
    });
    entries.flatten()
}

/// The effect that a word shows in this place.
pub(super) fn effect(place: Place, word: &str) -> Option<Effect> {
    WORDS.get(&(place, word)).copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn r_dis_4b_every_line_of_the_table_is_read_and_no_word_is_listed_twice() {
        let lines = include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let written: usize = lines.map(|line| line.split_once(':').unwrap().1.split(',').count()).sum();
        assert_eq!(entries().count(), written, "a line has an unknown effect or place");
        let mut seen = HashSet::new();
        for (key, _) in entries() {
            assert!(!key.1.is_empty() && seen.insert(key), "{key:?} is listed twice");
        }
    }
}
