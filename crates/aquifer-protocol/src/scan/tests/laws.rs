//! Properties of the scanner, checked for generated messages.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::messages::{bytes, members, value};
use super::*;
use crate::limits::{BOUNDS, Bound};

/// A string as JSON text, with every character written as an escape if `spell` is set.
fn spelled(text: &str, spell: bool) -> String {
    if !spell {
        return Value::from(text).to_string();
    }
    let escapes: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escapes}\"")
}

fn salvaged<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> SalvagedMessage {
    let mut salvage = Salvage::new();
    chunks.into_iter().for_each(|chunk| salvage.push(chunk));
    salvage.finish()
}

/// The lowest limits that a value meets.
fn measured(value: &Value) -> Limits {
    let mut inner = Vec::new();
    let (mut string, mut array, mut depth) = (0, 0, 0);
    match value {
        Value::String(text) => string = text.len(),
        Value::Array(elements) => {
            (array, depth) = (elements.len(), 1);
            inner.extend(elements.iter().map(measured));
        }
        Value::Object(members) => {
            (string, depth) = (members.keys().map(String::len).max().unwrap_or(0), 1);
            inner.extend(members.values().map(measured));
        }
        _ => {}
    }
    Limits {
        max_request_size: value.to_string().len(),
        max_response_size: 0,
        max_string_length: inner.iter().fold(string, |max, inner| max.max(inner.max_string_length)),
        max_array_elements: inner.iter().fold(array, |max, inner| max.max(inner.max_array_elements)),
        max_nesting_depth: inner.iter().fold(depth, |max, inner| max.max(inner.max_nesting_depth + 1)),
    }
}

/// The same limits with one of them lowered by one, for each limit that can be lowered.
fn one_tighter(exact: Limits) -> Vec<(LimitKind, Limits)> {
    let mut all = Vec::new();
    for Bound { kind, .. } in BOUNDS {
        let mut limits = exact;
        let limit = match kind {
            LimitKind::RequestSize => &mut limits.max_request_size,
            LimitKind::ResponseSize => &mut limits.max_response_size,
            LimitKind::StringLength => &mut limits.max_string_length,
            LimitKind::ArrayElements => &mut limits.max_array_elements,
            LimitKind::NestingDepth => &mut limits.max_nesting_depth,
        };
        if *limit > 0 {
            *limit -= 1;
            all.push((kind, limits));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn r_req_1_scan_and_serde_json_agree_on_what_json_is(bytes in bytes()) {
        let parsed = serde_json::from_slice::<Value>(&bytes);
        for frame in [Frame::Bare, Frame::Mcp] {
            match (scan(&bytes, frame, &Limits::default()), &parsed) {
                (Ok(()), parsed) => prop_assert!(parsed.is_ok(), "{parsed:?}"),
                (Err(Problem::DuplicateKey { .. } | Problem::NumberOutOfRange { .. }), _) => {}
                (Err(problem), parsed) => prop_assert!(parsed.is_err(), "{problem:?}"),
            }
        }
    }

    #[test]
    fn r_req_7_tight_limits_never_break_the_scan(bytes in bytes()) {
        for frame in [Frame::Bare, Frame::Mcp] {
            let strict = scan(&bytes, frame, &SMALL);
            if let Err(Problem::TooLarge { limit_value, actual_value, .. }) = strict {
                prop_assert!(actual_value > limit_value);
            } else {
                prop_assert_eq!(strict, scan(&bytes, frame, &Limits::default()));
            }
        }
    }

    #[test]
    fn r_req_1_whatever_serde_json_writes_is_accepted(value in value()) {
        let framed = json!({"jsonrpc": "2.0", "params": {"arguments": &value}, "id": 1});
        for (value, frame) in [(value, Frame::Bare), (framed, Frame::Mcp)] {
            let compact = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(scan(&compact, frame, &Limits::default()), Ok(()));
            let pretty = serde_json::to_vec_pretty(&value).unwrap();
            prop_assert_eq!(scan(&pretty, frame, &Limits::default()), Ok(()));
        }
    }

    #[test]
    fn r_req_7_a_request_is_refused_exactly_when_it_breaks_a_limit(value in value()) {
        let text = value.to_string();
        let exact = measured(&value);
        let framed = format!(r#"{{"id":"1","params":{{"name":"a","arguments":{text}}}}}"#);
        prop_assert_eq!(scan(text.as_bytes(), Frame::Bare, &exact), Ok(()));
        for (kind, limits) in one_tighter(exact) {
            let expected = too_large(kind, limits.get(kind), exact.get(kind));
            prop_assert_eq!(scan(text.as_bytes(), Frame::Bare, &limits), expected.clone());
            // The strings of the frame itself must not exceed the limit.
            if limits.max_string_length >= "arguments".len() {
                prop_assert_eq!(scan(framed.as_bytes(), Frame::Mcp, &limits), expected);
            }
        }
    }

    #[test]
    fn r_req_1_a_key_named_twice_is_found_however_it_is_spelled(
        names in prop::collection::hash_set(any::<String>(), 1..40),
        again in any::<Index>(),
        spellings in prop::collection::vec(any::<bool>(), 41),
    ) {
        let mut names: Vec<_> = names.into_iter().collect();
        let member = |(name, spell): (&String, &bool)| format!("{}:0", spelled(name, *spell));
        let unique: Vec<_> = names.iter().zip(&spellings).map(member).collect();
        let unique = unique.join(",");
        let message = format!("{{{unique}}}");
        prop_assert_eq!(scan(message.as_bytes(), Frame::Bare, &Limits::default()), Ok(()));

        names.push(names[again.index(names.len())].clone());
        let twice: Vec<_> = names.iter().zip(&spellings).map(member).collect();
        let shown: String = names.last().unwrap().chars().take(64).collect();
        let expected = duplicate(unique.len() + 2, &shown);
        for tail in ["}", "", ",\"x\":[1 2"] {
            let message = format!("{{{}{tail}", twice.join(","));
            let found = scan(message.as_bytes(), Frame::Bare, &Limits::default());
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn r_req_7_salvage_does_not_see_how_a_message_is_cut(
        bytes in bytes(),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
    ) {
        let whole = salvaged([&bytes[..]]);
        prop_assert_eq!(&salvaged(bytes.chunks(1)), &whole);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        prop_assert_eq!(&salvaged(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), &whole);
    }

    #[test]
    fn r_req_7_salvage_reads_the_id_of_every_message_that_scans(
        bytes in prop_oneof![bytes(), value().prop_map(|value| value.to_string().into_bytes())],
    ) {
        if scan(&bytes, Frame::Mcp, &Limits::default()).is_err() {
            return Ok(());
        }
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let found = salvaged([&bytes[..]]);
        let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        if id.is_none_or(|id| id.to_string().len() < 40) {
            let found_id = found.id.map(|id| serde_json::from_str::<Value>(&id).unwrap());
            prop_assert_eq!(found_id.as_ref(), id);
        }
        prop_assert_eq!(found.bytes, bytes.len());
    }

    #[test]
    fn r_req_7_salvage_finds_the_id_in_any_order_of_keys(members in members()) {
        let text = |(name, value): &(String, Value)| format!("\"{name}\": {value}");
        let message = format!("{{{}}}", members.iter().map(text).collect::<Vec<_>>().join(", "));
        let found = salvaged([message.as_bytes()]);
        let members: Map<_, _> = members.into_iter().collect();
        prop_assert_eq!(found.id, members.get("id").map(Value::to_string));
        prop_assert_eq!(found.method.as_deref(), members.get("method").and_then(Value::as_str));
    }
}
