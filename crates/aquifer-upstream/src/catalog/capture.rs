//! What an upstream said, read once and measured.

use aquifer_discovery::digest::{Pin, pin};
use aquifer_discovery::{Bundle, Listing, PinBook, normalize_beside};
use jiff::Timestamp;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::client::interrogation::Interrogation;
use crate::settings::Settings;

/// Where an offer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing is known.
    Nothing,
    /// From an adapter's file; the server has not been asked.
    File,
    /// From an earlier run.
    Cache,
    /// From the server, in this run.
    Server,
}

/// What an upstream said, read and measured once.
pub(crate) struct Capture {
    pub(crate) interrogation: Interrogation,
    pub(crate) listing: Listing,
    /// The digests of the listed definitions, in their order.
    pub(crate) pins: Vec<Pin>,
    pub(crate) origin: Origin,
    /// When the server said it.
    pub(crate) captured_at: Timestamp,
}

impl Capture {
    pub(crate) fn new(interrogation: Interrogation, origin: Origin, captured_at: Timestamp) -> Self {
        let (listing, pins) = run_blocking(|| {
            let listing = Listing::of(&interrogation.capture);
            let pins = listing.tools.iter().map(pin).collect();
            (listing, pins)
        });
        Self { interrogation, listing, pins, origin, captured_at }
    }

    /// The bundle, beside the names that operations have already and with the operator's decisions in it.
    pub(crate) fn bundle(&self, settings: &Settings, book: Option<&PinBook>) -> Bundle {
        let chosen = settings.overrides.as_ref().map(|overrides| overrides.names()).unwrap_or_default();
        let listed = self.listing.tools.iter().map(|tool| tool.name.as_str());
        let nothing = PinBook::default();
        let established = book.unwrap_or(&nothing).established(listed, &chosen);
        let source = settings.source(self.captured_at, Some(self.interrogation.server.clone()));
        let mut bundle = normalize_beside(source, self.interrogation.capture.clone(), &self.listing, &established);
        if let Some(overrides) = &settings.overrides {
            overrides.apply_among(&mut bundle, &self.listing.tools);
        }
        bundle
    }
}

/// Runs what may take long without keeping a worker from other tasks: definitions come from outside and may be large.
pub(super) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
