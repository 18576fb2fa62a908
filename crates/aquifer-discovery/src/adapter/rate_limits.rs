//! The rate limits that an adapter file declares for its target: the fields of the published schema, and the blocks of
//! the specification's document on rate limits. They are enforced where the adapter is served.

use aquifer_protocol::category::Category;

/// Limits, quotas and prices of one adapter. They count the calls of all callers together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateLimits {
    /// Its rate limits.
    pub limits: Vec<DeclaredLimit>,
    /// Its quotas.
    pub quotas: Vec<DeclaredQuota>,
    /// The prices of calls. If several match, the last one counts.
    pub prices: Vec<DeclaredPrice>,
    /// The unit of costs.
    pub currency: Option<String>,
    /// The maximum number of concurrent calls.
    pub max_concurrent: Option<usize>,
}

/// A maximum number of calls per period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLimit {
    /// Its name, unique among the limits of the adapter.
    pub name: String,
    /// The maximum number of calls.
    pub limit: u64,
    /// The period.
    pub window: Window,
    /// The operations it applies to.
    pub scope: LimitScope,
}

/// A quota with its thresholds.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredQuota {
    /// What is counted and the period: `requests_per_hour`, `cost_per_day`.
    pub metric: String,
    /// From this threshold on, answers contain a warning.
    pub warn: Option<f64>,
    /// From this threshold on, each call needs confirmation.
    pub pause: Option<f64>,
    /// Above this threshold, calls are refused.
    pub hard_stop: Option<f64>,
}

/// The price of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredPrice {
    /// The operations it applies to.
    pub scope: LimitScope,
    /// The price of one call.
    pub cost_per_call: f64,
}

/// The operations that a limit or price applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitScope {
    /// All operations of the adapter.
    All,
    /// The operations of a category.
    Category(Category),
    /// The listed operations.
    Operations(Vec<String>),
}

/// The period in which calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl Window {
    /// All periods.
    pub const ALL: [Window; 4] = [Window::Second, Window::Minute, Window::Hour, Window::Day];

    /// The word in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Window::Second => "second",
            Window::Minute => "minute",
            Window::Hour => "hour",
            Window::Day => "day",
        }
    }
}
