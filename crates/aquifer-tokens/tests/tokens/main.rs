//! Token measurements of fake servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod charts;
mod comparison;
mod fixture;
mod measurement;
