//! The collection language: what it understands, what it refuses, and what it answers. Test names cite requirements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod answers;
mod documents;
mod fixture;
mod laws;
mod refusals;
mod selection;
mod shape;
mod shape_laws;
