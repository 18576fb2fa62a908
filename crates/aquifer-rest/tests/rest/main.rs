//! Tests of HTTP APIs as sources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod adapter;
mod client;
mod mock;
mod openapi;
mod paging;
mod route;
mod source;
