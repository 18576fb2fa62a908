//! Tests of the collection language. Test names cite requirements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod answers;
mod documents;
mod fixture;
mod introspection;
mod properties;
mod refusals;
mod result_shape;
mod selection;
mod shape;
mod shape_properties;
mod work;
