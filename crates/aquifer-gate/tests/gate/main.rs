//! What the gate promises, as tables. Test names cite the requirement they hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod audit;
