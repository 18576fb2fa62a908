//! An upstream as a source of the engine: tool calls, their results, resources and prompts.

mod compact_json;
mod resources;
mod tool_call;
mod tool_result;
mod upstream;

pub use upstream::Upstream;
