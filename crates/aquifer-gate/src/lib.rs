//! The safety gate: the only place that can stop an otherwise valid operation.
//!
//! [`policy`] decides, without I/O; [`quota`] counts; [`confirm`] issues and redeems tokens; [`audit`] records what was
//! decided and done; [`destination`] knows where people let calls go; [`store`] keeps state across requests. [`SafetyGate`] uses them in that order.

pub mod audit;
pub mod confirm;
pub mod destination;
mod fingerprint;
mod gate;
pub mod policy;
pub mod quota;
mod redact;
pub mod store;
mod strength;
mod time;
mod timeout;

pub use gate::GateSettings;
pub use gate::GateSettingsError;
pub use gate::SafetyGate;
pub use time::persist_time;
