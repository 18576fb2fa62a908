//! The version that a configuration says it is written for.

use aquifer_discovery::FileProblem;
use aquifer_protocol::error::Code;
use serde::Deserialize;

/// The version of the keys. It grows if a key changes its meaning; keys that are only added or renamed do not count.
const CONFIG_VERSION: u32 = 1;

/// The problem of a file that was written for a newer version.
pub(super) fn newer_version(text: &str) -> Option<FileProblem> {
    #[derive(Deserialize)]
    struct Versioned {
        version: Option<toml::Spanned<u32>>,
    }
    let version =
        toml::from_str::<Versioned>(text).ok()?.version.filter(|version| *version.get_ref() > CONFIG_VERSION)?;
    let line = text.get(..version.span().start)?.matches('\n').count() as u64 + 1;
    Some(FileProblem {
        code: Code::SchemaInvalidType,
        path: "version".to_owned(),
        line,
        column: 1,
        message: format!("The configuration has version {}; this Aquifer knows {CONFIG_VERSION}", version.get_ref()),
        suggestion: Some("Update Aquifer, or write the configuration for this version".to_owned()),
    })
}
