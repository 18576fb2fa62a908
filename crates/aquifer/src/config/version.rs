//! The version that a configuration says it is written for.

use aquifer_discovery::FileProblem;
use aquifer_protocol::error::Code;
use serde::Deserialize;

use super::Config;

/// The version of the keys. It grows if a key or a default changes its meaning; keys that are only added or renamed do
/// not count. In version 1, the token of a model confirmed what needed confirmation.
pub(crate) const CONFIG_VERSION: u32 = 2;

/// The oldest version that is still read.
const OLDEST_VERSION: u32 = 1;

impl Config {
    /// What has changed since the version that the file was written for.
    pub(crate) fn changes_since_its_version(&self) -> Option<String> {
        let is_older = self.version.unwrap_or(OLDEST_VERSION) < CONFIG_VERSION;
        (is_older && !self.gate.lets_model_confirm()).then(|| {
            format!(
                "a call that needs confirmation waits for a person now: the client asks its user, or the call waits for \
                 an approval. To let models confirm their own calls with a token, as in version 1, set model_confirms = \
                 true in [gate.confirmation]. Then write version = {CONFIG_VERSION} at the top of the file"
            )
        })
    }
}

/// The problem of a file that was written for another version.
pub(super) fn other_version(text: &str) -> Option<FileProblem> {
    #[derive(Deserialize)]
    struct Versioned {
        version: Option<toml::Spanned<u32>>,
    }
    let version = toml::from_str::<Versioned>(text).ok()?.version?;
    let suggestion = match *version.get_ref() {
        OLDEST_VERSION..=CONFIG_VERSION => return None,
        0 => "There is no older version than 1",
        _ => "Update Aquifer, or write the configuration for this version",
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
