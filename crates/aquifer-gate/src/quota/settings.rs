//! Rate limits, quotas and prices as an operator writes them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::PatternList;

/// Rate limits, quotas and prices.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaSettings {
    /// How often something may be done. What is beyond is refused.
    pub rate_limit: Vec<RateLimitSettings>,
    /// How much may be used, with a warning and a pause before the end.
    pub quota: Vec<ThresholdSettings>,
    /// What a call costs. Where several say so, the last one does.
    pub cost: Vec<CostSettings>,
    /// What costs are counted in.
    pub currency: Option<String>,
    /// What sources declare themselves, in their adapter files. It can only restrict further.
    #[serde(skip)]
    pub declared: DeclaredLimits,
}

/// Limits, quotas and prices that sources declare. Prices of the operator come before these.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeclaredLimits {
    /// How often something may be done.
    pub rate_limit: Vec<RateLimitSettings>,
    /// How much may be used.
    pub quota: Vec<ThresholdSettings>,
    /// What a call costs.
    pub cost: Vec<CostSettings>,
    /// What costs are counted in, unless the operator says so.
    pub currency: Option<String>,
}

/// Which calls are counted together. Patterns as in rules; what is not said admits everything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CounterScope {
    /// Patterns over the source's name.
    pub source: PatternList,
    /// Patterns over the operation's names, as in rules.
    pub operation: PatternList,
    /// Patterns over the tool behind the operation, as the upstream server spells it.
    pub tool: PatternList,
    /// Patterns over the table behind the operation, as the database spells it.
    pub table: PatternList,
    /// Categories.
    pub category: PatternList,
    /// Patterns over the authenticated principal's name.
    pub caller: PatternList,
    /// What is counted apart: with `caller`, every caller has a count of its own.
    pub per: Vec<PartitionKey>,
}

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKey {
    /// The principal, else the connection, else everybody unknown together.
    Caller,
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
            PartitionKey::Source => "source",
            PartitionKey::Category => "category",
            PartitionKey::Operation => "operation",
        }
    }
}

/// How often something may be done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "RateLimitKeys")]
pub struct RateLimitSettings {
    /// What it is called. Processes that share a store count together under one name.
    pub name: String,
    /// So many calls.
    pub limit: u64,
    /// Within so long.
    pub window: WindowUnit,
    /// Of these.
    pub scope: CounterScope,
}

/// How much may be used.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ThresholdKeys")]
pub struct ThresholdSettings {
    /// What is counted, and within how long: `requests_per_hour`, `cost_per_day`.
    pub metric: String,
    /// From here on answers carry a warning.
    pub warn: Option<f64>,
    /// From here on somebody has to say that it goes on, call by call.
    pub pause: Option<f64>,
    /// Beyond this nothing goes on.
    pub hard_stop: Option<f64>,
    /// Of these.
    pub scope: CounterScope,
}

/// Which calls, in words: ` of source shop, each caller apart`.
impl fmt::Display for CounterScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CounterScope { source, operation, tool, table, category, caller, per } = self;
        let said = [("source", source), ("operation", operation), ("tool", tool), ("table", table)];
        let said = said
            .into_iter()
            .chain([("category", category), ("caller", caller)])
            .filter(|(_, words)| !words.0.is_empty());
        for (index, (what, words)) in said.enumerate() {
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
        let steps = [("warns", self.warn), ("pauses", self.pause), ("stops", self.hard_stop)];
        let steps = steps.into_iter().filter_map(|(does, from)| Some((does, from?)));
        for (index, (does, from)) in steps.enumerate() {
            write!(f, "{} {does} from {from}", if index == 0 { ":" } else { "," })?;
        }
        write!(f, "{}", self.scope)
    }
}

/// A rate limit as it is written: all keys side by side, and no others.
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
    caller: PatternList,
    #[serde(default)]
    per: Vec<PartitionKey>,
}

impl From<RateLimitKeys> for RateLimitSettings {
    fn from(keys: RateLimitKeys) -> Self {
        let RateLimitKeys { name, limit, window, source, operation, tool, table, category, caller, per } = keys;
        Self { name, limit, window, scope: CounterScope { source, operation, tool, table, category, caller, per } }
    }
}

/// A quota as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdKeys {
    metric: String,
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
    caller: PatternList,
    #[serde(default)]
    per: Vec<PartitionKey>,
}

impl From<ThresholdKeys> for ThresholdSettings {
    fn from(keys: ThresholdKeys) -> Self {
        let ThresholdKeys { metric, warn, pause, hard_stop, source, operation, tool, table, category, caller, per } =
            keys;
        let scope = CounterScope { source, operation, tool, table, category, caller, per };
        Self { metric, warn, pause, hard_stop, scope }
    }
}

/// What a call costs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostSettings {
    /// Patterns over the operation's names, as in rules.
    #[serde(default)]
    pub operation: PatternList,
    /// Patterns over the tool behind the operation, as the upstream server spells it.
    #[serde(default)]
    pub tool: PatternList,
    /// Patterns over the table behind the operation, as the database spells it.
    #[serde(default)]
    pub table: PatternList,
    /// Patterns over the source's name.
    #[serde(default)]
    pub source: PatternList,
    /// What one call costs.
    pub cost_per_call: f64,
}

/// How long something is counted.
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

    /// The span in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            WindowUnit::Second => "second",
            WindowUnit::Minute => "minute",
            WindowUnit::Hour => "hour",
            WindowUnit::Day => "day",
            WindowUnit::Month => "month",
        }
    }

    /// How long it is.
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

/// What is wrong with the settings, everything at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct QuotaSettingsError(pub Vec<String>);
