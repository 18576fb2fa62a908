//! MCP servers behind us: a scripted one that misbehaves in every way, and real ones from npm and PyPI.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod calls;
mod catalogue;
mod clean_words;
mod definitions;
mod faults;
mod freshness;
mod gone_tools;
mod interrogation;
mod limits;
mod logins;
mod names;
mod odd_server;
mod outdated;
mod over_http;
mod passing_through;
mod pins;
mod processes;
mod resources;
mod resumed;
mod sent_once;
mod sent_once_stdio;
#[cfg(feature = "servers")]
mod servers;
mod sessions;
mod support;
