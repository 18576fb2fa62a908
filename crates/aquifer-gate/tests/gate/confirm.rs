//! Confirmation: every way a token can be refused, and no way around it (R-SAF-3).

mod approval;
mod batch;
mod decisions;
mod edited;
mod elicit;
mod full_call;
mod laws;
mod logs;
mod people;
mod refusals;
mod rehearsal;
pub(crate) mod shared;
mod token;
