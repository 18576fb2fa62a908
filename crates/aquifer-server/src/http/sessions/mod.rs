//! Sessions of older clients: no more than a set number of them, and none that costs more than its share.
//!
//! The SDK's own manager does the work. [`manager`] decides with [`table`] who gets a session and whose is given up, at the
//! [`rate`] that is allowed; [`session`] knows how each is used, [`handover`] passes requests on, and [`transport`] bounds
//! what is kept for each.

mod handover;
mod manager;
mod rate;
mod session;
mod table;
mod transport;

pub(super) use manager::BoundedSessions;
pub(super) use manager::SessionRefusal;
