//! What a server offers beside tools.

use aquifer_engine::source::SourceCapabilities;
use serde_json::Value;

/// Of a server nobody has asked yet nothing can be ruled out.
pub(crate) const UNKNOWN_CAPABILITIES: SourceCapabilities =
    SourceCapabilities { resources: true, prompts: true, completions: true };

/// What a server says it has.
pub(crate) fn source_capabilities(capabilities: &Value) -> SourceCapabilities {
    let has = |name: &str| capabilities.get(name).is_some_and(Value::is_object);
    SourceCapabilities { resources: has("resources"), prompts: has("prompts"), completions: has("completions") }
}
