//! The same request over the same rows has the same answer in memory, in SQLite and in PostgreSQL. Test names cite
//! requirements. PostgreSQL needs the feature `postgres`, which `cargo xtask test` enables.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod answers;
mod awkward;
mod budget;
mod calculations;
mod cases;
mod embeds;
mod engines;
mod grains;
mod groups;
mod kinds;
mod memory;
mod null_order;
mod properties;
mod reference_laws;
mod references;
mod related;
mod scans;
mod search;
mod shop;
mod tables;
mod time_formats;
mod walks;
