//! Finds limits, quotas and prices that have no effect.

use super::Quotas;
use crate::policy::selector::Selector;
use crate::policy::{Inventory, RuleKind, UnusedRule, explain_mismatch, unmatched_names};
use aquifer_protocol::operation::Operation;

impl Quotas {
    pub(crate) fn has_any(&self) -> bool {
        !(self.rates.is_empty() && self.quotas.is_empty() && self.prices.is_empty())
    }

    /// Finds every limit, quota and price of the operator that is known to match no operation.
    pub(crate) fn find_unused(&self, inventory: &Inventory<'_>) -> Vec<UnusedRule> {
        let mut unused = Vec::new();
        for (rate, number) in self.rates.iter().filter(|rate| !rate.is_declared).zip(1..) {
            let counts = |operation: &Operation| rate.counter.may_count(operation);
            let problems = problems(rate.counter.selector(), counts, inventory);
            unused.extend(problems.into_iter().map(|problem| UnusedRule {
                kind: RuleKind::RateLimit,
                number,
                name: Some(rate.name.clone()),
                problem,
            }));
        }
        for (quota, number) in self.quotas.iter().filter(|quota| !quota.is_declared).zip(1..) {
            let counts = |operation: &Operation| quota.counter.may_count(operation);
            let problems = problems(quota.counter.selector(), counts, inventory);
            unused.extend(problems.into_iter().map(|problem| UnusedRule {
                kind: RuleKind::Quota,
                number,
                name: Some(quota.metric.clone()),
                problem,
            }));
        }
        for (price, number) in self.prices.iter().filter(|price| !price.is_declared).zip(1..) {
            let counts = |operation: &Operation| price.selector.selects(operation);
            let problems = problems(&price.selector, counts, inventory);
            let kind = RuleKind::Cost;
            unused.extend(problems.into_iter().map(|problem| UnusedRule { kind, number, name: None, problem }));
        }
        unused
    }
}

fn problems(selector: &Selector, counts: impl Fn(&Operation) -> bool, inventory: &Inventory<'_>) -> Vec<String> {
    if inventory.operations().any(counts) {
        unmatched_names(selector, inventory)
    } else {
        explain_mismatch(selector, inventory).into_iter().collect()
    }
}
