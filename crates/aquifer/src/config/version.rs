//! The version that a configuration says it is written for.

use std::cmp::Ordering;

use aquifer_discovery::FileProblem;
use aquifer_protocol::error::Code;
use serde::Deserialize;

/// The version of the keys. It grows if a key changes its meaning; keys that are only added or renamed do not count.
const CONFIG_VERSION: u32 = 1;

/// The problem of a file that was written for another version.
pub(super) fn other_version(text: &str) -> Option<FileProblem> {
    #[derive(Deserialize)]
    struct Versioned {
        version: Option<toml::Spanned<u32>>,
    }
    let version = toml::from_str::<Versioned>(text).ok()?.version?;
    let suggestion = match version.get_ref().cmp(&CONFIG_VERSION) {
        Ordering::Equal => return None,
        Ordering::Greater => "Update Aquifer, or write the configuration for this version",
        Ordering::Less => "There is no older version: write 1, or leave 'version' out",
    };
    let line = text.get(..version.span().start)?.matches('\n').count() as u64 + 1;
    Some(FileProblem {
        code: Code::SchemaInvalidType,
        path: "version".to_owned(),
        line,
        column: 1,
        message: format!("The configuration has version {}; this Aquifer knows {CONFIG_VERSION}", version.get_ref()),
        suggestion: Some(suggestion.to_owned()),
    })
}
