//! A call and its outcome, as gates, sources and the engine see them: who makes it, under which configuration, what it
//! would do and what it did. Everything that passes a call on uses these types; they use none of it.

pub mod caller;
pub(crate) mod configuration;
mod context;
mod outcome;
pub mod rehearsal;

pub use context::{ClientCapability, ClientSide, Context, Interaction, Progress, ProgressUpdate};
pub use outcome::{Answer, InputRequest, Outcome, PageRequest};
