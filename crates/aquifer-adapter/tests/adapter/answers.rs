//! What handlers return: errors of any type, warnings, streams.

use aquifer_adapter::{Answer, ItemStream, WithWarnings, adapter};
use aquifer_query::budget::estimate_value;
use serde_json::json;

use crate::{call, open_engine, parameters};

struct Files;

/// A line of a file.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Line {
    number: u64,
    text: String,
}

#[derive(Debug)]
struct Wrapped(std::io::Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("/etc/secret could not be used")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[adapter]
impl Files {
    /// Get the number in a text.
    #[operation]
    async fn get_number(&self, text: String) -> Answer<i64> {
        Ok(text.parse::<i64>()?)
    }

    /// Get what a service says.
    #[operation]
    async fn get_remote(&self, late: bool) -> Result<String, Wrapped> {
        let kind = if late { std::io::ErrorKind::TimedOut } else { std::io::ErrorKind::ConnectionRefused };
        Err(Wrapped(kind.into()))
    }

    /// Get a whole file.
    #[operation]
    async fn get_file(&self) -> Answer<Line> {
        Ok(Line { number: 7, text: "A line of text. ".repeat(1_000) })
    }

    /// List lines.
    #[operation]
    async fn list_lines(&self, broken: Option<bool>) -> Answer<WithWarnings<ItemStream<Line>>> {
        let lines = (1..=50).map(move |number| match number {
            40 if broken == Some(true) => Err("4x".parse::<i64>().unwrap_err().into()),
            number => Ok(Line { number, text: format!("line {number}") }),
        });
        Ok(WithWarnings::new(ItemStream::new(futures::stream::iter(lines))).warn("STALE", "The file has changed"))
    }
}

#[tokio::test]
async fn any_error_becomes_a_failure_that_reveals_nothing() {
    let files = open_engine(Files);
    assert_eq!(call(&files, "get_number", json!({ "text": "12" })).await["data"], 12);
    let failed = call(&files, "get_number", json!({ "text": "twelve" })).await;
    assert_eq!(failed["error"]["code"], "INTERNAL_ERROR");
    assert!(!failed.to_string().contains("digit"), "the text of an error is for the log: {failed}");
    for (late, code) in [(true, "UPSTREAM_TIMEOUT"), (false, "UPSTREAM_UNAVAILABLE")] {
        let failed = call(&files, "get_remote", json!({ "late": late })).await;
        assert_eq!(failed["error"]["code"], code, "{failed}");
        assert!(!failed.to_string().contains("secret"), "{failed}");
    }
}

#[tokio::test]
async fn a_stream_is_a_list_with_the_whole_query_language() {
    let files = open_engine(Files);
    let names = parameters(&files, "list_lines").await;
    for name in ["broken", "filter", "sort", "fields", "aggregate", "first", "after"] {
        assert!(names.iter().any(|known| known == name), "{name} is missing in {names:?}");
    }
    let query = json!({ "filter": { "number": { "gt": 10 } }, "sort": "-number", "fields": ["number"], "first": 2 });
    let page = call(&files, "list_lines", query).await;
    assert_eq!(page["data"]["items"], json!([{ "number": 50 }, { "number": 49 }]), "{page}");
    assert_eq!(page["warnings"][0]["code"], "STALE", "{page}");
    let failed = call(&files, "list_lines", json!({ "broken": true })).await;
    assert_eq!(failed["error"]["code"], "INTERNAL_ERROR", "half a list is no answer: {failed}");
}

#[tokio::test]
async fn r_ext_3_an_answer_that_is_no_list_keeps_the_budget() {
    let files = open_engine(Files);
    assert_eq!(parameters(&files, "get_file").await, ["max_tokens"]);
    let shortened = call(&files, "get_file", json!({ "max_tokens": 400 })).await;
    assert!(estimate_value(&shortened) <= 400, "{shortened}");
    assert_eq!(shortened["warnings"][0]["code"], "RESULT_SHORTENED");
    assert_eq!(shortened["data"]["number"], 7);
    let whole = call(&files, "get_file", json!({})).await;
    assert_eq!(whole["data"]["text"].as_str().map(str::len), Some(16_000));
}
