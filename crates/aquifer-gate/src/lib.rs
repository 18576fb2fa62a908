//! Policy: the one place where an operation that would be accepted can be stopped.
//!
//! [`policy`] decides what is to happen, purely; [`quota`] counts; [`confirm`] gives out tokens and takes them back;
//! [`audit`] writes down what was decided and done; [`store`] keeps what outlives a request. [`SafetyGate`] asks them in
//! that order.

pub mod audit;
pub mod confirm;
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
