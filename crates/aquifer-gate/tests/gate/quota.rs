//! Rate limits and quotas (R-SAF-4): refusals, warnings, pauses and the status.

use aquifer_engine::Context;
use aquifer_engine::clock::Clock as _;
use aquifer_gate::GateSettings;
use aquifer_gate::policy::{PolicySettings, RuleEffect, RuleSettings};
use aquifer_gate::quota::{DeclaredLimits, QuotaSettings, describe_counter_resets};
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, caller, code, request, with_person, with_token};

fn harness(quota: Value) -> Harness {
    let quota: QuotaSettings = serde_json::from_value(quota).unwrap();
    Harness::new(&GateSettings { quota, ..GateSettings::default() })
}

fn get(source: &str) -> Value {
    request(&format!("{source}_get_thing"), json!({ "id": "x" }))
}

fn berta() -> Context {
    caller(Some("berta"), Some("session_2"))
}

#[tokio::test]
async fn r_saf_4_rate_limits_count_what_they_select() {
    let limit = |more: Value| {
        let mut limit = json!({ "name": "l", "limit": 2, "window": "minute" });
        limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "rate_limit": [limit] })
    };
    let create = || request("alpha_create_thing", json!({ "id": "x" }));
    // The result of the third call, after two of anna's reads of alpha.
    let table: Vec<(Value, Value, Context, &str)> = vec![
        (json!({}), get("alpha"), anna(), "RATE_LIMIT_EXCEEDED"),
        (json!({}), get("beta"), berta(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "per": ["caller"] }), get("alpha"), berta(), "done"),
        (json!({ "per": ["caller"] }), get("beta"), anna(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "per": ["source"] }), get("beta"), anna(), "done"),
        (json!({ "per": ["source"] }), create(), berta(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "per": ["category"] }), create(), anna(), "done"),
        (json!({ "per": ["category"] }), get("beta"), anna(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "per": ["operation"] }), get("beta"), anna(), "done"),
        (json!({ "per": ["operation"] }), get("alpha"), berta(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "per": ["caller", "operation"] }), get("alpha"), berta(), "done"),
        (json!({ "source": "beta" }), get("alpha"), anna(), "done"),
        (json!({ "source": ["b*", "a*"] }), get("alpha"), anna(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "operation": "*_create_*" }), get("alpha"), anna(), "done"),
        (json!({ "category": "CREATE" }), get("alpha"), anna(), "done"),
        (json!({ "category": "read" }), get("alpha"), anna(), "RATE_LIMIT_EXCEEDED"),
        (json!({ "caller": "berta" }), get("alpha"), anna(), "done"),
    ];
    for (more, third, context, expected) in table {
        let harness = harness(limit(more.clone()));
        for _ in 0..2 {
            assert_eq!(code(&harness.ask(get("alpha")).await), "done", "{more}");
        }
        let answer = harness.ask_as(third.clone(), context).await;
        assert_eq!(code(&answer), expected, "{more} {third}");
        if expected == "RATE_LIMIT_EXCEEDED" {
            let details = &answer["error"]["details"];
            assert_eq!((&details["limit"], &details["remaining"]), (&json!(2), &json!(0)));
            assert_eq!(details["window"], "minute");
            let wait = details["retry_after_seconds"].as_u64().unwrap();
            assert!((1..=61).contains(&wait) && details["resets_at"].is_string(), "{answer}");
            harness.clock.advance(wait);
            assert_eq!(code(&harness.ask_as(third, anna()).await), "done", "who waits so long has waited long enough");
        }
    }
}

#[tokio::test]
async fn r_saf_4_introspection_is_never_limited() {
    let harness = harness(json!({ "rate_limit": [{ "name": "l", "limit": 1, "window": "day" }] }));
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    assert_eq!(code(&harness.ask(get("alpha")).await), "RATE_LIMIT_EXCEEDED");
    for _ in 0..5 {
        assert_eq!(code(&harness.ask(request("introspect", json!({ "query": "quota" }))).await), "done");
    }
}

