//! What a model pays for a source, in tokens: at connect, to look around, and for whole tasks.
//!
//! What counts is what a model sees (`seen`), counted by real tokenizers (`count`). A measurement (`measure`) is a plain
//! client over the `Server` seam: it knows servers by what they list and answer, starts none, and never calls what may
//! write unless it was told to. A `Report` is rendered as text or SVG from the same `chart`, and two of them are held
//! against each other by `compare`.

mod aql;
mod catalog;
pub mod compare;
mod count;
mod measure;
mod offender;
pub mod render;
pub mod report;
pub mod seen;
mod server;
pub mod task;
mod ways;

pub use count::Counts;
pub use measure::Options;
pub use measure::Subject;
pub use measure::measure;
pub use offender::Offender;
pub use report::Report;
pub use server::Server;
pub use server::Unanswered;
