//! Tests of upstreams with a scripted server that misbehaves in many ways, and with real servers from npm and PyPI.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod calls;
mod catalog_cache;
mod client_requests;
mod definitions;
mod faults;
mod faulty_server;
mod freshness;
mod http;
mod interrogation;
mod limits;
mod logins;
mod names;
mod pins;
mod processes;
mod removed_tools;
mod resources;
mod sanitizing;
mod sent_once;
mod sent_once_stdio;
mod servers;
mod sessions;
mod stale_configuration;
mod stream_resumption;
mod support;