/// When the oldest counted call leaves its window, and the status of one source.
#[tokio::test]
async fn r_int_6_status_reports_the_next_reset_for_all_sources_or_one() {
    let harness = harness(json!({
        "rate_limit": [
            { "name": "all", "limit": 9, "window": "day" },
            { "name": "alphas", "limit": 9, "window": "minute", "source": "alpha" },
            { "name": "each", "limit": 9, "window": "second", "per": ["operation"] },
        ],
        "quota": [{ "metric": "requests_per_hour", "hard_stop": 9, "source": "beta" }],
    }));
    let ask_status = async |source: Option<&str>| {
        let mut params = json!({ "query": "quota_status" });
        if let Some(source) = source {
            params["source"] = json!(source);
        }
        harness.ask(request("introspect", params)).await["data"].clone()
    };
    let names = |status: &Value| -> Vec<String> { status["api_limits"].as_object().unwrap().keys().cloned().collect() };
    let nothing = ask_status(None).await;
    assert_eq!((&nothing["adapter"], &nothing["next_reset"]), (&json!("aquifer"), &Value::Null), "{nothing}");
    assert_eq!(names(&nothing), ["all", "alphas", "each"]);
    assert_eq!(code(&harness.ask(get("beta")).await), "done");
    let seconds = |status: &Value| -> i64 {
        let at: jiff::Timestamp = status["next_reset"].as_str().unwrap_or_else(|| panic!("{status}")).parse().unwrap();
        at.as_second() - "2026-01-28T12:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second()
    };
    // The quota's hour ends before the day; counts per operation have no single number.
    let after_beta = ask_status(None).await;
    assert!((3_600..=3_900).contains(&seconds(&after_beta)), "{after_beta}");
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    let after_both = ask_status(None).await;
    assert!((60..=70).contains(&seconds(&after_both)), "{after_both}");
    let of_beta = ask_status(Some("beta")).await;
    assert_eq!((&of_beta["adapter"], names(&of_beta)), (&json!("beta"), vec!["all".to_owned(), "each".to_owned()]));
    assert!((3_600..=3_900).contains(&seconds(&of_beta)), "{of_beta}");
    let of_alpha = ask_status(Some("alpha")).await;
    assert_eq!((&of_alpha["adapter"], &of_alpha["quotas"]), (&json!("alpha"), &json!([])));
}

/// Usage that is late in one of the sixty steps of a day: it counts for 24 hours, whatever the amounts.
#[tokio::test]
async fn r_int_6_the_next_reset_is_when_the_oldest_usage_has_expired() {
    const DAY: i64 = 24 * 60 * 60;
    const STEP: i64 = DAY / 60;
    for (amount, late) in [(0.01, 0), (0.01, 1), (2.0, 600), (5.0, STEP - 1)] {
        let harness = harness(json!({
            "cost": [{ "cost_per_call": amount }],
            "rate_limit": [{ "name": "l", "limit": 100, "window": "day" }],
            "quota": [{ "metric": "cost_per_day", "hard_stop": 100.0 }],
        }));
        harness.clock.advance(late.unsigned_abs());
        let called_at = harness.clock.steady.now();
        for _ in 0..3 {
            assert_eq!(code(&harness.ask(get("alpha")).await), "done");
        }
        let status = harness.ask(request("introspect", json!({ "query": "quota" }))).await["data"].clone();
        let time =
            |text: &Value| text.as_str().unwrap_or_else(|| panic!("{status}")).parse::<jiff::Timestamp>().unwrap();
        let after = time(&status["next_reset"]).as_second() - called_at.as_second();
        assert!((DAY..=DAY + STEP).contains(&after), "{amount} {late}: {after} {status}");
        assert_eq!(status["api_limits"]["l"]["resets_at"], status["next_reset"], "{status}");
        // Then nothing is counted any more.
        harness.clock.advance(after.unsigned_abs());
        let status = harness.ask(request("introspect", json!({ "query": "quota" }))).await["data"].clone();
        assert_eq!((&status["next_reset"], &status["quotas"][0]["current"]), (&Value::Null, &json!(0.0)), "{status}");
        assert!(status["api_limits"]["l"].get("resets_at").is_none(), "{status}");
    }
}

