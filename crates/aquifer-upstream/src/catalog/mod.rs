//! The catalog of one upstream: captured tool lists, quarantine, and the snapshot that is served.

pub(crate) mod capture;
pub(crate) mod draft;
pub(crate) mod observed_results;
pub(crate) mod quarantine;
pub(crate) mod snapshot;
