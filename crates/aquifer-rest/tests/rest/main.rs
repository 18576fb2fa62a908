//! Tests of requests to HTTP APIs: how they are written, and how they are sent to servers that misbehave.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod client;
mod route;