/// Limits that sources declare are counted like the operator's, and never reported as the operator's mistakes.
#[tokio::test]
async fn r_saf_4_limits_that_sources_declare_are_enforced() {
    let limit = |settings: Value| serde_json::from_value(settings).unwrap();
    let declared = DeclaredLimits {
        rate_limit: vec![limit(
            json!({ "name": "alpha: requests_per_day", "limit": 3, "window": "day", "source": "alpha" }),
        )],
        quota: vec![
            serde_json::from_value(json!({ "metric": "cost_per_day", "hard_stop": 1.0, "source": "beta" })).unwrap(),
        ],
        cost: vec![serde_json::from_value(json!({ "cost_per_call": 0.25, "source": "beta" })).unwrap()],
        currency: Some("EUR".to_owned()),
    };
    let own = json!({ "cost": [{ "cost_per_call": 0.5, "source": "beta" }] });
    let quota = QuotaSettings { declared, ..serde_json::from_value(own).unwrap() };
    let harness = Harness::new(&GateSettings { quota, ..GateSettings::default() });
    for expected in ["done", "done", "done", "RATE_LIMIT_EXCEEDED"] {
        assert_eq!(code(&harness.ask(get("alpha")).await), expected);
    }
    // The operator's price applies, not the source's.
    for expected in ["done", "done", "RATE_LIMIT_QUOTA_EXHAUSTED"] {
        assert_eq!(code(&harness.ask(get("beta")).await), expected);
    }
    let status = harness.ask(request("introspect", json!({ "query": "quota" }))).await;
    assert_eq!(status["data"]["quotas"][0]["currency"], "EUR", "{status}");
}

fn status(answer: &Value) -> (&str, &Value) {
    let quota = &answer["data"]["quotas"][0];
    (quota["status"].as_str().unwrap(), &quota["current"])
}

#[tokio::test]
async fn r_saf_4_a_quota_warns_pauses_and_ends() {
    let quota = json!({ "metric": "requests_per_hour", "warn": 2, "pause": 3, "hard_stop": 5, "per": ["caller"] });
    let harness = harness(json!({ "quota": [quota] }));
    let ask_status = || harness.ask(request("introspect", json!({ "query": "quota" })));
    assert_eq!(status(&ask_status().await), ("ok", &json!(0)));
    let first = harness.ask(get("alpha")).await;
    assert!(first.get("warnings").is_none(), "{first}");
    let second = harness.ask(get("alpha")).await;
    assert_eq!(second["warnings"][0]["code"], "RATE_LIMIT_QUOTA_WARNING", "{second}");
    let details = &second["warnings"][0]["details"];
    let reported = ["metric", "current", "warn_threshold", "pause_threshold"].map(|name| details[name].clone());
    assert_eq!(reported, [json!("requests_per_hour"), json!(2), json!(2), json!(3)]);
    assert_eq!(status(&ask_status().await), ("warn", &json!(2)));
    let third = harness.ask(get("alpha")).await;
    assert!(third.get("warnings").is_none(), "said once in a session: {third}");
    assert_eq!(status(&ask_status().await), ("paused", &json!(3)));

    let paused = harness.ask(get("alpha")).await;
    assert_eq!(code(&paused), "RATE_LIMIT_QUOTA_PAUSE");
    let details = paused["error"]["details"].as_object().unwrap();
    let names: Vec<&String> = details.keys().collect();
    let expected = ["metric", "current", "pause_threshold", "hard_stop_threshold", "confirmation_token", "expires_at"];
    assert_eq!(names, expected);
    assert_eq!((&details["current"], &details["expires_at"]), (&json!(3), &json!("2026-01-28T12:05:00Z")));
    let token = details["confirmation_token"].as_str().unwrap();
    assert!(token.starts_with("quota_continue_") && token.len() <= 80, "{token}");
    assert_eq!(harness.done().len(), 3);
    let other = request("beta_get_thing", json!({ "id": "x", "_quota_continue": token }));
    assert_eq!(code(&harness.ask(other).await), "TOKEN_SCOPE_MISMATCH", "it is for that call");
    let goes_on = request("alpha_get_thing", json!({ "id": "x", "_quota_continue": token }));
    assert_eq!(code(&harness.ask(goes_on.clone()).await), "done");
    assert_eq!(code(&harness.ask(goes_on).await), "TOKEN_ALREADY_USED");

    // It is accepted in the same places as other tokens.
    let token = harness.token(get("alpha")).await;
    assert_eq!(code(&harness.ask(with_token(get("alpha"), &token)).await), "done");
    assert_eq!(status(&ask_status().await), ("exhausted", &json!(5)));
    let ended = harness.ask(get("alpha")).await;
    assert_eq!(code(&ended), "RATE_LIMIT_QUOTA_EXHAUSTED");
    let details = &ended["error"]["details"];
    assert_eq!((&details["current"], &details["hard_stop_threshold"]), (&json!(5), &json!(5)));
    assert!(details["resets_at"].is_string() && details["retry_after_seconds"].is_u64(), "{ended}");
    assert_eq!(code(&harness.ask_as(get("alpha"), berta()).await), "done", "another caller has a quota of its own");
    harness.clock.advance(2 * 60 * 60);
    assert_eq!(status(&ask_status().await), ("ok", &json!(0)));
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
}

