//! The request pipeline and its extension points.
//!
//! A request passes through the stages in one direction: parse, route and check (pure, in `aquifer-protocol`), then
//! [`gate`], then a [`source`], then the envelope. The engine does not know which sources exist, and it knows neither
//! HTTP nor MCP.
//!
//! A module uses only modules below it: `engine` uses all of them, then come `snapshot` and `shape`, then the two
//! interfaces, then `call` with the types that both of them share.

mod call;
pub mod clients;
pub mod clock;
mod engine;
pub mod event;
pub mod gate;
pub mod shape;
mod snapshot;
pub mod source;
pub mod store;
pub mod trace;

pub use call::caller;
pub use call::caller::Caller;
pub use call::configuration::Validity;
pub use call::configuration::configuration_changed;
pub use call::configuration::is_configuration_changed;
pub use call::rehearsal;
pub use engine::BuildError;
pub use engine::Engine;
pub use engine::EngineBuilder;
pub use engine::Reply;
pub use engine::Settings;
pub use engine::panic_message;
pub use snapshot::Evidence;
pub use snapshot::Mount;
pub use snapshot::Snapshot;
pub use source::Answer;
pub use source::Call;
pub use source::CatalogState;
pub use source::ClientCapability;
pub use source::ClientSide;
pub use source::Context;
pub use source::InputRequest;
pub use source::Interaction;
pub use source::Offering;
pub use source::Outcome;
pub use source::Progress;
pub use source::ProgressUpdate;
pub use source::Resolution;
pub use source::Source;
pub use source::SourceStatus;
pub use source::TargetCheck;
pub use source::table_model;
