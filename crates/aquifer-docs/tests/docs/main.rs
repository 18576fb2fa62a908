//! The renderer, and the site that it makes of the files of this repository.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod elements;
mod look;
mod renderer;
mod site;
