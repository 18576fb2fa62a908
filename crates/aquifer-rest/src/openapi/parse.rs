//! Parses the text of a description, JSON or YAML, into a JSON value.

use serde_json::Value;

use super::DescriptionError;
use super::text::shorten;

/// The maximum size of a description in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The maximum number of values in a YAML document, including those that aliases repeat. A text of 64 MB has fewer.
const MAX_NODES: usize = 8_000_000;

/// The maximum depth of a YAML document. JSON has the same limit.
const MAX_DEPTH: usize = 128;

/// The maximum number of YAML events that aliases repeat. Descriptions use aliases for a few shared parts, if at all.
const MAX_REPLAYED: usize = 300_000;

/// The maximum length of a parser's message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Parses a description: as JSON if it is JSON, otherwise as YAML.
pub fn parse(text: &str) -> Result<Value, DescriptionError> {
    if text.len() > MAX_BYTES {
        return Err(DescriptionError::TooLarge { size: text.len(), max: MAX_BYTES });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    match parse_yaml(text) {
        Ok(value) => Ok(value),
        Err(_) if looks_like_json => Err(json_error(&json)),
        Err(error) => Err(error),
    }
}

fn json_error(error: &serde_json::Error) -> DescriptionError {
    let message = error.to_string();
    // The position is reported separately.
    let message = message.split(" at line ").next().unwrap_or_default();
    DescriptionError::Syntax {
        format: "JSON",
        line: error.line() as u64,
        column: error.column() as u64,
        message: presentable(message),
    }
}

fn parse_yaml(text: &str) -> Result<Value, DescriptionError> {
    let budget = serde_saphyr::budget! {
        max_events: MAX_NODES,
        max_nodes: MAX_NODES,
        max_depth: MAX_DEPTH,
        max_documents: 1,
        max_total_scalar_bytes: 2 * MAX_BYTES,
        max_recorded_anchor_events: MAX_REPLAYED,
    };
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: budget,
        // A description with a duplicate key is still usable.
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPLAYED },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        DescriptionError::Syntax { format: "YAML", line, column, message: presentable(message) }
    })
}

fn presentable(message: &str) -> String {
    shorten(&aquifer_discovery::text::presentable(message), MAX_MESSAGE_CHARS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_yaml_give_the_same_value() {
        let expected =
            json!({ "openapi": "3.0.3", "paths": { "/a": { "get": { "responses": { "200": { "x": true } } } } } });
        let yaml = "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses:\n        200:\n          x: true\n";
        assert_eq!(parse(&expected.to_string()).unwrap(), expected);
        assert_eq!(parse(yaml).unwrap(), expected);
        assert_eq!(parse(&format!("\u{feff}{expected}")).unwrap(), expected);
    }

    #[test]
    fn words_of_yaml_1_1_are_text() {
        let value = parse("country: no\nanswer: yes\ndate: 2020-01-01\nversion: \"1.0\"\nnumber: 1.5\n").unwrap();
        assert_eq!(
            value,
            json!({ "country": "no", "answer": "yes", "date": "2020-01-01", "version": "1.0", "number": 1.5 })
        );
    }

    #[test]
    fn errors_have_a_position() {
        let Err(DescriptionError::Syntax { format, line, .. }) =
            parse("{\n  \"openapi\": \"3.0.0\",\n  \"paths\": [}\n}")
        else {
            panic!("it is invalid")
        };
        assert_eq!((format, line), ("JSON", 3));
        let Err(DescriptionError::Syntax { format, line, .. }) = parse("openapi: 3.0.0\npaths:\n  - a\n b: [\n") else {
            panic!("it is invalid")
        };
        assert_eq!(format, "YAML");
        assert!(line >= 3, "{line}");
    }

    #[test]
    fn aliases_do_not_explode() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(matches!(parse(&bomb), Err(DescriptionError::Syntax { format: "YAML", .. })));
        let shared = "a: &a {type: string}\nb: *a\nc: *a\n";
        assert_eq!(parse(shared).unwrap()["c"], json!({ "type": "string" }));
    }

    #[test]
    fn a_text_that_is_too_large_is_refused() {
        let text = " ".repeat(MAX_BYTES + 1);
        assert!(matches!(parse(&text), Err(DescriptionError::TooLarge { .. })));
    }
}
