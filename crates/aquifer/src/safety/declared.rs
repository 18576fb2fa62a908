//! The properties of sources that the gate depends on: whether there are several, and the limits in their adapter
//! files.

use std::collections::BTreeMap;

use aquifer_discovery::adapter::{LimitScope, RateLimits, Window};
use aquifer_gate::GateSettings;
use aquifer_gate::policy::PatternList;
use aquifer_gate::quota::{
    CostSettings, CounterScope, DeclaredLimits, RateLimitSettings, ThresholdSettings, WindowUnit,
};

use crate::config::{Config, GateConfig};
use crate::sources::Plans;

/// The properties of sources that the gate depends on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SourceFacts {
    /// Whether more than one source is configured, including those that cannot be served yet.
    pub(crate) has_several: bool,
    pub(crate) limits: DeclaredLimits,
    /// The known destinations, by source.
    pub(crate) known_destinations: BTreeMap<String, Vec<String>>,
}

impl SourceFacts {
    /// The properties of planned sources, before they are opened.
    pub(crate) fn new(plans: &Plans) -> Self {
        let mut facts = Self { has_several: plans.has_several(), ..Self::default() };
        for plan in &plans.plans {
            facts.add_known_destinations(&plan.name, plan.known_destinations());
            if let Some(limits) = plan.rate_limits() {
                facts.add(&plan.name, limits);
            }
        }
        facts
    }

    /// The settings of a gate in front of these sources.
    pub(crate) fn gate_settings(&self, gate: &GateConfig) -> GateSettings {
        gate.settings(self.has_several, &self.limits, &self.known_destinations)
    }

    /// The properties that the configuration alone tells, to check it before any source is known.
    pub(crate) fn of_config(config: &Config) -> Self {
        let mut facts = Self::default();
        for source in &config.source {
            let name = source.name.as_deref().or(source.target.as_deref()).unwrap_or_default();
            facts.add_known_destinations(name, &source.known_destinations);
        }
        facts
    }

    fn add_known_destinations(&mut self, source: &str, known: &[String]) {
        if !known.is_empty() {
            self.known_destinations.entry(source.to_owned()).or_default().extend_from_slice(known);
        }
    }

    /// Adds the limits that the adapter file of a source declares. Limits of an API apply to all callers together.
    fn add(&mut self, source: &str, declared: &RateLimits) {
        let limits = declared.limits.iter().map(|limit| RateLimitSettings {
            name: format!("{}: {}", source.replace('/', "_"), limit.name),
            limit: limit.limit,
            window: match limit.window {
                Window::Second => WindowUnit::Second,
                Window::Minute => WindowUnit::Minute,
                Window::Hour => WindowUnit::Hour,
                Window::Day => WindowUnit::Day,
            },
            scope: counter_scope(source, &limit.scope),
        });
        self.limits.rate_limit.extend(limits);
        let quotas = declared.quotas.iter().map(|quota| ThresholdSettings {
            metric: quota.metric.clone(),
            param: None,
            warn: quota.warn,
            pause: quota.pause,
            hard_stop: quota.hard_stop,
            scope: counter_scope(source, &LimitScope::All),
        });
        self.limits.quota.extend(quotas);
        for price in &declared.prices {
            // Prices in adapter files have no category.
            let CounterScope { source, operation, .. } = counter_scope(source, &price.scope);
            let (tool, table) = (PatternList::default(), PatternList::default());
            self.limits.cost.push(CostSettings { operation, tool, table, source, cost_per_call: price.cost_per_call });
        }
        self.limits.currency = self.limits.currency.take().or_else(|| declared.currency.clone());
    }
}

fn counter_scope(source: &str, scope: &LimitScope) -> CounterScope {
    let source = PatternList(vec![literal(source)]);
    match scope {
        LimitScope::All => CounterScope { source, ..CounterScope::default() },
        LimitScope::Category(category) => CounterScope {
            source,
            category: PatternList(vec![category.as_str().to_owned()]),
            ..CounterScope::default()
        },
        LimitScope::Operations(names) => {
            CounterScope { source, operation: PatternList(names.clone()), ..CounterScope::default() }
        }
    }
}

/// A pattern that matches this name. Special characters cannot be escaped in a pattern, so they are replaced by a
/// wildcard: a limit that counts too much is better than one that counts nothing.
fn literal(name: &str) -> String {
    let escape = |character: char| match character {
        '*' | '!' | '|' | '[' | ']' | '{' | '}' => '?',
        other => other,
    };
    name.chars().map(escape).collect()
}
