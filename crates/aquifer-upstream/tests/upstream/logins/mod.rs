//! Servers that require a login, with a real authorization server that misbehaves as configured.

mod login;
#[cfg(feature = "test-servers")]
mod official;
mod refused;
mod renewal;
mod secrets;
mod server;
