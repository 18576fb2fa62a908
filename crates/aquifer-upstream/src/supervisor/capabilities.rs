//! The capabilities of a server besides tools.

use aquifer_engine::source::SourceCapabilities;
use serde_json::Value;

/// Until the server was contacted, it may have every capability.
pub(crate) const UNKNOWN_CAPABILITIES: SourceCapabilities =
    SourceCapabilities { resources: true, prompts: true, completions: true };

/// The capabilities that a server reports.
pub(crate) fn source_capabilities(capabilities: &Value) -> SourceCapabilities {
    let has = |name: &str| capabilities.get(name).is_some_and(Value::is_object);
    SourceCapabilities { resources: has("resources"), prompts: has("prompts"), completions: has("completions") }
}
