//! A small language for the shapes of JSON values, just large enough for what the specification publishes.

use serde_json::{Map, Value};

/// The shape of a value.
pub(crate) enum Shape {
    /// Any value.
    Any,
    /// Text.
    Text,
    /// Text that is not empty. The published schemas often allow empty text where it would be useless.
    Word,
    /// Text of a published pattern.
    Pattern(&'static TextPattern),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A number of this size or more, if there is a minimum.
    Number(Option<u64>),
    /// An integer of this size or more.
    Integer(u64),
    /// Null.
    Null,
    /// A list of anything.
    AnyList,
    /// A list whose items have this shape.
    List(&'static Shape),
    /// An object with any members.
    AnyObject,
    /// An object with known members.
    Object(&'static ObjectShape),
    /// This shape, or null.
    Nullable(&'static Shape),
    /// Objects that are told apart by the text of one member.
    Tagged {
        /// The member.
        tag: &'static str,
        /// The shapes, with the text of that member.
        variants: &'static [(&'static str, &'static ObjectShape)],
    },
    /// This boolean.
    Constant(bool),
}

/// A pattern for text, as a function.
pub(crate) struct TextPattern {
    /// What it asks for.
    pub(crate) words: &'static str,
    pub(crate) matches: fn(&str) -> bool,
}

/// An object with known members.
pub(crate) struct ObjectShape {
    /// Its members.
    pub(crate) members: &'static [Member],
    /// Whether other members are allowed.
    pub(crate) open: bool,
}

/// A member of an object.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
}

/// A member that must be there.
pub(super) const fn required(name: &'static str, shape: Shape) -> Member {
    Member { name, required: true, shape }
}

/// A member that may be missing.
pub(super) const fn optional(name: &'static str, shape: Shape) -> Member {
    Member { name, required: false, shape }
}

/// An object without further members.
pub(super) const fn closed(members: &'static [Member]) -> ObjectShape {
    ObjectShape { members, open: false }
}

/// An object that may have further members.
pub(super) const fn open(members: &'static [Member]) -> ObjectShape {
    ObjectShape { members, open: true }
}

/// Lists the differences between a value and a shape, each with its path: `parameters.2: 'name' is missing`.
pub(crate) fn differences(value: &Value, shape: &Shape) -> Vec<String> {
    let mut found = Vec::new();
    check(value, shape, &mut Vec::new(), &mut found);
    found
}

fn check(value: &Value, shape: &Shape, path: &mut Vec<String>, found: &mut Vec<String>) {
    if let Shape::Nullable(shape) = shape {
        if !value.is_null() {
            check(value, shape, path, found);
        }
        return;
    }
    if let Some(expected) = mismatch(value, shape) {
        let subject = path.pop().map_or_else(
            || "it".to_owned(),
            |last| {
                let subject = format!("'{last}'");
                path.push(last);
                subject
            },
        );
        found.push(with_path(parent(path), &format!("{subject} is not {expected}")));
        return;
    }
    match (value, shape) {
        (Value::Array(items), Shape::List(shape)) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                check(item, shape, path, found);
                path.pop();
            }
        }
        (Value::Object(members), Shape::Object(object)) => check_members(members, object, path, found),
        (Value::Object(members), Shape::Tagged { tag, variants }) => {
            let text = members.get(*tag).and_then(Value::as_str).unwrap_or_default();
            match variants.iter().find(|(name, _)| *name == text) {
                Some((_, object)) => check_members(members, object, path, found),
                None => {
                    let names: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
                    found.push(with_path(path, &format!("'{tag}' is not one of {}", names.join(", "))));
                }
            }
        }
        _ => {}
    }
}

fn check_members(members: &Map<String, Value>, object: &ObjectShape, path: &mut Vec<String>, found: &mut Vec<String>) {
    for member in object.members {
        match members.get(member.name) {
            None if member.required => found.push(with_path(path, &format!("'{}' is missing", member.name))),
            None => {}
            Some(value) => {
                path.push(member.name.to_owned());
                check(value, &member.shape, path, found);
                path.pop();
            }
        }
    }
    if !object.open {
        let is_known = |key: &str| object.members.iter().any(|member| member.name == key);
        for key in members.keys().filter(|key| !is_known(key)) {
            found.push(with_path(path, &format!("'{key}' is not a published member")));
        }
    }
}

/// What the shape asks for, if the value itself, without what is inside, is something else.
fn mismatch(value: &Value, shape: &Shape) -> Option<String> {
    let (fits, expected) = match shape {
        Shape::Any | Shape::Nullable(_) => (true, ""),
        Shape::Text => (value.is_string(), "text"),
        Shape::Word => (value.as_str().is_some_and(|text| !text.is_empty()), "text that is not empty"),
        Shape::Pattern(pattern) => (value.as_str().is_some_and(pattern.matches), pattern.words),
        Shape::OneOf(words) => {
            let fits = value.as_str().is_some_and(|text| words.contains(&text));
            return (!fits).then(|| format!("one of {}", words.join(", ")));
        }
        Shape::Flag => (value.is_boolean(), "true or false"),
        Shape::Number(None) => (value.is_number(), "a number"),
        Shape::Number(Some(minimum)) => {
            let fits = value.as_f64().is_some_and(|number| number >= *minimum as f64);
            return (!fits).then(|| format!("a number, {minimum} or more"));
        }
        Shape::Integer(minimum) => {
            // 3.0 is an integer in JSON Schema.
            let is_whole = |number: f64| number.fract() == 0.0 && number >= *minimum as f64;
            let fits = value.as_f64().is_some_and(is_whole);
            return (!fits).then(|| format!("an integer, {minimum} or more"));
        }
        Shape::Null => (value.is_null(), "null"),
        Shape::AnyList | Shape::List(_) => (value.is_array(), "a list"),
        Shape::AnyObject | Shape::Object(_) | Shape::Tagged { .. } => (value.is_object(), "an object"),
        Shape::Constant(true) => (*value == Value::Bool(true), "true"),
        Shape::Constant(false) => (*value == Value::Bool(false), "false"),
    };
    (!fits).then(|| expected.to_owned())
}

fn parent(path: &[String]) -> &[String] {
    path.split_last().map_or(path, |(_, parent)| parent)
}

fn with_path(path: &[String], problem: &str) -> String {
    if path.is_empty() { problem.to_owned() } else { format!("{}: {problem}", path.join(".")) }
}

/// `snake_case`.
pub(crate) static SNAKE_CASE: TextPattern = TextPattern {
    words: "snake_case",
    matches: |text| {
        text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    },
};

/// `UPPER_SNAKE_CASE`.
pub(crate) static UPPER_SNAKE_CASE: TextPattern = TextPattern {
    words: "UPPER_SNAKE_CASE",
    matches: |text| {
        text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    },
};

/// A version: `1.0.0-draft`.
pub(super) static VERSION: TextPattern = TextPattern {
    words: "a version such as 1.0.0-draft",
    matches: |text| {
        let (numbers, suffix) = text.split_once('-').map_or((text, None), |(numbers, rest)| (numbers, Some(rest)));
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        let is_suffix =
            |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
        numbers.split('.').count() == 3 && numbers.split('.').all(is_number) && suffix.is_none_or(is_suffix)
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    static INNER: ObjectShape = closed(&[required("name", Shape::Word), optional("size", Shape::Integer(1))]);
    static OUTER: ObjectShape = closed(&[
        required("kind", Shape::OneOf(&["a", "b"])),
        optional("items", Shape::List(&Shape::Object(&INNER))),
        optional("version", Shape::Pattern(&VERSION)),
        optional("more", Shape::Nullable(&Shape::Object(&INNER))),
    ]);

    #[test]
    fn differences_have_their_path() {
        for (value, expected) in [
            (json!({"kind": "a"}), vec![]),
            (json!({"kind": "a", "items": [{"name": "x", "size": 1.0}], "more": null}), vec![]),
            (json!([]), vec!["it is not an object"]),
            (json!({"kind": "c"}), vec!["'kind' is not one of a, b"]),
            (json!({"extra": 1}), vec!["'kind' is missing", "'extra' is not a published member"]),
            (
                json!({"kind": "a", "items": [{"name": "x"}, {"name": "", "size": 0}]}),
                vec!["items.1: 'name' is not text that is not empty", "items.1: 'size' is not an integer, 1 or more"],
            ),
            (json!({"kind": "a", "items": ["x"]}), vec!["items: '0' is not an object"]),
            (json!({"kind": "a", "more": {}}), vec!["more: 'name' is missing"]),
            (json!({"kind": "a", "version": "1.0"}), vec!["'version' is not a version such as 1.0.0-draft"]),
        ] {
            assert_eq!(differences(&value, &Shape::Object(&OUTER)), expected, "{value}");
        }
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, yes, no) in [
            (&SNAKE_CASE, &["a", "a_1"][..], &["", "A", "1a", "a-b", "_a", "aB"][..]),
            (&UPPER_SNAKE_CASE, &["A", "A_1"], &["", "a", "1A", "A-B", "_A"]),
            (&VERSION, &["1.0.0", "1.0.0-draft", "10.2.3-a.b-1"], &["", "1.0", "1.0.0-", "v1.0.0", "1..0", "1.0.0+x"]),
        ] {
            assert!(yes.iter().all(|text| (pattern.matches)(text)), "{}", pattern.words);
            assert!(!no.iter().any(|text| (pattern.matches)(text)), "{}", pattern.words);
        }
    }
}
