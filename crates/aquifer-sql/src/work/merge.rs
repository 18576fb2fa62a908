//! Merges changes into JSON text (R-REQ-6): objects key by key, everything else is replaced, null removes. Untouched
//! values keep their exact text, so that no number loses a digit.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object, in order and unparsed.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Parses the members, if the text is an object.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// The text of a member.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.get())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// Merges a change into JSON text.
pub(super) fn merge(stored: Option<&str>, change: &Value) -> String {
    let Value::Object(changes) = change else { return change.to_string() };
    let stored = stored.and_then(|text| Members::parse(text.as_bytes())).unwrap_or(Members(Vec::new()));
    let mut members: Vec<(&str, String)> = Vec::new();
    for (name, value) in &stored.0 {
        match changes.get(name) {
            None => members.push((name, value.get().to_owned())),
            Some(Value::Null) => {}
            Some(change) => members.push((name, merge(Some(value.get()), change))),
        }
    }
    for (name, change) in changes.iter().filter(|(name, change)| !change.is_null() && stored.get(name).is_none()) {
        members.push((name, merge(None, change)));
    }
    let members: Vec<String> =
        members.into_iter().map(|(name, value)| format!("{}:{value}", Value::from(name))).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r_req_6_changes_are_merged_into_stored_json() {
        for (stored, change, expected) in [
            (r#"{"a":1,"b":{"c":[1,2],"d":2}}"#, json!({ "b": { "c": [3] } }), r#"{"a":1,"b":{"c":[3],"d":2}}"#),
            (r#"{"a": 1.0000000000000000001, "b": 2}"#, json!({ "b": null }), r#"{"a":1.0000000000000000001}"#),
            ("[1]", json!({ "x": { "y": null, "z": 1 } }), r#"{"x":{"z":1}}"#),
            ("5", json!("text"), "\"text\""),
            ("not json", json!({ "a": "\"" }), r#"{"a":"\""}"#),
        ] {
            assert_eq!(merge(Some(stored), &change), expected);
        }
    }
}
