//! The status of limits and quotas, for introspection (R-INT-6).

use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::store::Window;
use aquifer_protocol::operation::Operation;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::counter::Counter;
use super::{Quota, Quotas, WindowUnit};
use crate::confirm::format_seconds;
use crate::timeout::with_timeout;

impl Quotas {
    /// How much of each limit and quota this caller has used, for all sources or for one. Counts that are kept per
    /// source or operation have no single total. `next_reset` is when the oldest usage has left its window: windows
    /// slide, so nothing is reset as a whole.
    pub(crate) async fn status(&self, caller: &Caller, source: Option<&str>) -> Value {
        let counts = |counter: &Counter| {
            counter.counts_caller(caller) && source.is_none_or(|source| counter.selector().selects_source(source))
        };
        let mut limits = Map::new();
        let mut next_reset: Option<Timestamp> = None;
        for rate in self.rates.iter().filter(|rate| counts(&rate.counter)) {
            let mut status_json =
                json!({ "limit": rate.limit, "window": rate.span.as_str(), "per": rate.counter.per() });
            if let (Some(key), Some(status_json)) = (rate.counter.caller_key(caller), status_json.as_object_mut()) {
                match with_timeout(self.store.spend(&key, 0, rate.limit.saturating_sub(1), rate.span.duration())).await
                {
                    Ok(spent) => {
                        let reset = self.next_reset(&key, spent.total, rate.span).await;
                        next_reset = earliest(next_reset, reset);
                        status_json.insert("remaining".to_owned(), rate.limit.saturating_sub(spent.total).into());
                        // A caller that may still call waits for nothing.
                        let resets_at = if spent.accepted { reset } else { self.after(spent.retry_after) };
                        if let Some(at) = resets_at {
                            status_json.insert("resets_at".to_owned(), format_seconds(super::round_up(at)).into());
                        }
                    }
                    Err(_) => drop(status_json.insert("status".to_owned(), "unknown".into())),
                }
            }
            limits.insert(rate.name.clone(), status_json);
        }
        let mut quotas = Vec::new();
        for quota in self.quotas.iter().filter(|quota| counts(&quota.counter)) {
            let (status_json, reset) = self.quota_status(quota, caller).await;
            next_reset = earliest(next_reset, reset);
            quotas.push(status_json);
        }
        let next_reset = next_reset.map(|at| format_seconds(super::round_up(at)));
        json!({ "api_limits": limits, "quotas": quotas, "next_reset": next_reset })
    }

    /// The time after this wait, if there is one.
    fn after(&self, wait: Duration) -> Option<Timestamp> {
        self.clock.now().checked_add(SignedDuration::try_from(wait).ok()?).ok()
    }

    /// When the oldest usage has left the window. A store counts usage in steps of the window, and a step leaves
    /// gradually: from the moment at which less is counted, it takes until the end of the step.
    async fn next_reset(&self, key: &str, used: u64, span: WindowUnit) -> Option<Timestamp> {
        let less = used.checked_sub(1)?;
        let now = self.clock.now();
        let spent = with_timeout(self.store.spend(key, 0, less, span.duration())).await.ok()?;
        let begins = now.checked_add(SignedDuration::try_from(spent.retry_after).ok()?).ok()?;
        let step = Window::new(span.duration()).width();
        let ends = u64::try_from(begins.as_millisecond()).ok()?.checked_next_multiple_of(step)?;
        Timestamp::from_millisecond(i64::try_from(ends).ok()?).ok()
    }

    /// Every limit and quota that counts a call of this operation, with its status.
    pub(crate) async fn status_of_operation(&self, operation: &Operation, caller: &Caller) -> Vec<Value> {
        let mut status_json = Vec::new();
        for rate in self.rates.iter().filter(|rate| rate.counter.counts(operation, caller)) {
            let key = rate.counter.key(operation, caller);
            let spent =
                with_timeout(self.store.spend(&key, 0, rate.limit.saturating_sub(1), rate.span.duration())).await.ok();
            let status = spent.map_or("unknown", |spent| if spent.accepted { "ok" } else { "exhausted" });
            status_json.push(json!({
                "kind": "rate_limit", "name": rate.name, "limit": rate.limit, "window": rate.span.as_str(),
                "used": spent.map(|spent| spent.total), "status": status,
            }));
        }
        for quota in
            self.quotas.iter().filter(|quota| quota.may_count(operation) && quota.counter.counts_caller(caller))
        {
            let key = quota.counter.key(operation, caller);
            let used = with_timeout(self.store.spend(&key, 0, u64::MAX, quota.span.duration())).await.ok();
            let shown = |threshold: Option<u64>| threshold.map(|threshold| quota.to_json(threshold));
            status_json.push(json!({
                "kind": "quota", "metric": quota.metric, "used": used.map(|used| quota.to_json(used.total)),
                "warn": shown(quota.warn), "pause": shown(quota.pause), "hard_stop": shown(quota.stop),
                "status": used.map_or("unknown", |used| quota.status(used.total)),
            }));
        }
        status_json
    }

    async fn quota_status(&self, quota: &Quota, caller: &Caller) -> (Value, Option<Timestamp>) {
        let mut status_json = Map::new();
        status_json.insert("metric".to_owned(), quota.metric.as_str().into());
        let key = quota.counter.caller_key(caller);
        let (mut used, mut next_reset) = (None, None);
        if let Some(key) = &key {
            used = with_timeout(self.store.spend(key, 0, u64::MAX, quota.span.duration())).await.ok();
            next_reset = self.next_reset(key, used.map_or(0, |used| used.total), quota.span).await;
        }
        if let Some(used) = &used {
            status_json.insert("current".to_owned(), quota.to_json(used.total));
        }
        for (name, threshold) in [("warn", quota.warn), ("pause", quota.pause), ("hard_stop", quota.stop)] {
            status_json.extend(threshold.map(|threshold| (name.to_owned(), quota.to_json(threshold))));
        }
        let status = used.map_or("unknown", |used| quota.status(used.total));
        status_json.insert("status".to_owned(), status.into());
        status_json.insert("per".to_owned(), json!(quota.counter.per()));
        if let (super::Metric::Cost, Some(currency)) = (quota.kind, &self.currency) {
            status_json.insert("currency".to_owned(), currency.as_str().into());
        }
        (Value::Object(status_json), next_reset)
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
