//! What the gate needs to know about its sources: whether there are several, and the limits that their adapter files
//! declare.

use aquifer_discovery::adapter::{LimitScope, RateLimits, Window};
use aquifer_gate::policy::Words;
use aquifer_gate::quota::{CostSettings, Counted, DeclaredLimits, RateLimitSettings, Span, ThresholdSettings};

/// What the gate needs to know about the sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SourceFacts {
    /// Whether more than one source is configured, including those that cannot be served yet.
    pub(crate) has_several: bool,
    pub(crate) limits: DeclaredLimits,
}

impl SourceFacts {
    /// Adds the limits that the adapter file of a source declares. Limits of an API apply to all callers together.
    pub(crate) fn add(&mut self, source: &str, declared: &RateLimits) {
        let limits = declared.limits.iter().map(|limit| RateLimitSettings {
            name: format!("{}: {}", source.replace('/', "_"), limit.name),
            limit: limit.limit,
            window: match limit.window {
                Window::Second => Span::Second,
                Window::Minute => Span::Minute,
                Window::Hour => Span::Hour,
                Window::Day => Span::Day,
            },
            counted: counted(source, &limit.scope),
        });
        self.limits.rate_limit.extend(limits);
        let quotas = declared.quotas.iter().map(|quota| ThresholdSettings {
            metric: quota.metric.clone(),
            warn: quota.warn,
            pause: quota.pause,
            hard_stop: quota.hard_stop,
            counted: counted(source, &LimitScope::All),
        });
        self.limits.quota.extend(quotas);
        for price in &declared.prices {
            // A price has no category of its own: a file has prices by endpoint only.
            let Counted { source, operation, .. } = counted(source, &price.scope);
            let (tool, table) = (Words::default(), Words::default());
            self.limits.cost.push(CostSettings { operation, tool, table, source, cost_per_call: price.cost_per_call });
        }
        self.limits.currency = self.limits.currency.take().or_else(|| declared.currency.clone());
    }
}

fn counted(source: &str, scope: &LimitScope) -> Counted {
    let source = Words(vec![literal(source)]);
    match scope {
        LimitScope::All => Counted { source, ..Counted::default() },
        LimitScope::Category(category) => {
            Counted { source, category: Words(vec![category.as_str().to_owned()]), ..Counted::default() }
        }
        LimitScope::Operations(names) => Counted { source, operation: Words(names.clone()), ..Counted::default() },
    }
}

/// A pattern that matches this name. Special characters cannot be escaped in a pattern, so a wildcard replaces them: a
/// limit that counts too much is better than one that counts nothing.
fn literal(name: &str) -> String {
    let one = |letter: char| match letter {
        '*' | '!' | '|' | '[' | ']' | '{' | '}' => '?',
        other => other,
    };
    name.chars().map(one).collect()
}
