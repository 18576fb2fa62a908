//! Requirements of several parameters in signatures: `one of: id | owner+repo`.

use std::sync::Arc;

use super::notation::plain_or_quoted;
use crate::requirement::{Needs, Requirement};

/// The maximum number of alternatives, and of names in one of them.
const MAX_NAMED: usize = 8;

/// The maximum length of a name.
const MAX_NAME_CHARS: usize = 64;

/// A requirement, as in a signature.
pub(super) fn requirement_notation(requirement: &Requirement) -> String {
    let written = |name: &Arc<str>| {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        match &requirement.within {
            Some(within) => format!("{within}.{}", plain_or_quoted(&name)),
            None => plain_or_quoted(&name),
        }
    };
    match &requirement.needs {
        Needs::OneOf(sets) => {
            let together = |set: &Vec<Arc<str>>| listed(set.iter().map(written), "+");
            format!("one of: {}", listed(sets.iter().map(together), " | "))
        }
        Needs::AtLeast { count, names } => format!("at least {count} of: {}", listed(names.iter().map(written), " | ")),
    }
}

/// The first few words, and an ellipsis if there are more.
fn listed(words: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let is_complete = words.len() <= MAX_NAMED;
    let ellipsis = (!is_complete).then(|| "…".to_owned());
    words.take(MAX_NAMED).chain(ellipsis).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_or_quoted_and_few() {
        let sets = |names: &[&[&str]]| {
            Needs::OneOf(names.iter().map(|set| set.iter().map(|name| (*name).into()).collect()).collect())
        };
        let one = Requirement { within: None, needs: sets(&[&["id"], &["owner", "repo"]]) };
        assert_eq!(requirement_notation(&one), "one of: id | owner+repo");
        let one = Requirement { within: Some("input".into()), needs: sets(&[&["a b"], &["c"]]) };
        assert_eq!(requirement_notation(&one), "one of: input.\"a b\" | input.c");
        let names = (0..30).map(|number| format!("n{number}").into()).collect();
        let many = Requirement { within: None, needs: Needs::AtLeast { count: 2, names } };
        assert_eq!(requirement_notation(&many), "at least 2 of: n0 | n1 | n2 | n3 | n4 | n5 | n6 | n7 | …");
    }
}
