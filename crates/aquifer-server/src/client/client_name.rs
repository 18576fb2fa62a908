//! What a client calls itself. Anybody can claim any name: it is shown to people and never used for a decision.

use std::sync::Arc;

use aquifer_protocol::text::presentable;
use serde_json::Value;

use super::call_context::CallContext;

/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 80;

/// How much of a name is looked at. What is longer is cut off before it is cleaned.
const MAX_RAW_CHARS: usize = 400;

/// The member of a request's metadata that describes the client, in revisions without a handshake.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// The name and version from the metadata of a request, otherwise from the handshake.
pub(crate) fn find(context: &CallContext) -> Option<Arc<str>> {
    if let Some(info) = context.meta.get(CLIENT_INFO) {
        let member = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
        return clean(member("name"), member("version"));
    }
    let info = context.peer.peer_info()?;
    clean(&info.client_info.name, &info.client_info.version)
}

/// The name and version on one line, without anything invisible. `None` if nothing is left of the name.
fn clean(name: &str, version: &str) -> Option<Arc<str>> {
    let [name, version] = [name, version].map(|text| {
        let beginning: String = text.chars().take(MAX_RAW_CHARS).collect();
        let words = presentable(&beginning).split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().take(MAX_NAME_CHARS).collect::<String>()
    });
    if name.is_empty() {
        return None;
    }
    let both = if version.is_empty() { name } else { format!("{name} {version}") };
    Some(both.chars().take(MAX_NAME_CHARS).collect::<String>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_lines_without_invisible_characters() {
        let table = [
            ("claude-code", "2.1", Some("claude-code 2.1")),
            ("an agent", "", Some("an agent")),
            ("", "1", None),
            (" \n\t", "1", None),
            ("\u{202e}\u{200b}", "1", None),
            ("admin\r\n(verified)\u{1b}[31m", "1\u{2028}2", Some("admin (verified) 1 2")),
        ];
        for (name, version, expected) in table {
            assert_eq!(clean(name, version).as_deref(), expected, "{name:?} {version:?}");
        }
        let long = clean(&"x".repeat(1_000_000), "1");
        assert_eq!(long.map(|name| name.chars().count()), Some(MAX_NAME_CHARS));
    }
}
