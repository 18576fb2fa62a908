//! Verbs in paths: `GET /users/{id}/delete`, `/device/reboot`.
//!
//! Most words of a path are nouns, even those that are verbs elsewhere (`/store/inventory`). Verbs are recognized in
//! two positions: a verb of removing at the edge of any segment, and any other verb in the last segment.

use aquifer_discovery::classify::{self, Subject};
use aquifer_discovery::tool::Annotations;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;

use super::{Effects, Evidence, READING_WORDS, begins_with_reading, effects};
use crate::route::Method;

/// Verbs of removing that are often joined with another word without a separator: `deleteuser`.
const JOINED: &[&str] = &["delete", "remove", "destroy", "purge"];

/// Endings that turn such a word into something other than a verb: `deleted`, `removes`.
const ENDINGS: &[&str] = &["d", "s", "r", "rs"];

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
pub(super) fn judge(evidence: Evidence<'_>, judged: &Effects) -> Option<Effects> {
    let method = evidence.method;
    if method == Method::Delete {
        return None;
    }
    let segments = literal_segments(evidence.path);
    let is_read = method.is_safe() || judged.category == Category::Read;
    if let Some(verb) = segments.iter().find_map(|segment| removing_word(segment)) {
        let doubt = format!("its path says '{verb}'");
        let category = if is_read { Category::Delete } else { judged.category };
        let is_idempotent = judged.is_idempotent;
        return Some(Effects {
            doubt: Some(doubt.clone()),
            ..effects(category, Danger::Destructive, doubt, is_idempotent)
        });
    }
    let last = segments.last().filter(|_| method.is_safe())?;
    let decision = classify::classify(subject(last));
    decision.review_reasons.first()?;
    if begins_with_reading(evidence.description) || evidence.id.is_some_and(|id| says_reading(id, evidence.path)) {
        return None;
    }
    let doubt = format!("{} should only read, but its path ends with '{last}'", method.as_str());
    let (danger, _) = classify::danger(subject(last), decision.category, true);
    Some(Effects { doubt: Some(doubt.clone()), ..effects(decision.category, danger, doubt, judged.is_idempotent) })
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
