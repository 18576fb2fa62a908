//! Errors: the registry of codes, failures of requests, and rules for messages.

mod codes;
mod failure;
mod from_scan;
pub mod problems;
mod too_large;
mod unexpected;
pub mod wording;

pub use codes::Code;
pub use codes::CodeInfo;
pub use codes::Fault;
pub use codes::REGISTRY;
pub use failure::Failure;
pub use failure::FailureReason;
pub use problems::Problem;
pub use too_large::too_large;
pub use unexpected::UnexpectedError;
