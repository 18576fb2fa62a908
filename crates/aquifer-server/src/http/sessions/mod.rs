//! Sessions for clients of older revisions: limited in number, and each limited in cost.
//!
//! The SDK's own manager does the work. [`manager`] and [`table`] decide who gets a session and which one is closed,
//! within the allowed [`rate`]; [`session`] tracks how each is used, [`handover`] passes on requests, and [`transport`]
//! limits what is stored for each.

mod handover;
mod manager;
mod rate;
mod session;
mod table;
mod transport;

pub(super) use manager::BoundedSessions;
pub(super) use manager::SessionRefusal;
