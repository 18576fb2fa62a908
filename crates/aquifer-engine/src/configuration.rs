//! Which configuration a call was decided under, and whether that is still in force.
//!
//! A call can wait inside its source: for a server that is starting, for its turn, for a lock. The engine cannot see that,
//! so the source itself has to ask, immediately before the call leaves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aquifer_protocol::error::{Code, Failure};

/// One configuration of an engine: its sources and its gate. All catalogs that are built for it share one value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    is_replaced: Arc<AtomicBool>,
}

impl Configuration {
    /// Another configuration takes effect. To be called before it is shown to anybody.
    pub(crate) fn retire(&self) {
        self.is_replaced.store(true, Ordering::Release);
    }

    /// Whether another configuration is in force.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Acquire)
    }
}

/// Whether a call may still be carried out. One that only reads always may; one that changes something may as long as the
/// configuration is in force that it was decided under. The default is always valid.
#[derive(Debug, Clone, Default)]
pub struct Validity(Option<Configuration>);

impl Validity {
    /// Valid as long as this configuration is in force.
    pub(crate) fn for_change(configuration: &Configuration) -> Self {
        Self(Some(configuration.clone()))
    }

    /// Whether the call must not be carried out any more.
    pub fn is_expired(&self) -> bool {
        self.0.as_ref().is_some_and(Configuration::is_replaced)
    }

    /// Refuses a call that must not be carried out any more. To be asked where nothing has been done yet, as late as
    /// possible: immediately before the bytes leave or the transaction is committed.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_expired() { Err(configuration_changed()) } else { Ok(()) }
    }
}

const CHANGED: &str = "The configuration changed before this was carried out. Nothing was done. Send the request again";

/// What the caller of a change is told that was not carried out because another configuration is in force.
pub fn configuration_changed() -> Failure {
    Failure::new(Code::ConflictVersionMismatch, CHANGED)
}

/// Whether this is what [`configuration_changed`] says: nothing was run.
pub fn is_configuration_changed(failure: &Failure) -> bool {
    failure.code() == Code::ConflictVersionMismatch && failure.message() == CHANGED && !failure.is_outcome_unknown()
}
