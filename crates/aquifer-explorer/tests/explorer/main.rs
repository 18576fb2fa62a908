//! The API behind the pages, as a browser uses it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod approvals;
mod audit;
mod call_log;
mod edits;
mod events;
mod fixture;
mod guard;
mod login;
mod operator;
mod run;
mod support;
mod tables;
