//! The interface to policy: the only place where a valid request can be refused.

mod batch;
mod decision;
mod default_gates;
mod interface;

pub use batch::{BatchConfirmation, BatchDecision, BatchEntry, BatchToken, EntryRequest, Grant};
pub(crate) use decision::Cleared;
pub use decision::{ConfirmationMethod, Decision, Pass, Receipt, Shown};
pub use default_gates::ClosedGate;
pub(crate) use default_gates::OpenGate;
pub use interface::{BatchGate, Gate, Rules};
