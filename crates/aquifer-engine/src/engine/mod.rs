//! The engine: its pipeline, its builder, its sources and their resources.

mod builder;
pub(crate) mod configuration;
mod introspection;
mod mounts;
mod pipeline;
mod resources;

pub use builder::BuildError;
pub use builder::EngineBuilder;
pub use builder::Settings;
pub use configuration::Validity;
pub use configuration::configuration_changed;
pub use configuration::is_configuration_changed;
pub use pipeline::Engine;
pub use pipeline::Reply;
pub use pipeline::panic_message;
