//! Summarizes the sources of a catalog: `github (issues, pull requests), shop (orders, customers)`.

use std::collections::HashMap;

use crate::operation::Operation;

/// Words in operation names that denote the action, not its object.
const VERBS: &[&str] = &[
    "add", "analyze", "append", "approve", "archive", "assign", "browse", "call", "cancel", "check", "close",
    "connect", "convert", "copy", "create", "delete", "describe", "disable", "download", "edit", "enable", "execute",
    "export", "fetch", "find", "fork", "get", "import", "insert", "lint", "list", "manage", "mark", "merge", "move",
    "open", "patch", "play", "post", "promote", "publish", "push", "put", "query", "read", "remove", "rename",
    "replace", "resolve", "retrieve", "retry", "run", "search", "send", "set", "show", "start", "stop", "submit",
    "sync", "take", "test", "toggle", "update", "upload", "upsert", "validate", "verify", "view", "wait", "write",
];

/// Words that carry no information.
const FILLERS: &[&str] =
    &["a", "all", "an", "and", "api", "by", "for", "from", "in", "my", "new", "of", "or", "the", "to", "with"];

/// Maximum number of resources named for one source.
const MAX_THINGS: usize = 6;

/// The sources of these operations, each with the resources that most of its operations act on, in about `max_chars` at
/// most. Every source is listed before any source gets a second resource.
pub(super) fn systems<'a>(operations: impl Iterator<Item = &'a Operation>, max_chars: usize) -> String {
    let mut sources: Vec<System<'a>> = Vec::new();
    for operation in operations.filter(|operation| !operation.class().describes_catalog()) {
        let place = sources.iter().position(|system| system.name == &*operation.origin.source);
        let place = place.unwrap_or_else(|| {
            sources.push(System { name: &operation.origin.source, counts: HashMap::new() });
            sources.len() - 1
        });
        if let (Some(system), Some(thing)) = (sources.get_mut(place), thing(operation)) {
            *system.counts.entry(thing).or_default() += 1;
        }
    }
    let mut length = 0;
    let fitting = sources.iter().take_while(|system| {
        let is_first = length == 0;
        length += system.name.len() + 2;
        is_first || length <= max_chars
    });
    let kept = fitting.count();
    let left_out = sources.split_off(kept).len();
    let things: Vec<Vec<String>> = sources.iter().map(System::things).collect();
    let mut shown = vec![0_usize; sources.len()];
    length = sources.iter().map(|system| system.name.len() + 2).sum();
    for round in 0..MAX_THINGS {
        for (things, shown) in things.iter().zip(&mut shown) {
            // The first resource of a source adds parentheses and dots.
            let marks = if round == 0 { 6 } else { 2 };
            // A resource that does not fit ends the list of its source, so that the listed ones are always the most
            // frequent.
            let fits = |thing: &&String| *shown == round && length + thing.len() + marks <= max_chars;
            if let Some(thing) = things.get(round).filter(fits) {
                length += thing.len() + marks;
                *shown += 1;
            }
        }
    }
    let mut named = Vec::new();
    for ((system, things), shown) in sources.iter().zip(&things).zip(shown) {
        let more = if shown < things.len() { ", …" } else { "" };
        let things = things.get(..shown).unwrap_or_default().join(", ");
        named.push(match (system.name.is_empty(), shown) {
            (_, 0) => system.name.to_owned(),
            (true, _) => format!("{things}{more}"),
            (false, _) => format!("{} ({things}{more})", system.name),
        });
    }
    let named = named.join(", ");
    match left_out {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

struct System<'a> {
    name: &'a str,
    counts: HashMap<String, usize>,
}

impl System<'_> {
    /// The resources that its operations act on, the most frequent first.
    fn things(&self) -> Vec<String> {
        let mut things: Vec<(&String, usize)> = self.counts.iter().map(|(thing, count)| (thing, *count)).collect();
        things.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        things.into_iter().map(|(thing, _)| thing.clone()).collect()
    }
}

/// The resource that an operation acts on: the words of its name without the verb, in the singular.
fn thing(operation: &Operation) -> Option<String> {
    let words = operation.origin.own_name.split('_').filter(|word| !word.is_empty());
    let mut words: Vec<&str> = words.skip_while(|word| FILLERS.contains(word)).collect();
    // The verb is first or last: `create_merge_request`, `pods_delete`.
    if words.len() > 1 && words.first().is_some_and(|word| VERBS.contains(word)) {
        words.remove(0);
    } else if words.len() > 1 && words.last().is_some_and(|word| VERBS.contains(word)) {
        words.pop();
    }
    words.retain(|word| !FILLERS.contains(word));
    // The name of the source adds nothing, and further words denote a part: `issue_comment` belongs to issues.
    if words.len() > 1 && words.first().is_some_and(|word| *word == &*operation.origin.source) {
        words.remove(0);
    }
    words.truncate(2);
    let last = words.pop()?;
    let singular = match last.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None if last.len() < 4 || last.ends_with("ss") || last.ends_with("us") => last.to_owned(),
        None => last.strip_suffix('s').unwrap_or(last).to_owned(),
    };
    words.push(&singular);
    Some(words.join(" "))
}
