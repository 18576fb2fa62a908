//! The report of a run, and the tally of a check.

mod category;
mod outcome;
mod run_report;
mod tally;

pub use category::{Category, Verdict};
pub use outcome::{Finding, Outcome, Section, Summary};
pub use run_report::{Blocker, Header, Report};
pub(crate) use tally::Tally;

#[cfg(test)]
mod tests;
