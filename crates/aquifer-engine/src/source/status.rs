//! The origin and the age of what a source offers.

use std::time::Duration;

use aquifer_protocol::error::{Code, Failure};

/// When a call to a source that is starting should be repeated.
const STARTING_RETRY_SECONDS: u64 = 5;

/// The origin of a source's offering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogState {
    /// From the source itself, which is available.
    #[default]
    Live,
    /// From an earlier time. The source has not been contacted yet, or its connection has ended.
    Cached,
    /// There is none yet: the source is starting for the first time.
    Starting,
    /// The source could not be reached. Its offering, if any, is from an earlier time.
    Unavailable,
}

impl CatalogState {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            CatalogState::Live => "live",
            CatalogState::Cached => "cached",
            CatalogState::Starting => "starting",
            CatalogState::Unavailable => "unavailable",
        }
    }
}

/// The failure for a call to a source that is still starting.
pub fn starting_failure(source: &str) -> Failure {
    let message = format!("Source '{source}' is starting. Try again in a moment");
    Failure::new(Code::UpstreamUnavailable, message)
        .detail("source", source)
        .detail("retry_after_seconds", STARTING_RETRY_SECONDS)
}

/// The origin and age of a source's offering, and what is withheld.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceStatus {
    /// The origin.
    pub state: CatalogState,
    /// The age of the offering, if known.
    pub catalog_age: Option<Duration>,
    /// The number of operations that cannot be called until somebody accepts their definitions.
    pub quarantined: usize,
    /// The number of tools that are not served because a limit was exceeded.
    pub left_out: usize,
    /// Notes for the operator. Never shown to callers.
    pub notes: Vec<String>,
    /// Settings of the source that do not fit it, for the operator. Never shown to callers.
    pub setting_problems: Vec<String>,
}
