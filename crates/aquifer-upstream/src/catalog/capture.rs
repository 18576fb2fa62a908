//! A tool list captured from an upstream, parsed and digested once.

use aquifer_discovery::digest::{Pin, pin};
use aquifer_discovery::{Bundle, Listing, PinBook, normalize_with_names};
use jiff::Timestamp;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::client::interrogation::Interrogation;
use crate::settings::Settings;

/// Where a catalog comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// There is no catalog.
    Nothing,
    /// From an adapter file. The server has not been asked yet.
    File,
    /// From the cache of an earlier run.
    Cache,
    /// From the server, in this run.
    Server,
}

/// A tool list captured from an upstream, with the digests of its definitions.
pub(crate) struct Capture {
    pub(crate) interrogation: Interrogation,
    pub(crate) listing: Listing,
    /// The digests of the listed definitions, in the same order.
    pub(crate) pins: Vec<Pin>,
    pub(crate) origin: Origin,
    /// When the server was asked.
    pub(crate) captured_at: Timestamp,
}

impl Capture {
    pub(crate) fn new(interrogation: Interrogation, origin: Origin, captured_at: Timestamp) -> Self {
        let (listing, pins) = run_blocking(|| {
            let listing = Listing::from_capture(&interrogation.capture);
            let pins = listing.tools.iter().map(pin).collect();
            (listing, pins)
        });
        Self { interrogation, listing, pins, origin, captured_at }
    }

    /// The discovery bundle. Pinned operations keep their names, and the operator's overrides are applied.
    pub(crate) fn bundle(&self, settings: &Settings, book: Option<&PinBook>) -> Bundle {
        let chosen = settings.overrides.as_ref().map(|overrides| overrides.names()).unwrap_or_default();
        let listed = self.listing.tools.iter().map(|tool| tool.name.as_str());
        let nothing = PinBook::default();
        let established = book.unwrap_or(&nothing).established(listed, &chosen);
        let source = settings.source(self.captured_at, Some(self.interrogation.server.clone()));
        let mut bundle = normalize_with_names(source, self.interrogation.capture.clone(), &self.listing, &established);
        if let Some(overrides) = &settings.overrides {
            overrides.apply_to_tools(&mut bundle, &self.listing.tools);
        }
        bundle
    }
}

/// Runs work that may take long without blocking a worker thread, because definitions are untrusted and may be large.
pub(super) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
