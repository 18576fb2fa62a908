//! What a model pays, measured on servers made of closures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod compared;
mod drawn;
mod fixture;
mod measured;
