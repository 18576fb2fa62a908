//! The engine: its pipeline, its builder, its sources and their resources.

mod batch;
mod builder;
mod cancellation;
mod introspection;
mod mounts;
mod pipeline;
mod recording;
mod refusals;
mod rehearsal;
mod resources;
mod routing;
mod schema_overview;
mod signatures;
mod source_call;
mod table_models;

pub use builder::BuildError;
pub use builder::EngineBuilder;
pub use builder::Settings;
pub use pipeline::Engine;
pub use pipeline::Reply;
pub use source_call::panic_message;
