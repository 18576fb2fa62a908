//! Generators of messages for the properties.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Fragments that combine in ways that hand-written cases do not cover.
const FRAGMENTS: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    " ",
    "\n",
    "\"id\":",
    "\"method\":",
    "\"params\":{",
    "\"arguments\":",
    "\"a\"",
    "\"\\u0061\":1",
    "\\ud800",
    "\\udc00",
    "\\u00",
    "\\n",
    "é",
    "\u{1}",
    "1",
    "-",
    "0",
    ".5",
    "e9",
    "1e400",
    "99999999999999999999",
    "true",
    "nul",
    "\u{feff}",
];

pub(super) fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..16)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), select(vec!["id", "method", "params", "arguments", "a"]).prop_map(String::from)]
}

/// Random bytes, fragments, and valid messages with one byte changed, inserted or removed.
pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec(select(FRAGMENTS.to_vec()), 0..24).prop_map(|all| all.concat().into_bytes());
    let bruised = (value(), any::<bool>(), any::<Index>(), select(b"{}[],:\"\\ 0e-.u\x01\xff".to_vec()), 0..4u8)
        .prop_map(|(value, framed, at, byte, how)| {
            let value = if framed { json!({"method": "m", "params": {"arguments": value}, "id": 1}) } else { value };
            let mut bytes = value.to_string().into_bytes();
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => {}
            }
            bytes
        });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..200), fragments, bruised]
}

/// The members of a message, in any order.
pub(super) fn members() -> impl Strategy<Value = Vec<(String, Value)>> {
    let id = prop_oneof![any::<i64>().prop_map(Value::from), ".{0,40}".prop_map(Value::from)];
    let others = prop::collection::vec(("x_[a-z]{0,4}", value()), 0..3);
    (id, ".{0,40}", value(), others)
        .prop_map(|(id, method, params, mut members)| {
            members.push(("id".into(), id));
            members.push(("method".into(), method.into()));
            members.push(("params".into(), params));
            members
        })
        .prop_shuffle()
}
