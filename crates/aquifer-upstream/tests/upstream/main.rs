//! MCP servers behind us: a scripted one that misbehaves in every way, and real ones from npm and PyPI.

mod calls;
mod catalogue;
mod faults;
mod interrogation;
mod over_http;
mod passing_through;
mod processes;
#[cfg(feature = "servers")]
mod servers;
mod support;
