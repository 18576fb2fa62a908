//! How much of what is used, for those who ask (R-INT-6).

use aquifer_engine::Caller;
use aquifer_protocol::operation::Operation;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::counter::Counter;
use super::{Quota, Quotas, Span};
use crate::confirm::to_the_second;
use crate::timeout::within;

impl Quotas {
    /// How much of which limit and quota this caller has used, of all sources or of one. What is counted by source or
    /// operation has no single number, and is told without one. `next_reset` is when the first of what is counted ceases to
    /// count: windows slide, so nothing is reset as a whole.
    pub(crate) async fn status(&self, caller: &Caller, source: Option<&str>) -> Value {
        let counts = |counter: &Counter| {
            counter.counts_caller(caller) && source.is_none_or(|source| counter.selector().selects_source(source))
        };
        let mut limits = Map::new();
        let mut next_reset: Option<Timestamp> = None;
        for rate in self.rates.iter().filter(|rate| counts(&rate.counter)) {
            let mut told = json!({ "limit": rate.most, "window": rate.span.as_str(), "per": rate.counter.per() });
            if let (Some(key), Some(told)) = (rate.counter.key_of_caller(caller), told.as_object_mut()) {
                match within(self.store.spend(&key, 0, rate.most.saturating_sub(1), rate.span.duration())).await {
                    Ok(spent) => {
                        let reset = self.next_reset(&key, spent.total, rate.span).await;
                        next_reset = earliest(next_reset, reset);
                        told.insert("remaining".to_owned(), rate.most.saturating_sub(spent.total).into());
                        let frees = SignedDuration::try_from(spent.retry_after).ok();
                        if let Some(at) = frees.and_then(|frees| self.clock.now().checked_add(frees).ok()) {
                            told.insert("resets_at".to_owned(), to_the_second(super::after(at)).into());
                        }
                    }
                    Err(_) => drop(told.insert("status".to_owned(), "unknown".into())),
                }
            }
            limits.insert(rate.name.clone(), told);
        }
        let mut quotas = Vec::new();
        for quota in self.quotas.iter().filter(|quota| counts(&quota.counter)) {
            let (told, reset) = self.quota_status(quota, caller).await;
            next_reset = earliest(next_reset, reset);
            quotas.push(told);
        }
        let next_reset = next_reset.map(|at| to_the_second(super::after(at)));
        json!({ "api_limits": limits, "quotas": quotas, "next_reset": next_reset })
    }

    /// When the oldest of what is counted ceases to count.
    async fn next_reset(&self, key: &str, used: u64, span: Span) -> Option<Timestamp> {
        let less = used.checked_sub(1)?;
        let spent = within(self.store.spend(key, 0, less, span.duration())).await.ok()?;
        self.clock.now().checked_add(SignedDuration::try_from(spent.retry_after).ok()?).ok()
    }

    /// Every limit and quota that counts a call of this operation, and how far each is used up.
    pub(crate) async fn counting(&self, operation: &Operation, caller: &Caller) -> Vec<Value> {
        let mut told = Vec::new();
        for rate in self.rates.iter().filter(|rate| rate.counter.counts(operation, caller)) {
            let key = rate.counter.key(operation, caller);
            let spent = within(self.store.spend(&key, 0, rate.most.saturating_sub(1), rate.span.duration())).await.ok();
            let status = spent.map_or("unknown", |spent| if spent.accepted { "ok" } else { "exhausted" });
            told.push(json!({
                "kind": "rate_limit", "name": rate.name, "limit": rate.most, "window": rate.span.as_str(),
                "used": spent.map(|spent| spent.total), "status": status,
            }));
        }
        for quota in self.quotas.iter().filter(|quota| quota.counter.counts(operation, caller)) {
            let key = quota.counter.key(operation, caller);
            let used = within(self.store.spend(&key, 0, u64::MAX, quota.span.duration())).await.ok();
            let shown = |threshold: Option<u64>| threshold.map(|threshold| quota.shown(threshold));
            told.push(json!({
                "kind": "quota", "metric": quota.metric, "used": used.map(|used| quota.shown(used.total)),
                "warn": shown(quota.warn), "pause": shown(quota.pause), "hard_stop": shown(quota.stop),
                "status": used.map_or("unknown", |used| quota.status(used.total)),
            }));
        }
        told
    }

    async fn quota_status(&self, quota: &Quota, caller: &Caller) -> (Value, Option<Timestamp>) {
        let mut told = Map::new();
        told.insert("metric".to_owned(), quota.metric.as_str().into());
        let key = quota.counter.key_of_caller(caller);
        let (mut used, mut next_reset) = (None, None);
        if let Some(key) = &key {
            used = within(self.store.spend(key, 0, u64::MAX, quota.span.duration())).await.ok();
            next_reset = self.next_reset(key, used.map_or(0, |used| used.total), quota.span).await;
        }
        if let Some(used) = &used {
            told.insert("current".to_owned(), quota.shown(used.total));
        }
        for (name, threshold) in [("warn", quota.warn), ("pause", quota.pause), ("hard_stop", quota.stop)] {
            told.extend(threshold.map(|threshold| (name.to_owned(), quota.shown(threshold))));
        }
        let status = used.map_or("unknown", |used| quota.status(used.total));
        told.insert("status".to_owned(), status.into());
        told.insert("per".to_owned(), json!(quota.counter.per()));
        if let (super::Metric::Cost, Some(currency)) = (quota.what, &self.currency) {
            told.insert("currency".to_owned(), currency.as_str().into());
        }
        (Value::Object(told), next_reset)
    }
}

fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

impl Quota {
    fn status(&self, used: u64) -> &'static str {
        let reached = |threshold: Option<u64>| threshold.is_some_and(|threshold| used >= threshold);
        match () {
            () if reached(self.stop) => "exhausted",
            () if reached(self.pause) => "paused",
            () if reached(self.warn) => "warn",
            () => "ok",
        }
    }
}
