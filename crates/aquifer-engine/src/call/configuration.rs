//! The configuration under which a call was decided, and whether it is still in force.
//!
//! A call can wait inside its source: for a server that is starting, for its turn, for a lock. The engine cannot see this,
//! so the source itself has to check, immediately before it sends the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aquifer_protocol::error::{Code, Failure, FailureReason};

/// One configuration of an engine: its sources and its gate. All its catalogs share this value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    is_replaced: Arc<AtomicBool>,
}

impl Configuration {
    /// Marks the configuration as replaced. Call this before the new one is visible.
    pub(crate) fn retire(&self) {
        self.is_replaced.store(true, Ordering::Release);
    }

    /// Whether another configuration is in force.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Acquire)
    }
}

/// Whether a call may still be carried out. A read always may. A change may only while the configuration under which it
/// was decided is in force. The default is always valid.
#[derive(Debug, Clone, Default)]
pub struct Validity(Option<Configuration>);

impl Validity {
    /// Valid while this configuration is in force.
    pub(crate) fn for_change(configuration: &Configuration) -> Self {
        Self(Some(configuration.clone()))
    }

    /// Whether the call must no longer be carried out.
    pub fn is_expired(&self) -> bool {
        self.0.as_ref().is_some_and(Configuration::is_replaced)
    }

    /// Returns an error if the call must no longer be carried out. Check before anything is done and as late as possible:
    /// immediately before the bytes are sent or the transaction is committed.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_expired() { Err(configuration_changed()) } else { Ok(()) }
    }
}

/// The failure of a change that was not carried out because another configuration is in force.
pub fn configuration_changed() -> Failure {
    let message = "The configuration changed before this was carried out. Nothing was done. Send the request again";
    Failure::new(Code::ConflictVersionMismatch, message).with_reason(FailureReason::ConfigurationChanged)
}

/// Whether this is the failure from [`configuration_changed`]: nothing was done.
pub fn is_configuration_changed(failure: &Failure) -> bool {
    failure.reason() == Some(&FailureReason::ConfigurationChanged) && !failure.is_outcome_unknown()
}
