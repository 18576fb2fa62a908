//! Classifies targets: words on the command line, and the `target` of a source.

use aquifer_sql::Target;

/// Whether the word names a source or a configuration.
pub(crate) fn is_source(word: &str) -> bool {
    matches!(word, "demo:" | "tasks:")
        || is_http_url(word)
        || is_openapi(word)
        || (!word.trim_start().starts_with('{')
            && (is_config(word) || is_adapter(word) || is_client_file(word) || Target::parse(word).is_some()))
}

/// Whether it names a configuration.
pub(crate) fn is_config(word: &str) -> bool {
    word.ends_with(".toml")
}

/// Whether it is the URL of a remote MCP server.
pub(crate) fn is_http_url(target: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| target.starts_with(scheme))
}

/// The prefix of the file or URL of an OpenAPI description.
pub(crate) const OPENAPI: &str = "openapi:";

/// Whether it is an HTTP API with an OpenAPI description.
pub(crate) fn is_openapi(target: &str) -> bool {
    target.starts_with(OPENAPI)
}

/// Whether it is an adapter file.
pub(crate) fn is_adapter(target: &str) -> bool {
    target.ends_with(".md")
}

/// Whether it is the configuration of an MCP client.
pub(crate) fn is_client_file(target: &str) -> bool {
    [".json", ".jsonc", ".json5"].iter().any(|ending| target.ends_with(ending))
}