#[tokio::test]
async fn r_saf_4_costs_are_added_up_by_operation() {
    let harness = harness(json!({
        "quota": [{ "metric": "cost_per_day", "warn": 0.01, "hard_stop": 0.025 }],
        "cost": [
            { "cost_per_call": 0.001 },
            { "operation": "*_create_*", "cost_per_call": 0.01 },
            { "source": "beta", "operation": "*_get_*", "cost_per_call": 0 },
        ],
        "currency": "USD",
    }));
    let create = || request("alpha_create_thing", json!({ "id": "x" }));
    for _ in 0..50 {
        assert_eq!(code(&harness.ask(get("beta")).await), "done", "what costs nothing uses nothing");
    }
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    assert_eq!(harness.ask(create()).await["warnings"][0]["details"]["current"], 0.011);
    assert_eq!(code(&harness.ask(create()).await), "done");
    let ended = harness.ask(create()).await;
    assert_eq!(code(&ended), "RATE_LIMIT_QUOTA_EXHAUSTED");
    assert_eq!(ended["error"]["details"]["current"], 0.021);
    assert_eq!(code(&harness.ask(get("alpha")).await), "done", "what is cheap still fits");
    let answer = harness.ask(request("introspect", json!({ "query": "quota_status" }))).await;
    let quota = &answer["data"]["quotas"][0];
    assert_eq!((&quota["current"], &quota["hard_stop"]), (&json!(0.022), &json!(0.025)));
    assert_eq!((&quota["currency"], &quota["status"]), (&json!("USD"), &json!("warn")));
}

#[tokio::test]
async fn r_saf_4_calls_that_wait_for_confirmation_use_no_quota() {
    let harness = harness(json!({ "quota": [
        { "metric": "requests_per_day", "pause": 1, "hard_stop": 3 },
        { "metric": "requests_per_hour", "pause": 1 },
    ] }));
    let delete = || request("alpha_delete_thing", json!({ "id": "x" }));
    for _ in 0..5 {
        harness.token(delete()).await;
    }
    let answer = harness.ask(request("introspect", json!({ "query": "quota" }))).await;
    assert_eq!(status(&answer), ("ok", &json!(0)));
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    // Paused and to be confirmed: both tokens are sent, and one of them continues both quotas.
    let paused = harness.ask(delete()).await;
    assert_eq!(code(&paused), "RATE_LIMIT_QUOTA_PAUSE");
    let quota = paused["error"]["details"]["confirmation_token"].as_str().unwrap();
    let asked = request("alpha_delete_thing", json!({ "id": "x", "_quota_continue": quota }));
    let token = harness.token(asked.clone()).await;
    assert!(token.starts_with("conf_"), "{token}");
    assert_eq!(code(&harness.ask(with_token(asked.clone(), &token)).await), "done");
    assert_eq!(code(&harness.ask(with_token(asked, &token)).await), "TOKEN_ALREADY_USED");
    assert_eq!(harness.done().len(), 2);
}

