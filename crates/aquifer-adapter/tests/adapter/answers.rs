//! What handlers return: errors of any type, warnings, streams.

use aquifer_adapter::{
    Adapter, Answer, Category, Code, Context, Failure, ItemStream, UnexpectedError, WithWarnings, adapter,
};
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

impl UnexpectedError for Wrapped {}

/// An error that callers understand, and that is an error like all others to the rest of the program.
#[derive(Debug)]
struct Locked(String);

impl std::fmt::Display for Locked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is locked by pid 4911", self.0)
    }
}

impl std::error::Error for Locked {}

impl From<Locked> for Failure {
    fn from(Locked(file): Locked) -> Self {
        Failure::new(Code::ConflictConstraint, format!("File '{file}' is locked"))
    }
}

fn lock(file: &str) -> Result<(), Locked> {
    Err(Locked(file.to_owned()))
}

#[adapter]
impl Files {
    /// Get a locked file.
    #[operation]
    async fn get_locked(&self) -> Answer<String> {
        lock("a.txt")?;
        Ok(String::new())
    }

    /// Get another locked file.
    #[operation]
    async fn get_other_locked(&self) -> Result<String, Locked> {
        lock("b.txt").map(|()| String::new())
    }

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

#[tokio::test]
async fn an_error_says_to_callers_what_its_conversion_says() {
    let files = open_engine(Files);
    for (operation, file) in [("get_locked", "a.txt"), ("get_other_locked", "b.txt")] {
        let failed = call(&files, operation, json!({})).await;
        let message = format!("File '{file}' is locked");
        assert_eq!(failed["error"], json!({ "code": "CONFLICT_CONSTRAINT", "message": message }), "{failed}");
    }
}

#[test]
fn names_that_are_no_parameters_are_refused_when_the_adapter_is_built() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "the handler is not called")]
    /// Erase a file.
    struct EraseFile {
        path: String,
    }
    let build = |message: &str, example: serde_json::Value| {
        let adapter = Adapter::new("files", ()).operation(Category::Delete, |_: Context<()>, _: EraseFile| async {
            Ok::<_, Failure>("erased".to_owned())
        });
        adapter.confirm_message(message).example("Erase it", example).build().map(drop)
    };
    assert_eq!(build("Erase {path}? {}", json!({ "path": "a", "dry_run": true })), Ok(()));
    let problems = build("Erase {file} {path}?", json!({ "file": "a" })).unwrap_err().to_string();
    assert_eq!(
        problems,
        "the confirmation of 'erase_file' has the placeholder 'file', which is not one of its parameters\n\
         an example of 'erase_file' has 'file', which is not one of its parameters"
    );
    let problems = build("Erase {path}?", json!(["a"])).unwrap_err().to_string();
    assert_eq!(problems, "the parameters of an example of 'erase_file' must be an object");
}
