//! Whether an operation needs a person only because of where it goes.

use aquifer_protocol::case::snake_case;
use aquifer_protocol::effect::{Effect, EffectSet, Effects, SettledBy};

use super::sentences::{SentenceWord, contains, sentence_words, sentences, singular};
use super::verbs::base_of_sentence_word;
use super::words::{self, Place};
use super::{OwnPrefix, Subject};

/// What makes it unnecessary to ask a person about a call. `is_harmless` says that nobody would have to agree if it sent
/// nothing.
pub(super) fn settled_by(subject: Subject<'_>, effects: &Effects, is_harmless: bool, prefix: &OwnPrefix) -> SettledBy {
    let only_sends: EffectSet = [Effect::Sends].into_iter().collect();
    if effects.set().for_person() != only_sends || effects.destinations.is_empty() {
        return SettledBy::Nothing;
    }
    let words: Vec<&str> = subject.name.split('_').filter(|word| !word.is_empty()).collect();
    // Whatever else such a name says may be done, too: `send_and_restart`, `send_gift_card`, `forward_calls`.
    if words.iter().any(|word| contains(MORE, word)) {
        return SettledBy::Nothing;
    }
    let first = words.get(prefix.count_words(&words)).copied().unwrap_or_default();
    if words::effect(Place::Verb, first) == Some(Effect::Sends) {
        return SettledBy::KnownDestinations;
    }
    let shown_by_name = words.iter().any(|word| {
        words::effect(Place::Verb, word) == Some(Effect::Sends)
            || words::effect(Place::Object, singular(word)) == Some(Effect::Sends)
    });
    match is_harmless {
        true if !shown_by_name && sends_only_to(&effects.destinations, subject.description) => {
            SettledBy::KnownOrNoDestinations
        }
        true => SettledBy::KnownDestinations,
        false => SettledBy::Nothing,
    }
}

/// Words of names that do more than send a text.
const MORE: &str =
    "and call calls card cards code coupon gift key keys or password signature signatures then token voucher vouchers";

/// Words that say that others get something, too.
const OTHERS: &str = "admin admins all and anybody anyone assignee company customer customers each entire every everybody everyone \
    followers group manager members not or organization owner owners people public subscribers team teams users watchers whole";

/// Whether every sentence that speaks of sending names one of these parameters, and nobody else: "sends an e-mail to the
/// participants".
fn sends_only_to(destinations: &[std::sync::Arc<str>], description: &str) -> bool {
    let sends = |word: &SentenceWord| {
        words::effect(Place::Verb, &base_of_sentence_word(&word.text)) == Some(Effect::Sends)
            || words::effect(Place::Participle, &word.text) == Some(Effect::Sends)
    };
    let names: Vec<String> = destinations.iter().map(|name| snake_case(name)).collect();
    let names_one = |word: &SentenceWord| names.iter().any(|name| singular(name) == singular(&word.text));
    sentences(description)
        .map(sentence_words)
        .filter_map(|mut words| {
            let sending = words.iter().position(sends)?;
            Some(words.split_off(sending))
        })
        .all(|rest| rest.iter().any(names_one) && !rest.iter().any(|word| contains(OTHERS, &word.text)))
}

#[cfg(test)]
mod tests {
    use aquifer_protocol::category::Category;

    use super::*;
    use crate::tool::Annotations;

    #[test]
    fn r_saf_8_only_sending_is_settled_by_where_it_goes() {
        use SettledBy::{KnownDestinations, KnownOrNoDestinations, Nothing};
        let create = Category::Create;
        for (name, description, parameters, destructive, expected) in [
            ("send_email", "Sends an e-mail.", &["recipients", "body"][..], None, KnownDestinations),
            ("send_email", "Sends an e-mail.", &["body"], None, Nothing),
            ("send_email", "Sends an e-mail.", &["recipients", "body"], Some(true), Nothing),
            ("send_money", "Sends money.", &["recipient", "amount"], Some(false), Nothing),
            ("send_invoice", "Sends it, and deletes the draft.", &["recipient"], Some(false), Nothing),
            ("create_event", "Creates an event.", &["title", "participants"], None, KnownOrNoDestinations),
            (
                "create_event",
                "Creates an event. It also sends an e-mail to the participants.",
                &["title", "participants"],
                Some(false),
                KnownOrNoDestinations,
            ),
            (
                "create_event",
                "Creates an event. It also sends an e-mail to the whole company.",
                &["title", "participants"],
                Some(false),
                KnownDestinations,
            ),
            (
                "create_event",
                "Creates an event. Sends an invitation to all team members and participants.",
                &["title", "participants"],
                Some(false),
                KnownDestinations,
            ),
            ("create_message", "Creates a message.", &["channel", "text"], Some(false), KnownDestinations),
            ("notify_and_restart", "Notifies and restarts.", &["recipients"], Some(false), Nothing),
            ("send_gift_card", "Sends a gift card.", &["recipient"], Some(false), Nothing),
            ("frobnicate", "Frobnicates it.", &["recipients"], None, Nothing),
        ] {
            let annotations = Annotations { destructive, ..Annotations::default() };
            let subject = Subject { name, description, parameters, annotations };
            let judged = super::super::judge(subject, create, false, &OwnPrefix::default());
            assert_eq!(judged.effects.settled_by, expected, "{name}: {description}");
            let in_doubt = super::super::judge(subject, create, true, &OwnPrefix::default());
            assert_eq!(in_doubt.effects.settled_by, Nothing, "{name}: {description}");
        }
    }
}
