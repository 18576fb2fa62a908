//! Verbs in paths: `GET /users/{id}/delete`, `/device/reboot`.
//!
//! Most words of a path are nouns, even those that are verbs elsewhere (`/store/inventory`). Verbs are recognized in
//! two positions: a verb of removing at the edge of any segment, and any other verb in the last segment.
//!
//! Before a parameter, a word that is also a noun is what the parameter identifies (`/order/{id}`).
//!
//! A word of removing that only names something (`/trash`, `/destroy_with_associated_resources`) is not counted if
//! everything else shows a read: the method, a declared result, the description, and the id. A segment that is nothing but
//! a verb (`/users/{id}/delete`) is always counted.

use aquifer_discovery::classify::{self, OwnPrefix, Subject};
use aquifer_discovery::tool::Annotations;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, Effects};

use super::{Evidence, Judgement, READING_WORDS, begins_with_reading, judgement};
use crate::route::Method;

/// Verbs of removing that are often joined with another word without a separator: `deleteuser`.
const JOINED: &[&str] = &["delete", "remove", "destroy", "purge"];

/// Endings that turn such a word into something other than a verb: `deleted`, `removes`.
const ENDINGS: &[&str] = &["d", "s", "r", "rs"];

/// Words of removing that are also places: a list of what was removed.
const PLACES: &[&str] = &["trash"];

/// How descriptions of reads begin that leave no doubt. What a removal `returns` may be what it removed.
const LISTING_WORDS: &[&str] = &[
    "check",
    "checks",
    "fetch",
    "fetches",
    "find",
    "finds",
    "get",
    "gets",
    "list",
    "lists",
    "retrieve",
    "retrieves",
    "search",
    "searches",
    "show",
    "shows",
    "view",
];

/// Whether a word is a verb of removing.
pub(super) fn is_removing(word: &str) -> bool {
    let is_joined =
        |verb: &&str| word.strip_prefix(*verb).is_some_and(|rest| !rest.is_empty() && !ENDINGS.contains(&rest));
    classify::classify(subject(word)).category == Category::Delete || JOINED.iter().any(is_joined)
}

/// A request that should only read, judged by its name alone.
fn subject(name: &str) -> Subject<'_> {
    let annotations = Annotations::for_method(Method::Get.as_str());
    Subject { name, description: "", parameters: &[], annotations }
}

/// The effects that the path of an operation indicates, if they are more severe than those found so far.
pub(super) fn judge(evidence: Evidence<'_>, judged: &Judgement) -> Option<Judgement> {
    let method = evidence.method;
    if method == Method::Delete {
        return None;
    }
    let segments = literal_segments(evidence.path);
    let is_read = method.is_safe() || judged.category == Category::Read;
    let is_verb = |segment: &&String| !names_something(segment, &segments, evidence);
    if let Some(verb) = segments.iter().filter(is_verb).find_map(|segment| removing_word(segment)) {
        let doubt = format!("its path says '{verb}'");
        let category = if is_read { Category::Delete } else { judged.category };
        let is_idempotent = judged.is_idempotent;
        let effects = Effects::only(Effect::Removes, &*doubt);
        return Some(Judgement {
            doubt: Some(doubt.clone()),
            ..judgement(category, Danger::Destructive, effects, doubt, is_idempotent)
        });
    }
    let last = segments.last().filter(|_| method.is_safe())?;
    // `/order/{id}` is an order, `/set-state/{id}` is not.
    let is_of_parameter = evidence.path.split('?').next().is_some_and(|path| path.trim_end_matches('/').ends_with('}'));
    if is_of_parameter && !classify::says_action(last) {
        return None;
    }
    let decision = classify::classify(subject(last));
    decision.review_reasons.first()?;
    if begins_with_reading(evidence.description) || evidence.id.is_some_and(|id| says_reading(id, evidence.path)) {
        return None;
    }
    let doubt = format!("{} should only read, but its path ends with '{last}'", method.as_str());
    let by_word = classify::judge(subject(last), decision.category, true, &OwnPrefix::default());
    Some(Judgement {
        doubt: Some(doubt.clone()),
        ..judgement(decision.category, by_word.danger, by_word.effects, doubt, judged.is_idempotent)
    })
}

/// Whether a segment with a word of removing only names something that is read.
fn names_something(segment: &str, segments: &[String], evidence: Evidence<'_>) -> bool {
    if !matches!(evidence.method, Method::Get | Method::Head) || !evidence.has_result || !is_described_as_read(evidence)
    {
        return false;
    }
    if PLACES.contains(&segment) {
        return true;
    }
    // `destroy_with_associated_resources`, but neither `delete` nor the last segment of an operation with such an id.
    let is_last = segments.last().is_some_and(|last| last == segment);
    let Some(id) = evidence.id.filter(|id| segment.contains('_') && says_reading(id, evidence.path)) else {
        return false;
    };
    !is_last || !id.split('_').any(is_removing)
}

/// Whether a description says that an operation reads, and nothing else.
fn is_described_as_read(evidence: Evidence<'_>) -> bool {
    let description = evidence.description;
    let first = description.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    LISTING_WORDS.contains(&first.as_str())
        && classify::classify(Subject { description, ..subject("get") }).review_reasons.is_empty()
}

/// The literal parts of a path in snake_case, without parameters.
fn literal_segments(path: &str) -> Vec<String> {
    let parts = path.split(['/', '?', '&', '=', '#', ':', ';', ',', '(', ')']);
    let literals = parts.map(|part| {
        // `{id}.json`, `{id}_delete`
        let mut literal = String::new();
        let mut rest = part;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            literal.push('_');
            rest = after.split_once('}').map_or("", |(_, after)| after);
        }
        literal.push_str(rest);
        snake_identifier(&literal)
    });
    literals.filter(|literal| !literal.is_empty()).collect()
}

/// The verb of removing at the beginning or the end of a segment.
fn removing_word(segment: &str) -> Option<&str> {
    let first = segment.split('_').next();
    let last = segment.rsplit('_').next();
    first.into_iter().chain(last).find(|word| is_removing(word))
}

/// Whether an id states that an operation reads, and is not only derived from the method and the path.
fn says_reading(id: &str, path: &str) -> bool {
    let in_path: Vec<String> = snake_identifier(path).split('_').map(stem).collect();
    let is_made_of_path = id.split('_').skip(1).all(|word| in_path.contains(&stem(word)));
    let is_writing = |word: &str| !classify::classify(subject(word)).review_reasons.is_empty();
    let is_verb = |word: &&str| READING_WORDS.contains(word) || is_writing(word);
    let first_verb = id.split('_').find(is_verb);
    !is_made_of_path && first_verb.is_some_and(|verb| READING_WORDS.contains(&verb))
}

fn stem(word: &str) -> String {
    word.trim_end_matches('s').to_owned()
}
