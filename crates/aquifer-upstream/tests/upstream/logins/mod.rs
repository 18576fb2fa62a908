//! Servers that want a login, with the authorization server they trust: a real one, which does wrong what it is told to.

mod guarded;
mod logging_in;
#[cfg(feature = "servers")]
mod official;
mod refused;
mod renewing;
mod secrets;