/// A harness in which nobody is asked about sending.
fn sending(quota: Value) -> Harness {
    let quota: QuotaSettings = serde_json::from_value(quota).unwrap();
    let mut allow = RuleSettings::new(RuleEffect::Allow);
    (allow.loosen, allow.does) = (true, ["sends"].into());
    let policy = PolicySettings { rule: vec![allow], ..PolicySettings::default() };
    Harness::new(&GateSettings { quota, policy, ..GateSettings::default() })
}

fn send(to: &Value) -> Value {
    request("alpha_send_thing", json!({ "id": "x", "email": to }))
}

#[tokio::test]
async fn r_saf_4_limits_count_what_calls_do() {
    let limit =
        json!({ "rate_limit": [{ "name": "messages", "limit": 2, "window": "hour", "does": ["sends", "pays"] }] });
    let harness = sending(limit);
    for _ in 0..2 {
        assert_eq!(code(&harness.ask(send(&json!("a@x.com"))).await), "done");
    }
    assert_eq!(code(&harness.ask(send(&json!("a@x.com"))).await), "RATE_LIMIT_EXCEEDED");
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    harness.clock.advance(2 * 60 * 60);
    assert_eq!(code(&harness.ask(send(&json!("a@x.com"))).await), "done");
}

#[tokio::test]
async fn r_saf_4_recipients_are_counted_each() {
    let harness = sending(json!({ "quota": [{ "metric": "recipients_per_day", "does": "sends", "hard_stop": 5 }] }));
    let mut used = 0;
    for (to, count) in [
        (json!("a@x.com"), 1),
        (json!(["b@x.com", "B@x.com"]), 1),
        (json!("c@x.com, d@x.com"), 2),
        // More than is left, and more than anybody can count.
        (json!(["e@x.com", "f@x.com"]), 0),
        (json!([[[[[["e@x.com"]]]]]]), 0),
        (json!("e@x.com; f@x.com; g@x.com;"), 0),
        (json!("e@x.com f@x.com g@x.com"), 0),
        (json!("[\"e@x.com\",\"f@x.com\"]"), 0),
        (json!("mailto:e@x.com?bcc=f@x.com"), 0),
        (json!((0..200).map(|number| format!("u{number}@x.com")).collect::<Vec<_>>()), 0),
        (json!(null), 1),
        (json!("a@x.com"), 0),
    ] {
        let answer = harness.ask(send(&to)).await;
        let expected = if count == 0 { "RATE_LIMIT_QUOTA_EXHAUSTED" } else { "done" };
        assert_eq!(code(&answer), expected, "{to} after {used}: {answer}");
        used += count;
        if to.as_array().is_some_and(|list| list.len() == 200) {
            let reason = answer["error"]["details"]["reason"].as_str().unwrap();
            assert!(reason.starts_with("its recipients cannot be counted"), "{reason}");
        }
    }
}

