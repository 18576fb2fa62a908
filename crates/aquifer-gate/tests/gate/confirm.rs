//! Confirmation: every way a token can be refused, and no way around it (R-SAF-3).

mod approval;
mod elicit;
mod full_call;
mod laws;
mod logs;
pub(crate) mod shared;
mod token;
