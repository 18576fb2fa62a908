//! What is written as YAML is read back equal (R-DIS-6).

use proptest::prelude::*;
use serde_json::{Value, json};

fn check(value: &Value) {
    let text = aquifer_discovery::write_yaml(value);
    let options = serde_saphyr::options! { strict_booleans: true };
    let read: Value =
        serde_saphyr::from_str_with_options(&text, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&read, value, "\n{text}");
}

#[test]
fn r_dis_6_doubtful_strings_are_quoted() {
    for words in [
        "",
        " ",
        "a: b",
        "# no",
        "- x",
        "true",
        "Yes",
        "null",
        "~",
        "1",
        "1.0",
        "0x1f",
        "1e3",
        ".inf",
        "a\tb",
        "a\nb",
        "a\n\nb\n",
        "a\n",
        "a\nb\n\n",
        " a\nb",
        "a\n b",
        "a\n  \nb",
        "---",
        "...",
        "a\n---\nb",
        "'",
        "\"",
        "\\",
        "{a}",
        "[a]",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "?",
        "a #b",
        "a:",
        "é",
        "日本",
        "😀",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{200b}",
        "a\u{a0}b",
        "\r\n",
        "2026-01-01",
        "12:30",
        "<<",
        "=",
        "a ",
        "no",
        "NaN",
        "Infinity",
    ] {
        check(&json!({ "a": words, "b": [words, [words]], "c": { "d": words } }));
        check(&json!({ words: words }));
        check(&json!(words));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-zA-Z0-9:#{}\\[\\],&*!|>'\"%@`~ \n\t-]{0,24}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn r_dis_6_yaml_is_read_back_equal(value in any_json()) {
        check(&value);
    }
}
