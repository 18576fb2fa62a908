//! Canonical JSON: equal values have equal bytes, however they were written.
//!
//! Members are sorted by name, there is no whitespace, and every member and element is followed by a comma. Digests of
//! pinned definitions and cursor bindings are computed from these bytes and stored, so the format must never change.
//! The hash of confirmed parameters in `aquifer-gate` uses another form, in which equal numbers are written alike.

use serde::Serialize;
use serde_json::{Map, Value};

/// Writes a value.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(object) => write_object(object, out),
        Value::Array(items) => write_array_with(items, out, write),
        scalar => write_scalar(scalar, out),
    }
}

/// Writes an object.
pub fn write_object(object: &Map<String, Value>, out: &mut Vec<u8>) {
    let members = object.iter().map(|(name, value)| (name.as_str(), value)).collect();
    write_members_with(members, out, |_, value, out| write(value, out));
}

/// Writes an object with these members, using `write` for each value.
pub fn write_members_with(
    mut members: Vec<(&str, &Value)>,
    out: &mut Vec<u8>,
    write: impl Fn(&str, &Value, &mut Vec<u8>),
) {
    members.sort_unstable_by_key(|(name, _)| *name);
    out.push(b'{');
    for (name, value) in members {
        write_scalar(name, out);
        out.push(b':');
        write(name, value, out);
        out.push(b',');
    }
    out.push(b'}');
}

/// Writes an array, using `write` for each element.
pub fn write_array_with(items: &[Value], out: &mut Vec<u8>, write: fn(&Value, &mut Vec<u8>)) {
    out.push(b'[');
    for item in items {
        write(item, out);
        out.push(b',');
    }
    out.push(b']');
}

/// Writes a value that is neither an object nor an array.
pub fn write_scalar<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Serializing a scalar to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Digests of these bytes are stored: they may never change for the same value.
    #[test]
    fn the_bytes_of_a_value_never_change() {
        for (value, expected) in [
            (json!(null), "null"),
            (json!({}), "{}"),
            (json!([]), "[]"),
            (json!([1, 1.0, -0.5, 1e30, u64::MAX]), "[1,1.0,-0.5,1e+30,18446744073709551615,]"),
            (json!({ "b": 1, "a": 2, "B": 3, "ä": 4 }), "{\"B\":3,\"a\":2,\"b\":1,\"ä\":4,}"),
            (
                json!({ "b": [1, 2.5, null, true], "a": { "é\n\"": "x/\u{1}" }, "": {} }),
                "{\"\":{},\"a\":{\"é\\n\\\"\":\"x/\\u0001\",},\"b\":[1,2.5,null,true,],}",
            ),
        ] {
            let mut text = Vec::new();
            write(&value, &mut text);
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }
}
