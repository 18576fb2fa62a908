//! Servers that require a login, with a real authorization server that misbehaves as configured.

mod login;
mod official;
mod refused;
mod renewal;
mod secrets;
mod server;
