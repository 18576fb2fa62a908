//! The settings of rate limits, quotas and prices.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::PatternList;

/// Rate limits, quotas and prices.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaSettings {
    /// Rate limits. Calls beyond a limit are refused.
    pub rate_limit: Vec<RateLimitSettings>,
    /// Quotas, with a warning and a pause before the hard stop.
    pub quota: Vec<ThresholdSettings>,
    /// Prices of calls. If several match, the last one applies.
    pub cost: Vec<CostSettings>,
    /// The currency of costs.
    pub currency: Option<String>,
    /// Limits that sources declare in their adapter files. They can only restrict further.
    #[serde(skip)]
    pub declared: DeclaredLimits,
}

/// Limits, quotas and prices that sources declare. The operator's prices take precedence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeclaredLimits {
    /// Rate limits.
    pub rate_limit: Vec<RateLimitSettings>,
    /// Quotas.
    pub quota: Vec<ThresholdSettings>,
    /// Prices.
    pub cost: Vec<CostSettings>,
    /// The currency of costs, unless the operator sets it.
    pub currency: Option<String>,
}

/// The calls that are counted together. Patterns work as in rules; an empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CounterScope {
    /// Patterns for the source's name.
    pub source: PatternList,
    /// Patterns for the operation's names, as in rules.
    pub operation: PatternList,
    /// Patterns for the tool behind the operation, as the upstream server spells it.
    pub tool: PatternList,
    /// Patterns for the table behind the operation, as the database spells it.
    pub table: PatternList,
    /// Categories.
    pub category: PatternList,
    /// What operations do, as in rules: one of these is enough.
    pub does: PatternList,
    /// Patterns for the principal's name.
    pub caller: PatternList,
    /// Keys that are counted separately: with `caller`, every caller has its own count.
    pub per: Vec<PartitionKey>,
}

/// A key by which calls are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKey {
    /// The principal, else the connection; all other callers share one count.
    Caller,
    /// The connection. Calls outside of one share one count.
    Session,
    /// The source.
    Source,
    /// The category.
    Category,
    /// The operation.
    Operation,
}

impl PartitionKey {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            PartitionKey::Caller => "caller",
            PartitionKey::Session => "session",
            PartitionKey::Source => "source",
            PartitionKey::Category => "category",
            PartitionKey::Operation => "operation",
        }
    }
}

/// A rate limit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "RateLimitKeys")]
pub struct RateLimitSettings {
    /// Its name. Processes that share a store count together under the same name.
    pub name: String,
    /// The maximum number of calls.
    pub limit: u64,
    /// The window.
    pub window: WindowUnit,
    /// The calls it counts.
    pub scope: CounterScope,
}

/// A quota.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ThresholdKeys")]
pub struct ThresholdSettings {
    /// The unit and the window: `requests_per_hour`, `cost_per_day`, `recipients_per_day`, `amount_per_day`.
    pub metric: String,
    /// The parameter that is added up, if the unit is an amount.
    pub param: Option<String>,
    /// Above this, responses carry a warning.
    pub warn: Option<f64>,
    /// Above this, every call needs a token to continue.
    pub pause: Option<f64>,
    /// Above this, calls are refused.
    pub hard_stop: Option<f64>,
    /// The calls it counts.
    pub scope: CounterScope,
}

/// Describes the calls: ` of source shop, each caller apart`. Counters of quotas are named after this text, so it must
/// not change.
impl fmt::Display for CounterScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CounterScope { source, operation, tool, table, category, does, caller, per } = self;
        let selectors = [("source", source), ("operation", operation), ("tool", tool), ("table", table)];
        let selectors = selectors
            .into_iter()
            .chain([("category", category), ("does", does), ("caller", caller)])
            .filter(|(_, words)| !words.0.is_empty());
        for (index, (what, words)) in selectors.enumerate() {
            write!(f, "{} {what} {}", if index == 0 { " of" } else { "," }, words.0.join(", "))?;
        }
        for per in per {
            write!(f, ", each {} apart", per.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Display for RateLimitSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} a {}{}", self.name, self.limit, self.window.as_str(), self.scope)
    }
}

