//! `rate_limits` in adapter files: what is read of them, and what is refused with its place.

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::{LimitScope, RateLimits, Window};
use aquifer_protocol::category::Category;

fn file(limits: &str, of_operation: &str) -> String {
    format!(
        r##"---
name: tasks
type: adapter
version: "1.0.0"
description: "Tasks"
target: {{ base_url: "https://api.example.com", transport: http, protocol: rest, serialization: json }}
rate_limits: {limits}
operations:
  read:
    - {{ name: get_task, maps_to: "GET /tasks/{{id}}", params: {{ id: {{ type: string }} }} }}
    - {{ name: list_tasks, maps_to: "GET /tasks"{of_operation} }}
  create:
    - {{ name: search_tasks, maps_to: "POST /search" }}
---
"##
    )
}

fn read(limits: &str, of_operation: &str) -> (RateLimits, Vec<String>) {
    let text = file(limits, of_operation);
    let adapter = Adapter::read(&text, None).unwrap_or_else(|problems| panic!("{limits}: {problems:#?}"));
    (adapter.rate_limits, adapter.warnings)
}

/// (written, limits as name, number, window, scope)
#[test]
fn r_saf_4_the_limits_of_a_file_are_read() {
    let operations = |names: &[&str]| LimitScope::Operations(names.iter().map(ToString::to_string).collect());
    type Expected = Vec<(&'static str, u64, Window, LimitScope)>;
    let cases: Vec<(&str, Expected)> = vec![
        ("{}", vec![]),
        (
            "{ requests_per_minute: 60, requests_per_hour: 1000, requests_per_day: 5000, burst_limit: 5 }",
            vec![
                ("requests_per_minute", 60, Window::Minute, LimitScope::All),
                ("requests_per_hour", 1000, Window::Hour, LimitScope::All),
                ("requests_per_day", 5000, Window::Day, LimitScope::All),
                ("burst_limit", 5, Window::Second, LimitScope::All),
            ],
        ),
        (
            "{ api_limits: [{ scope: global, limit: 5000, window: hour, remaining_header: X-Rest, reset_header: X-Reset }] }",
            vec![("global_per_hour", 5000, Window::Hour, LimitScope::All)],
        ),
        (
            "{ api_limits: [{ scope: category, category: read, limit: 100, window: second }, { scope: category, category: read, limit: 9, window: second }] }",
            vec![
                ("read_per_second", 100, Window::Second, LimitScope::Category(Category::Read)),
                ("read_per_second_2", 9, Window::Second, LimitScope::Category(Category::Read)),
            ],
        ),
        (
            "{ api_limits: [{ scope: endpoint, endpoint: \"POST /search\", limit: 30, window: minute }] }",
            vec![("endpoint_1_per_minute", 30, Window::Minute, operations(&["search_tasks"]))],
        ),
        (
            "{ api_limits: [{ scope: endpoint, endpoint: \"GET /tasks*\", limit: 3, window: day }] }",
            vec![("endpoint_1_per_day", 3, Window::Day, operations(&["get_task", "list_tasks"]))],
        ),
        (
            "{ api_limits: [{ scope: endpoint, endpoint: \"GET /tasks/{id}\", limit: 3, window: day }] }",
            vec![("endpoint_1_per_day", 3, Window::Day, operations(&["get_task"]))],
        ),
    ];
    for (written, expected) in cases {
        let (found, warnings) = read(written, "");
        let found: Expected =
            found.limits.into_iter().map(|one| (&*one.name.leak(), one.limit, one.window, one.scope)).collect();
        assert_eq!(found, expected, "{written}");
        assert!(warnings.is_empty(), "{written}: {warnings:?}");
    }
    let (found, _) = read("{ concurrent_requests: 5 }", ", rate_limits: { requests_per_second: 2 }");
    assert_eq!(found.max_concurrent, Some(5));
    let [limit] = found.limits.as_slice() else { panic!("{found:?}") };
    assert_eq!((limit.name.as_str(), limit.limit), ("list_tasks_requests_per_second", 2));
    assert_eq!(limit.scope, operations(&["list_tasks"]));
}

#[test]
fn r_saf_4_quotas_and_costs_of_a_file_are_read() {
    let (found, warnings) = read(
        "{ quotas: { enabled: true, limits: [{ metric: requests_per_hour, warn: 10, pause: 20, hard_stop: 30 }, \
         { metric: cost_per_day, warn: 1.5, hard_stop: 2.25, currency: EUR }] }, \
         cost: { model: per_call, currency: EUR, pricing: [{ endpoint: \"*\", cost_per_call: 0.001 }, \
         { endpoint: \"POST *\", cost_per_call: 0.5 }] } }",
        "",
    );
    let quotas: Vec<_> =
        found.quotas.iter().map(|one| (one.metric.as_str(), one.warn, one.pause, one.hard_stop)).collect();
    assert_eq!(
        quotas,
        [("requests_per_hour", Some(10.0), Some(20.0), Some(30.0)), ("cost_per_day", Some(1.5), None, Some(2.25)),]
    );
    assert_eq!(found.currency.as_deref(), Some("EUR"));
    let prices: Vec<f64> = found.prices.iter().map(|price| price.cost_per_call).collect();
    assert_eq!(prices, [0.001, 0.5]);
    assert_eq!(found.prices[1].scope, LimitScope::Operations(vec!["search_tasks".to_owned()]));
    assert!(warnings.is_empty(), "{warnings:?}");
    let off = "{ quotas: { enabled: false, limits: [{ metric: requests_per_hour, warn: 1 }] } }";
    assert_eq!(read(off, "").0, RateLimits::default());
}

#[test]
fn limits_that_are_not_enforced_are_reported() {
    for (written, words) in [
        ("{ quotas: { limits: [{ metric: tokens_per_day, warn: 1 }] } }", "tokens"),
        (
            "{ api_limits: [{ scope: global, limit: 90000, window: minute, metric: tokens_per_minute }] }",
            "only requests",
        ),
        ("{ api_limits: [{ scope: endpoint, endpoint: \"GET /nowhere\", limit: 1, window: day }] }", "no operation"),
        ("{ shared_pools: [] }", "shared_pools"),
        ("{ quotas: { reset_schedule: \"0 0 * * *\" } }", "reset_schedule"),
        ("{ cost: { model: per_token } }", "cost_per_call"),
    ] {
        let (found, warnings) = read(written, "");
        assert_eq!((found.limits.len(), found.quotas.len()), (0, 0), "{written}");
        assert!(warnings.len() == 1 && warnings[0].contains(words), "{written}: {warnings:?}");
    }
}

#[test]
fn r_dis_9_invalid_limits_are_refused() {
    for (written, words) in [
        ("[]", "expected 'object'"),
        ("{ requests_per_minute: 0 }", "1 or more"),
        ("{ requests_per_minute: -1 }", "1 or more"),
        ("{ requests_per_minute: 1.5 }", "1 or more"),
        ("{ requests_per_minute: \"60\" }", "without quotes"),
        ("{ request_per_minute: 60 }", "Did you mean 'requests_per_minute'?"),
        ("{ api_limits: { scope: global } }", "expected 'array'"),
        ("{ api_limits: [{ limit: 1, window: day }] }", "scope"),
        ("{ api_limits: [{ scope: global, window: day }] }", "limit"),
        ("{ api_limits: [{ scope: global, limit: 1, window: year }] }", "second, minute, hour, day"),
        ("{ api_limits: [{ scope: category, category: wipe, limit: 1, window: day }] }", "category"),
        ("{ api_limits: [{ scope: endpoint, limit: 1, window: day }] }", "endpoint"),
        ("{ api_limits: [{ scope: endpoint, endpoint: \"GET /[a-z]\", limit: 1, window: day }] }", "'*' and '?'"),
        ("{ quotas: { limits: [{ metric: requests_per_year, warn: 1 }] } }", "metric"),
        ("{ quotas: { limits: [{ metric: requests_per_day }] } }", "warn"),
        ("{ quotas: { limits: [{ metric: requests_per_day, warn: 2, pause: 1 }] } }", "increase"),
        ("{ quotas: { limits: [{ metric: requests_per_day, warn: 1.5 }] } }", "whole"),
        ("{ quotas: { limits: [{ metric: cost_per_day, hard_stop: -1 }] } }", "0 or more"),
        ("{ cost: { pricing: [{ endpoint: \"*\", cost_per_call: -0.5 }] } }", "cost_per_call"),
    ] {
        let problems = Adapter::read(&file(written, ""), None).expect_err(written);
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|one| one.contains(words)), "{written}: {shown:?}");
        assert!(problems.iter().all(|problem| problem.line == 7), "{written}: {shown:?}");
    }
    let text = file("{}", ", rate_limits: { api_limits: [] }");
    assert!(Adapter::read(&text, None).is_err(), "only plain limits belong to an operation");
}
