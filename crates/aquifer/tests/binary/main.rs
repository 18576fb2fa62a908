//! The built binary, driven as its users drive it: command line, stdio, HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod command_line;
mod documents;
mod hostile;
mod http;
mod stdio;
mod support;
mod tokens;
