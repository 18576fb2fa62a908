//! Servers that want a login, with the authorization server they trust: a real one, which does wrong what it is told to.

mod login;
#[cfg(feature = "servers")]
mod official;
mod refused;
mod renewal;
mod secrets;
mod server;