impl fmt::Display for ThresholdSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.metric)?;
        if let Some(param) = &self.param {
            write!(f, " in '{param}'")?;
        }
        let steps = [("warns", self.warn), ("pauses", self.pause), ("stops", self.hard_stop)];
        let steps = steps.into_iter().filter_map(|(does, from)| Some((does, from?)));
        for (index, (does, from)) in steps.enumerate() {
            write!(f, "{} {does} from {from}", if index == 0 { ":" } else { "," })?;
        }
        write!(f, "{}", self.scope)
    }
}

/// A rate limit as written in the configuration: all keys at one level, unknown keys rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateLimitKeys {
    name: String,
    limit: u64,
    window: WindowUnit,
    #[serde(default)]
    source: PatternList,
    #[serde(default)]
    operation: PatternList,
    #[serde(default)]
    tool: PatternList,
    #[serde(default)]
    table: PatternList,
    #[serde(default)]
    category: PatternList,
    #[serde(default)]
    does: PatternList,
    #[serde(default)]
    caller: PatternList,
    #[serde(default)]
    per: Vec<PartitionKey>,
}

impl From<RateLimitKeys> for RateLimitSettings {
    fn from(keys: RateLimitKeys) -> Self {
        let RateLimitKeys { name, limit, window, source, operation, tool, table, category, does, caller, per } = keys;
        let scope = CounterScope { source, operation, tool, table, category, does, caller, per };
        Self { name, limit, window, scope }
    }
}

/// A quota as written in the configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdKeys {
    metric: String,
    #[serde(default)]
    param: Option<String>,
    #[serde(default)]
    warn: Option<f64>,
    #[serde(default)]
    pause: Option<f64>,
    #[serde(default)]
    hard_stop: Option<f64>,
    #[serde(default)]
    source: PatternList,
    #[serde(default)]
    operation: PatternList,
    #[serde(default)]
    tool: PatternList,
    #[serde(default)]
    table: PatternList,
    #[serde(default)]
    category: PatternList,
    #[serde(default)]
    does: PatternList,
    #[serde(default)]
    caller: PatternList,
    #[serde(default)]
    per: Vec<PartitionKey>,
}

impl From<ThresholdKeys> for ThresholdSettings {
    fn from(keys: ThresholdKeys) -> Self {
        let ThresholdKeys {
            metric,
            param,
            warn,
            pause,
            hard_stop,
            source,
            operation,
            tool,
            table,
            category,
            does,
            caller,
            per,
        } = keys;
        let scope = CounterScope { source, operation, tool, table, category, does, caller, per };
        Self { metric, param, warn, pause, hard_stop, scope }
    }
}

/// The price of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostSettings {
    /// Patterns for the operation's names, as in rules.
    #[serde(default)]
    pub operation: PatternList,
    /// Patterns for the tool behind the operation, as the upstream server spells it.
    #[serde(default)]
    pub tool: PatternList,
    /// Patterns for the table behind the operation, as the database spells it.
    #[serde(default)]
    pub table: PatternList,
    /// Patterns for the source's name.
    #[serde(default)]
    pub source: PatternList,
    /// The cost of one call.
    pub cost_per_call: f64,
}

/// The window in which calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowUnit {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// Thirty days.
    Month,
}

impl WindowUnit {
    const ALL: [WindowUnit; 5] =
        [WindowUnit::Second, WindowUnit::Minute, WindowUnit::Hour, WindowUnit::Day, WindowUnit::Month];

    /// The window as text.
    pub const fn as_str(self) -> &'static str {
        match self {
            WindowUnit::Second => "second",
            WindowUnit::Minute => "minute",
            WindowUnit::Hour => "hour",
            WindowUnit::Day => "day",
            WindowUnit::Month => "month",
        }
    }

    /// Its length.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(match self {
            WindowUnit::Second => 1,
            WindowUnit::Minute => 60,
            WindowUnit::Hour => 60 * 60,
            WindowUnit::Day => 24 * 60 * 60,
            WindowUnit::Month => 30 * 24 * 60 * 60,
        })
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        WindowUnit::ALL.into_iter().find(|span| span.as_str() == name)
    }
}

/// All problems of the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct QuotaSettingsError(pub Vec<String>);
