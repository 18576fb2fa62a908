//! How often an adapter's target may be called, as its file declares it: the fields of the published schema, and the blocks
//! of the specification's document on rate limits. What is read here is enforced by whoever serves the adapter.

use aquifer_protocol::category::Category;

/// Limits, quotas and prices of one adapter. They count the calls of all callers together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateLimits {
    /// How often its operations may be called.
    pub limits: Vec<DeclaredLimit>,
    /// How much may be used, with steps before the end.
    pub quotas: Vec<DeclaredQuota>,
    /// What calls cost; of several that match, the last one counts.
    pub prices: Vec<DeclaredPrice>,
    /// What costs are counted in.
    pub currency: Option<String>,
    /// Calls under way at once.
    pub max_concurrent: Option<usize>,
}

/// So many calls within so long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLimit {
    /// Its name, unlike that of any other limit of the adapter.
    pub name: String,
    /// How many calls.
    pub limit: u64,
    /// Within how long.
    pub window: Window,
    /// Of which operations.
    pub scope: LimitScope,
}

/// Steps before the end of a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredQuota {
    /// What is counted, and within how long: `requests_per_hour`, `cost_per_day`.
    pub metric: String,
    /// From here on answers carry a warning.
    pub warn: Option<f64>,
    /// From here on somebody has to confirm each call.
    pub pause: Option<f64>,
    /// Beyond this calls are refused.
    pub hard_stop: Option<f64>,
}

/// What a call costs.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredPrice {
    /// Of which operations.
    pub scope: LimitScope,
    /// What one call costs.
    pub cost_per_call: f64,
}

/// The operations that a limit or price is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitScope {
    /// All of the adapter.
    All,
    /// Those of a category.
    Category(Category),
    /// These.
    Operations(Vec<String>),
}

/// How long calls are counted together.
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
    /// All of them.
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