#[tokio::test]
async fn r_saf_4_amounts_are_added_up() {
    let quota = json!({ "quota": [
        { "metric": "amount_per_day", "param": "deep.amount", "operation": "*_create_thing", "per": ["session"], "warn": 90, "hard_stop": 100 },
    ] });
    let harness = harness(quota);
    let pay = |amount: Value| {
        request("alpha_create_thing", json!({ "id": "x", "deep": [{ "amount": amount }, { "amount": "0.5" }] }))
    };
    for (amount, expected) in [
        (json!(40), "done"),
        (json!("49.5"), "done"),
        (json!(9.000_001), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!(-50), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!("1,00"), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!(null), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!(1e300), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!(9), "done"),
        (json!(0), "RATE_LIMIT_QUOTA_EXHAUSTED"),
    ] {
        let answer = harness.ask(pay(amount.clone())).await;
        assert_eq!(code(&answer), expected, "{amount}: {answer}");
        if amount == "49.5" {
            assert_eq!(answer["warnings"][0]["details"]["current"], 90.5, "{answer}");
        }
        if amount.is_null() {
            let reason = answer["error"]["details"]["reason"].as_str().unwrap();
            assert_eq!(reason, "'deep.amount' has to be sent, as a plain number that is not negative");
        }
    }
    let without = request("alpha_create_thing", json!({ "id": "x" }));
    assert_eq!(code(&harness.ask(without.clone()).await), "RATE_LIMIT_QUOTA_EXHAUSTED");
    // Another session has its own sum, whoever it is of.
    let elsewhere = caller(Some("anna"), Some("session_9"));
    assert_eq!(code(&harness.ask_as(pay(json!(99)), elsewhere.clone()).await), "done");
    assert_eq!(code(&harness.ask_as(pay(json!(1)), elsewhere).await), "RATE_LIMIT_QUOTA_EXHAUSTED");
    // Other operations are not counted.
    assert_eq!(code(&harness.ask(get("alpha")).await), "done");
    // Neither is one without the parameter, unless the limit names it.
    let limit = |more: Value| {
        let mut quota = json!({ "metric": "amount_per_day", "param": "total", "hard_stop": 100 });
        quota.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self::harness(json!({ "quota": [quota] }))
    };
    assert_eq!(code(&limit(json!({})).ask(without.clone()).await), "done");
    for named in [json!({ "operation": "*_create_thing" }), json!({ "does": "adds" })] {
        assert_eq!(code(&limit(named).ask(without.clone()).await), "RATE_LIMIT_QUOTA_EXHAUSTED");
    }
}

#[test]
fn r_saf_4_invalid_settings_are_refused() {
    let bad = [
        json!({ "quota": [{ "metric": "requests", "warn": 1 }] }),
        json!({ "quota": [{ "metric": "tokens_per_minute", "warn": 1 }] }),
        json!({ "quota": [{ "metric": "requests_per_year", "warn": 1 }] }),
        json!({ "quota": [{ "metric": "requests_per_day" }] }),
        json!({ "quota": [{ "metric": "requests_per_day", "warn": 5, "pause": 4 }] }),
        json!({ "quota": [{ "metric": "requests_per_day", "warn": 1.5 }] }),
        json!({ "quota": [{ "metric": "cost_per_day", "hard_stop": -1 }] }),
        json!({ "rate_limit": [{ "name": "", "limit": 1, "window": "day" }] }),
        json!({ "rate_limit": [{ "name": "a", "limit": 1, "window": "day" }, { "name": "a", "limit": 2, "window": "day" }] }),
        json!({ "rate_limit": [{ "name": "a", "limit": 1, "window": "day", "category": "nothing" }] }),
        json!({ "rate_limit": [{ "name": "a", "limit": 1, "window": "day", "operation": "[x]" }] }),
        json!({ "rate_limit": [{ "name": "a", "limit": 1, "window": "day", "does": "sens" }] }),
        json!({ "quota": [{ "metric": "amount_per_day", "hard_stop": 1 }] }),
        json!({ "quota": [{ "metric": "amount_per_day", "hard_stop": 1, "param": "" }] }),
        json!({ "quota": [{ "metric": "requests_per_day", "hard_stop": 1, "param": "amount" }] }),
        json!({ "quota": [{ "metric": "recipients_per_day", "hard_stop": 1.5 }] }),
        json!({ "cost": [{ "cost_per_call": -0.1 }] }),
    ];
    for settings in bad {
        let quota: QuotaSettings = serde_json::from_value(settings.clone()).unwrap();
        let clock = crate::harness::ManualClock::new().steady;
        let store = std::sync::Arc::new(aquifer_engine::store::MemoryStore::new(clock.clone(), 10));
        let audit = aquifer_gate::audit::Audit::disabled(clock.clone());
        let settings_of_gate = GateSettings { quota, ..GateSettings::default() };
        assert!(aquifer_gate::SafetyGate::new(&settings_of_gate, audit, store, clock).is_err(), "{settings}");
    }
}

