//! Compares the members of an object with the published ones.

use serde_json::Value;

/// The type of a member.
#[derive(Clone, Copy)]
pub(crate) enum MemberType {
    /// Text.
    Text,
    /// Non-empty text.
    Word,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A non-negative integer.
    Length,
    /// A list.
    List,
    /// An object.
    Object,
    /// Anything.
    Anything,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

impl MemberType {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Word => value.as_str().is_some_and(|text| !text.is_empty()),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Length => value.is_u64(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::Anything => true,
            Self::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        }
    }

    fn words(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Word => "text that is not empty".into(),
            Self::Flag => "true or false".into(),
            Self::Number => "a number".into(),
            Self::Length => "a non-negative integer".into(),
            Self::List => "a list".into(),
            Self::Object => "an object".into(),
            Self::Anything => "anything".into(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// A member: its name, whether it is required, and its type.
pub(crate) type Member = (&'static str, bool, MemberType);

/// A parameter, or a field of a type.
pub(crate) const PARAMETER: &[Member] = &[
    ("name", true, MemberType::Word),
    ("type", true, MemberType::Word),
    ("required", true, MemberType::Flag),
    ("description", false, MemberType::Text),
    ("default", false, MemberType::Anything),
    ("enum", false, MemberType::List),
    ("minimum", false, MemberType::Number),
    ("maximum", false, MemberType::Number),
    ("minLength", false, MemberType::Length),
    ("maxLength", false, MemberType::Length),
    ("pattern", false, MemberType::Text),
    ("format", false, MemberType::Text),
    ("items", false, MemberType::Object),
    ("sensitive", false, MemberType::Flag),
];

/// Lists the differences from the published members.
pub(crate) fn differences(value: &Value, members: &[Member]) -> Vec<String> {
    let Some(object) = value.as_object() else { return vec!["it is not an object".into()] };
    let mut found = Vec::new();
    for (name, required, is) in members {
        match object.get(*name) {
            None if *required => found.push(format!("'{name}' is missing")),
            Some(value) if !is.fits(value) => found.push(format!("'{name}' is not {}", is.words())),
            _ => {}
        }
    }
    let known = |key: &str| members.iter().any(|(name, _, _)| *name == key);
    found.extend(object.keys().filter(|key| !known(key)).map(|key| format!("'{key}' is not a published member")));
    found
}

pub(crate) fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