/// Which counts restart after a change of the configuration.
#[test]
fn r_saf_4_limits_that_lose_their_counts_are_reported() {
    let settings = |quota: &Value| -> QuotaSettings { serde_json::from_value(quota.clone()).unwrap() };
    let rate = |more: Value| {
        let mut limit = json!({ "name": "l", "limit": 2, "window": "hour" });
        limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "rate_limit": [limit] })
    };
    let quota = |more: Value| {
        let mut quota = json!({ "metric": "requests_per_day", "hard_stop": 3 });
        quota.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "quota": [quota] })
    };
    let both = json!({ "quota": [{ "metric": "requests_per_hour", "warn": 1 }, { "metric": "requests_per_day", "hard_stop": 3 }] });
    let (limit, day) = (rate(json!({})), quota(json!({})));
    let table = [
        (&limit, rate(json!({})), None),
        (&limit, rate(json!({ "limit": 9, "operation": "x" })), None),
        (&limit, json!({}), None),
        (&limit, day.clone(), None),
        (&json!({}), limit.clone(), None),
        (&limit, rate(json!({ "window": "day" })), Some("rate limit 'l' counts from zero: its window changed")),
        (&limit, rate(json!({ "per": ["caller"] })), Some("rate limit 'l' counts from zero: its 'per' changed")),
        (
            &limit,
            rate(json!({ "name": "m" })),
            Some("rate limit 'm' counts from zero: its name is new, and another limit was removed"),
        ),
        (&day, quota(json!({ "hard_stop": 9, "warn": 1 })), None),
        (&day, both, None),
        (
            &day,
            quota(json!({ "category": "READ" })),
            Some("quota 1 'requests_per_day' counts from zero: its metric or what it counts changed"),
        ),
        (
            &day,
            quota(json!({ "per": ["caller"] })),
            Some("quota 1 'requests_per_day' counts from zero: its metric or what it counts changed"),
        ),
        (
            &day,
            quota(json!({ "metric": "requests_per_hour" })),
            Some("quota 1 'requests_per_hour' counts from zero: its metric or what it counts changed"),
        ),
    ];
    for (before, after, expected) in table {
        let found = describe_counter_resets(&settings(before), &settings(&after));
        assert_eq!(found.first().map(String::as_str), expected, "{before} {after}");
        assert!(found.len() <= 1, "{found:?}");
    }
}

/// A limit without `per` is shared by all callers.
#[tokio::test]
async fn r_saf_4_a_call_that_is_sent_again_with_its_confirmation_is_not_counted_again() {
    let delete = |id: &str| request("alpha_delete_thing", json!({ "id": id }));
    let harness = harness(json!({ "rate_limit": [{ "name": "l", "limit": 4, "window": "minute" }] }));
    // Refused, declined and repeated answers and tokens.
    let asked = harness.ask_as(delete("x"), with_person(anna())).await;
    let question = asked["question"].as_str().unwrap();
    for action in ["decline", "accept", "accept", "accept"] {
        let answer = harness.ask_as(delete("x"), answering(with_person(anna()), question, action)).await;
        assert_eq!(code(&answer), "PERMISSION_DENIED", "{action}");
    }
    let token = harness.token(delete("x")).await;
    for expected in ["done", "TOKEN_ALREADY_USED", "TOKEN_ALREADY_USED", "TOKEN_ALREADY_USED"] {
        assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), expected);
    }
    assert_eq!(code(&harness.ask(with_token(delete("y"), "conf_guess")).await), "TOKEN_INVALID");
    // An invented answer where a token is needed changes nothing.
    assert_eq!(code(&harness.ask_as(get("alpha"), berta()).await), "done");
    let invented = format!("confirm_{}", "A".repeat(43));
    let answer = harness.ask_as(delete("x"), answering(anna(), &invented, "accept")).await;
    assert_eq!(code(&answer), "CONFIRMATION_REQUIRED");
    assert_eq!(code(&harness.ask_as(get("alpha"), berta()).await), "RATE_LIMIT_EXCEEDED", "four were counted");
}
