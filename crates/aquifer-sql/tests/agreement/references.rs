//! Paths through references, conditions on related rows, and comparisons of fields.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras, Participant};
use crate::related::{self, Rows, farm};
use crate::tables::{StorageFormat, TimeFormat};
use crate::walks::check_walk_visits_all;

/// Expects these identifiers from `list_visits` with this filter.
async fn check_filters(engines: &EngineSet, cases: Vec<(Value, Vec<i64>)>) {
    let ask = |(filter, ids): (Value, Vec<i64>)| {
        let items: Value = ids.iter().map(|id| json!({ "id": id })).collect();
        let info = json!({ "hasNextPage": false, "hasPreviousPage": false, "totalCount": ids.len() });
        let expected = json!({ "items": items, "pageInfo": info });
        ("list_visits", json!({ "filter": filter, "fields": ["id"], "total": true }), expected)
    };
    engines.check(cases.into_iter().map(ask)).await;
}

#[tokio::test]
async fn r_col_3_filters_through_references() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let cases = vec![
        (json!({ "site.name": "Mill" }), vec![1, 4]),
        (json!({ "site_id.name": "Mill" }), vec![1, 4]),
        (json!({ "site.name": { "ne": "Mill" } }), vec![2, 3, 5, 6, 7]),
        (json!({ "not": { "site.name": "Mill" } }), vec![2, 3, 5, 6, 7]),
        (json!({ "site.name": null }), vec![3, 6]),
        (json!({ "site.name": { "is_null": false } }), vec![1, 2, 4, 5, 7]),
        (json!({ "site.name": ["Dock", null] }), vec![2, 3, 6, 7]),
        (json!({ "site.kind": "farm" }), vec![1, 4, 5]),
        (json!({ "site.kind": { "gt": "farm" } }), vec![2, 7]),
        (json!({ "site.n": { "gte": 3 } }), vec![1, 4, 5]),
        (json!({ "site.n": { "between": [1, 2] } }), vec![2, 7]),
        (json!({ "site.area": 2.5 }), vec![2, 7]),
        (json!({ "site.name": { "contains": "IL" } }), vec![1, 4]),
        (json!({ "site.created_at": "2026-02-05T10:00:00Z" }), vec![2, 5, 7]),
        (json!({ "site.created_at": { "lt": "2026-02-05T10:00:00Z" } }), vec![1, 4]),
        (json!({ "site.created_at": { "gte": "2026-02-05T11:00:00+01:00" } }), vec![2, 5, 7]),
        // Nested objects mean the same as paths.
        (json!({ "site": { "name": "Mill" } }), vec![1, 4]),
        (json!({ "site": { "n": { "gte": 3 }, "kind": "farm" } }), vec![1, 4, 5]),
        (json!({ "site": { "region": { "name": "South" } } }), vec![2, 7]),
        (json!({ "site": { "not": { "name": "Mill" } } }), vec![2, 3, 5, 6, 7]),
        (json!({ "site": { "or": [{ "n": 2 }, { "region.name": "South" }] } }), vec![2, 7]),
        (json!({ "not": { "host": { "manager": { "name": "Ann" } } } }), vec![1, 3, 4, 5, 6, 7]),
        (json!({ "site": { "name": "Mill" }, "host.name": "Bob" }), vec![]),
        // Two references to the same table, and one from that table to itself.
        (json!({ "host.name": "Bob" }), vec![2]),
        (json!({ "guest.name": "Bob" }), vec![1]),
        (json!({ "host.name": "Bob", "guest.name": "Ann" }), vec![2]),
        (json!({ "host.manager.name": "Ann" }), vec![2]),
        (json!({ "guest.manager.name": "Ann" }), vec![1]),
        (json!({ "guest.person.name": "Ann" }), vec![1]),
        (json!({ "guest.manager.manager.name": "Bob" }), vec![4]),
        (json!({ "guest.manager.manager.manager.name": "Ann" }), vec![4]),
        (json!({ "host.manager.manager.manager.name": "Eve" }), vec![5]),
        (json!({ "host.rate": { "lte": 10 } }), vec![1, 5, 7]),
        (json!({ "host.born_on": "1990-05-06" }), vec![1, 7]),
        (json!({ "host.born_on": { "gt": "1990-05-06" } }), vec![3]),
        (json!({ "guest.badge": "00000000-0000-4000-8000-000000000005" }), vec![5]),
        // A key of two columns.
        (json!({ "site.region.name": "South" }), vec![2, 7]),
        (json!({ "site.region.since": "2001-02-03" }), vec![1, 2, 4, 7]),
        (json!({ "site.region.name": null }), vec![3, 5, 6]),
        // Inside JSON.
        (json!({ "site.meta.floor": 2 }), vec![2, 7]),
        (json!({ "site.meta.floor": { "gt": 0 } }), vec![1, 2, 4, 7]),
        (json!({ "site.meta.who.name": "Ann" }), vec![1, 4]),
        (json!({ "site.meta.tags.0": "a" }), vec![1, 4]),
        (json!({ "site.meta.0": "x" }), vec![5]),
        // Computed values.
        (json!({ "site._computed.visits_count": 2 }), vec![1, 2, 4, 7]),
        (json!({ "site._computed.visits_count": { "lt": 2 } }), vec![5]),
        (json!({ "site._computed.age_days": { "gt": 25 } }), vec![1, 4]),
        (json!({ "site._computed.label": "Mill #3" }), vec![1, 4]),
        (json!({ "site._computed.label": { "starts_with": "d" } }), vec![2, 7]),
        (json!({ "_computed.doubled": 6, "site.n": 3 }), vec![1, 4]),
        (json!({ "_computed.doubled": { "gt": 4 }, "site._computed.label": { "ne": "Mill #3" } }), vec![5]),
        (
            json!({ "guest.manager._computed.people_by_manager_id_count": 1, "_computed.age_days": { "gt": 0 } }),
            vec![1, 4, 5, 7],
        ),
        (
            json!({ "or": [{ "site.n": 2 }, { "host.n": 5 }, { "and": [{ "guest.n": 2 }, { "n": 3 }] }] }),
            vec![1, 2, 4, 5, 7],
        ),
    ];
    check_filters(&engines, cases).await;
}

#[tokio::test]
async fn r_col_3_conditions_on_related_rows() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let sites = [
        (json!({ "visits": { "some": { "state": "open" } } }), vec![1]),
        (json!({ "visits": { "none": { "state": "open" } } }), vec![2, 3, 4]),
        (json!({ "visits": { "every": { "state": "open" } } }), vec![1, 3]),
        (json!({ "visits": { "every": { "state": { "ne": "late" } } } }), vec![1, 3]),
        (json!({ "visits": { "some": {} } }), vec![1, 2, 4]),
        (json!({ "visits": { "none": {} } }), vec![3]),
        (json!({ "visits": { "some": { "state": "late" }, "none": { "n": 5 } } }), vec![2]),
        (json!({ "not": { "visits": { "some": { "state": "late" } } } }), vec![1, 3]),
        (json!({ "visits": { "some": { "host.name": "Bob" } } }), vec![2]),
        (json!({ "visits": { "some": { "guest.manager.name": "Cy" } } }), vec![1]),
        (json!({ "visits": { "some": { "site.name": "Mill" } } }), vec![1]),
        (json!({ "visits": { "some": { "_computed.doubled": 10 } } }), vec![4]),
        (json!({ "visits": { "some": { "site._computed.label": "Dock #2" } } }), vec![2]),
        (json!({ "visits": { "some": { "or": [{ "n": 1 }, { "n": 5 }] } } }), vec![2, 4]),
        // Two deep, and through a reference to one row.
        (json!({ "visits": { "some": { "host.visits_by_guest_id": { "some": { "name": "Mill" } } } } }), vec![2]),
        (json!({ "visits": { "some": { "guest.people_by_manager_id": { "none": {} } } } }), vec![1]),
        (
            json!({ "visits": { "every": { "guest.visits_by_host_id": { "some": { "site.n": { "gte": 2 } } } } } }),
            vec![1, 3, 4],
        ),
        (json!({ "region.sites": { "some": { "visits": { "some": { "state": "late" } } } } }), vec![2]),
        (json!({ "region.sites": { "none": {} } }), vec![4]),
        (json!({ "region.sites": { "every": { "name": "Mill" } } }), vec![1, 3, 4]),
        (json!({ "visits": { "some": { "created_at": { "gt": "2026-02-05T00:00:00Z" } } } }), vec![2, 4]),
        (json!({ "visits": { "some": { "ended_at": { "lt": { "field": "created_at" } } } } }), vec![2]),
        (
            json!({ "visits": { "some": { "cost": { "lt": { "field": "host.rate" } }, "site.meta.floor": 2 } } }),
            vec![2],
        ),
    ];
    let ask = |(filter, ids): &(Value, Vec<i64>)| {
        let items: Value = ids.iter().map(|id| json!({ "id": id })).collect();
        let info = json!({ "hasNextPage": false, "hasPreviousPage": false, "totalCount": ids.len() });
        let params = json!({ "filter": filter, "fields": ["id"], "total": true });
        ("list_sites", params, json!({ "items": items, "pageInfo": info }))
    };
    engines.check(sites.iter().map(ask)).await;
    let counted = |(filter, ids): &(Value, Vec<i64>)| {
        let params = json!({ "filter": filter, "aggregate": { "all": { "count": true } } });
        ("list_sites", params, json!({ "aggregations": { "all": ids.len() } }))
    };
    engines.check(sites.iter().map(counted)).await;
}

#[tokio::test]
async fn r_col_3_comparisons_of_fields() {
    for format in [TimeFormat::Blank, TimeFormat::Milliseconds, TimeFormat::Mixed] {
        let engines = farm(StorageFormat { times: format, binary_json: false }, &[]).await;
        let field = |name: &str| json!({ "field": name });
        let cases = vec![
            // Integers, fractions and decimals.
            (json!({ "n": { "eq": field("site.n") } }), vec![1, 4, 7]),
            (json!({ "n": { "ne": field("site.n") } }), vec![2, 5]),
            (json!({ "n": { "gt": field("site.n") } }), vec![5]),
            (json!({ "n": { "lte": field("host.n") } }), vec![2, 5, 7]),
            (json!({ "n": { "gte": field("cost") } }), vec![5]),
            (json!({ "cost": { "eq": field("host.rate") } }), vec![1, 5]),
            (json!({ "cost": { "lt": field("host.rate") } }), vec![2, 7]),
            (json!({ "cost": { "lt": field("weight") } }), vec![1, 2, 4, 5, 6, 7]),
            (json!({ "weight": { "eq": field("cost") } }), vec![]),
            (json!({ "cost": { "gt": field("site.area") } }), vec![1, 4, 7]),
            (json!({ "n": { "lt": field("site.area") } }), vec![1, 2, 4, 7]),
            (json!({ "_computed.doubled": { "gt": field("site.n") } }), vec![1, 4, 5, 7]),
            (json!({ "n": { "eq": field("site._computed.visits_count") } }), vec![7]),
            (json!({ "site._computed.age_days": { "gt": field("_computed.age_days") } }), vec![1, 2, 4]),
            // Texts by code points, whatever the collations of the columns.
            (json!({ "name": { "eq": field("site.name") } }), vec![1, 7]),
            (json!({ "name": { "eq": field("site.motto") } }), vec![4]),
            (json!({ "site.motto": { "eq": field("name") } }), vec![4]),
            (json!({ "note": { "eq": field("site.motto") } }), vec![]),
            (json!({ "site.motto": { "lt": field("note") } }), vec![1, 2, 4, 5]),
            (json!({ "host.name": { "lt": field("guest.name") } }), vec![1]),
            (json!({ "state": { "gt": field("site.kind") } }), vec![1, 4, 5]),
            (json!({ "site.kind": { "lt": field("name") } }), vec![]),
            // Times, dates and booleans.
            (json!({ "ended_at": { "lt": field("created_at") } }), vec![2]),
            (json!({ "ended_at": { "eq": field("created_at") } }), vec![5]),
            (json!({ "ended_at": { "gte": field("site.created_at") } }), vec![1, 2, 5, 7]),
            (json!({ "created_at": { "lt": field("site.created_at") } }), vec![7]),
            (json!({ "due_on": { "eq": field("host.born_on") } }), vec![1, 7]),
            (json!({ "due_on": { "eq": field("site.region.since") } }), vec![2, 4]),
            (json!({ "urgent": { "eq": field("urgent") } }), vec![1, 2, 4, 5, 6, 7]),
            (json!({ "guest.badge": { "gt": field("host.badge") } }), vec![1]),
            // Several at once, and NULL on either side.
            (json!({ "n": { "gte": field("site.n"), "lt": field("cost") } }), vec![1, 4, 7]),
            (json!({ "not": { "n": { "lt": field("host.n") } } }), vec![1, 3, 4, 5, 6, 7]),
        ];
        check_filters(&engines, cases).await;
    }
}

/// The same rows selected, sorted and grouped on all engines.
#[tokio::test]
async fn r_col_4_to_r_col_9_selections_orders_and_aggregates_through_references() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let info = json!({ "hasNextPage": false, "hasPreviousPage": false });
    let shown = json!([
        { "id": 1, "site": { "name": "Mill", "region": { "name": "North" } }, "host": { "manager": { "name": null } } },
        { "id": 2, "site": { "name": "Dock", "region": { "name": "South" } }, "host": { "manager": { "name": "Ann" } } },
        { "id": 3, "site": { "name": null, "region": { "name": null } }, "host": { "manager": { "name": "Bob" } } },
    ]);
    let fields = json!(["id", "site.name", "site.region.name", "host.manager.name"]);
    let listed = json!({ "fields": fields, "filter": { "id": { "lte": 3 } } });
    let computed = json!([{ "id": 5, "_computed": { "doubled": 10 },
        "site": { "name": "Barn", "kind": "farm", "created_at": "2026-02-05T10:00:00Z", "area": 3.5,
            "_computed": { "label": "Barn #3", "age_days": 24, "visits_count": 1 } },
        "guest": { "rate": 0.25, "born_on": "1970-12-31", "badge": "00000000-0000-4000-8000-000000000005" } }]);
    let computed_fields = json!([
        "id",
        "_computed.doubled",
        "site.name",
        "site.kind",
        "site.created_at",
        "site.area",
        "site._computed.label",
        "site._computed.age_days",
        "site._computed.visits_count",
        "guest.rate",
        "guest.born_on",
        "guest.badge"
    ]);
    let grouped = json!({ "by": { "group_by": "site.name", "count": true } });
    let sums = json!({
        "sites": { "sum": "site.n" }, "rates": { "avg": "host.rate" }, "first": { "min": "site.created_at" },
        "last": { "max": "guest.name" }, "labels": { "max": "site._computed.label" },
        "deep": { "sum": "guest.manager.n" }, "floors": { "sum": "site.meta.floor" }, "doubled": { "sum": "_computed.doubled" } });
    let summed = json!({ "sites": 13, "rates": 8.1875, "first": "2026-02-01T10:00:00Z", "last": "Eve", "labels": "Mill #3",
        "deep": 8, "floors": 6, "doubled": 32 });
    engines
        .check([
            ("list_visits", listed, json!({ "items": shown, "pageInfo": info })),
            ("list_visits", json!({ "fields": computed_fields, "filter": { "id": 5 } }), json!({ "items": computed, "pageInfo": info })),
            ("get_visit", json!({ "id": 5, "fields": computed_fields }), computed[0].clone()),
            ("get_visit", json!({ "id": 6, "fields": ["id", "site.name", "site.meta.floor", "host._computed.people_by_manager_id_count"] }),
                json!({ "id": 6, "site": { "name": null }, "host": { "_computed": { "people_by_manager_id_count": null } } })),
            ("get_site", json!({ "id": 1, "fields": ["id", "region.name", "region.country", "region._computed.sites_count"] }),
                json!({ "id": 1, "region": { "name": "North", "country": "fr", "_computed": { "sites_count": 1 } } })),
            ("get_person", json!({ "id": 4, "fields": ["name", "manager.name", "manager.manager.manager.name"] }),
                json!({ "name": "Dee", "manager": { "name": "Cy", "manager": { "manager": { "name": "Ann" } } } })),
            ("list_visits", json!({ "aggregate": grouped }),
                json!({ "aggregations": { "by": { "Barn": 1, "Dock": 2, "Mill": 2, "null": 2 } } })),
            ("list_visits", json!({ "aggregate": sums }), json!({ "aggregations": summed })),
            ("list_visits", json!({ "aggregate": { "by": { "group_by": ["site.kind", "host.n"], "sum": "n", "max": "guest.rate" } } }),
                json!({ "aggregations": { "by": {
                    "farm": { "1": { "sum": 3, "max": 12.5 }, "5": { "sum": 5, "max": 0.25 }, "null": { "sum": 3, "max": 10 } },
                    "zoo": { "2": { "sum": 3, "max": 10 } },
                    "null": { "null": { "sum": 2, "max": null } } } } })),
        ])
        .await;
    // Rows shown in their row.
    engines
        .check([
            ("get_site", json!({ "id": 1, "fields": ["name", { "visits": { "fields": ["id", "guest.name"], "sort": "-id" } }] }),
                json!({ "name": "Mill", "visits": [{ "id": 4, "guest": { "name": "Dee" } }, { "id": 1, "guest": { "name": "Bob" } }] })),
            ("get_visit", json!({ "id": 6, "fields": ["id", { "site.visits": ["id"] }] }),
                json!({ "id": 6, "site": { "visits": [] } })),
        ])
        .await;
    let cells = json!([
        "id",
        "name",
        "n",
        "note",
        "state",
        "urgent",
        "created_at",
        "ended_at",
        "due_on",
        "cost",
        "weight",
        "_computed.doubled",
        "_computed.age_days",
        "host.name",
        "site.kind",
        "guest.manager.rate",
        "host.badge"
    ]);
    for (operation, params) in [
        ("list_sites", json!({ "fields": ["id", { "visits": { "fields": cells, "sort": "-n" } }], "sort": "-name" })),
        ("list_sites", json!({ "fields": [{ "visits": { "fields": cells, "sort": "host.name", "first": 1 } }] })),
        (
            "list_people",
            json!({ "fields": ["id", { "visits_by_host_id": { "filter": { "site.name": { "ne": "Mill" } }, "fields": ["id"] } },
            { "people_by_manager_id": { "fields": ["name", "born_on", "rate", "manager.name"] } }] }),
        ),
        (
            "list_visits",
            json!({ "fields": ["id", { "site.visits": { "fields": ["id"], "sort": "-site._computed.label" } }], "sort": "-site.name" }),
        ),
        (
            "list_regions",
            json!({ "fields": ["name", { "sites": { "fields": ["id", "meta", "area", "kind", "created_at", "_computed.label", "_computed.visits_count"] } }] }),
        ),
        (
            "list_regions",
            json!({ "fields": ["name", { "sites": { "fields": ["meta.floor", "meta.tags.0"], "filter": { "visits": { "some": {} } } } }] }),
        ),
        (
            "search_visits",
            json!({ "query": "apple", "fields": ["id", { "host.people_by_manager_id": ["name"] }], "sort": "id" }),
        ),
    ] {
        let answer = engines.ask(operation, &params).await;
        assert!(answer.get("data").is_some(), "{operation} {params}: {answer}");
    }
    // What has no fixed form is only compared.
    for (operation, params) in [
        ("list_visits", json!({ "fields": ["id", "site.meta"] })),
        ("list_visits", json!({ "fields": ["id", "site.meta.floor", "site.meta.tags.0", "site.meta.who.name"] })),
        ("list_visits", json!({ "fields": ["site.meta.tags.-1"] })),
        ("list_visits", json!({ "aggregate": { "by": { "group_by": "site.meta.floor", "count": true } } })),
        ("list_visits", json!({ "aggregate": { "by": { "group_by": "site.region.name", "avg": "site.area" } } })),
        ("list_visits", json!({ "aggregate": { "by": { "group_by": "site._computed.visits_count", "count": true } } })),
        ("list_visits", json!({ "aggregate": { "by": { "group_by": "host.born_on", "min": "host.name" } } })),
        (
            "list_visits",
            json!({ "aggregate": { "n": { "count": true } }, "include_items": true, "fields": ["site.name"], "sort": "-site.name" }),
        ),
        (
            "list_visits",
            json!({ "fields": ["id", "guest.name"], "sort": "-guest.name", "edges": true, "total": true, "first": 3 }),
        ),
        (
            "list_visits",
            json!({ "fields": ["id", "guest.name"], "sort": "guest.name", "limit": 3, "offset": 2, "total": true }),
        ),
        (
            "list_visits",
            json!({ "fields": ["id", "guest.name"], "sort": "guest.name desc", "page": 2, "page_size": 3, "total": true }),
        ),
        (
            "search_visits",
            json!({ "query": "apple", "fields": ["id", "site.name"], "filter": { "site.n": { "gt": 1 } } }),
        ),
        (
            "search_visits",
            json!({ "query": "apple mill", "fields": ["id", "site._computed.label"], "sort": "-site.n", "total": true }),
        ),
        (
            "list_people",
            json!({ "fields": ["name", "manager.name"], "sort": [{ "field": "manager.manager.name" }, { "field": "-manager.name" }] }),
        ),
        (
            "list_regions",
            json!({ "fields": ["name"], "filter": { "sites": { "some": { "visits": { "every": { "host.n": 1 } } } } } }),
        ),
    ] {
        let answer = engines.ask(operation, &params).await;
        assert!(answer.get("data").is_some(), "{operation} {params}: {answer}");
    }
}

/// Every order through references, with ties and missing rows, is walked in both directions.
#[tokio::test]
async fn r_col_4_r_col_8_walks_over_orders_through_references() {
    for times in [TimeFormat::Blank, TimeFormat::Seconds, TimeFormat::ZuluMillis, TimeFormat::Mixed] {
        let without: &[&str] = if times == TimeFormat::Mixed { &[] } else { &["postgres"] };
        let engines = farm(StorageFormat { times, binary_json: true }, without).await;
        for sort in [
            json!("site.name"),
            json!("-site.name"),
            json!([{ "field": "site.name", "order": "desc", "nulls": "first" }]),
            json!([{ "field": "site.name", "nulls": "first" }, { "field": "-host.name" }]),
            json!([{ "field": "site.kind" }, { "field": "-n" }]),
            json!([{ "field": "-site.n" }, { "field": "guest.n" }, { "field": "name" }]),
            json!("site.created_at"),
            json!("-site.created_at"),
            json!([{ "field": "site.created_at" }, { "field": "-created_at" }]),
            json!([{ "field": "-created_at" }, { "field": "site.created_at" }]),
            json!("host.manager.rate"),
            json!("-host.manager.manager.name"),
            json!("site.region.name"),
            json!("site.meta.floor"),
            json!("-site.meta.floor"),
            json!("site._computed.visits_count"),
            json!("-site._computed.age_days"),
            json!([{ "field": "site._computed.label" }, { "field": "_computed.doubled" }]),
            json!([{ "field": "-guest.born_on" }, { "field": "host.badge" }]),
        ] {
            for size in [1, 2, 3] {
                let params = json!({ "sort": sort, "fields": ["id", "site.name"] });
                check_walk_visits_all(&engines, "list_visits", &params, size)
                    .await
                    .unwrap_or_else(|report| panic!("{times:?}\n{report}"));
            }
            let params =
                json!({ "sort": sort, "fields": ["id"], "filter": { "site.name": { "ne": "Dock" } }, "query": "a e" });
            check_walk_visits_all(&engines, "search_visits", &params, 2)
                .await
                .unwrap_or_else(|report| panic!("{times:?}\n{report}"));
        }
    }
}

/// Times of joined tables mean the same in every format.
#[tokio::test]
async fn r_col_3_r_col_6_times_of_joined_tables_in_every_format() {
    for times in TimeFormat::ALL {
        let engines = farm(StorageFormat { times, binary_json: false }, &["postgres"]).await;
        check_filters(
            &engines,
            vec![
                (json!({ "site.created_at": "2026-02-05T10:00:00Z" }), vec![2, 5, 7]),
                (json!({ "site.created_at": ["2026-02-01T10:00:00Z", null] }), vec![1, 3, 4, 6]),
                (json!({ "site.created_at": { "between": ["2026-02-01T10:00:00Z", "2026-02-02"] } }), vec![1, 4]),
                (
                    json!({ "created_at": { "gt": "2026-02-04" }, "site.created_at": { "gt": "2026-02-04" } }),
                    vec![2, 5, 7],
                ),
            ],
        )
        .await;
        let aggregate =
            json!({ "last": { "max": "site.created_at" }, "by": { "group_by": "site.created_at", "count": true } });
        let by = json!({ "2026-02-01T10:00:00Z": 2, "2026-02-05T10:00:00Z": 3, "null": 2 });
        let expected = json!({ "aggregations": { "last": "2026-02-05T10:00:00Z", "by": by } });
        engines.check([("list_visits", json!({ "aggregate": aggregate }), expected)]).await;
    }
}

/// A full-text index names its columns without their table, and other tables have such columns too.
#[tokio::test]
async fn r_col_2_an_index_is_searched_next_to_other_tables() {
    let extras = Extras {
        sqlite: "CREATE VIRTUAL TABLE visits_index USING fts5(name, note, content = 'visits', content_rowid = 'id');
                 CREATE TRIGGER visits_added AFTER INSERT ON visits BEGIN
                   INSERT INTO visits_index (rowid, name, note) VALUES (new.id, new.name, new.note);
                 END",
        postgres: "CREATE INDEX ON visits USING gin (to_tsvector('simple', coalesce(name, '') || ' ' || coalesce(note, '')))",
        ..Extras::default()
    };
    let engines = related::engines(&related::rows(), extras).await;
    let info = json!({ "hasNextPage": false, "hasPreviousPage": false });
    let found =
        |ids: &[i64]| json!({ "items": ids.iter().map(|id| json!({ "id": id })).collect::<Value>(), "pageInfo": info });
    engines
        .check([
            ("search_visits", json!({ "query": "apple", "sort": "-site.name", "fields": ["id"] }), found(&[1, 2, 6])),
            ("search_visits", json!({ "query": "apple", "sort": "site.name", "fields": ["id"], "filter": { "site.name": { "is_null": false } } }), found(&[2, 1])),
            ("search_visits", json!({ "query": "dock", "sort": "id", "fields": ["id"], "filter": { "_computed.doubled": 4, "site._computed.label": "Dock #2" } }), found(&[7])),
        ])
        .await;
    for participant in &engines.participants {
        let ranked = participant
            .ask("search_visits", &json!({ "query": "apple mill", "fields": ["id", "site.name"], "first": 1 }))
            .await;
        assert_eq!(ranked["data"]["items"], json!([{ "id": 1, "site": { "name": "Mill" } }]), "{}", participant.name);
    }
    for sort in ["site.name", "-host.n"] {
        let params = json!({ "query": "apple mill dock", "sort": sort, "fields": ["id"] });
        check_walk_visits_all(&engines, "search_visits", &params, 2).await.unwrap_or_else(|report| panic!("{report}"));
    }
}

/// Tables under names of their own, joined as the paths demand.
const FROM: &str = "visits v LEFT JOIN sites s ON s.id = v.site_id \
    LEFT JOIN regions r ON r.country = s.region_country AND r.code = s.region_code \
    LEFT JOIN people h ON h.id = v.host_id LEFT JOIN people hm ON hm.id = h.manager_id \
    LEFT JOIN people hmm ON hmm.id = hm.manager_id LEFT JOIN people g ON g.id = v.guest_id";

/// Paths to integers with their SQL.
const INTEGERS: [(&str, &str); 9] = [
    ("n", "v.n"),
    ("id", "v.id"),
    ("site.n", "s.n"),
    ("site_id.n", "s.n"),
    ("host.n", "h.n"),
    ("guest.n", "g.n"),
    ("host.manager.n", "hm.n"),
    ("host.manager.manager.n", "hmm.n"),
    ("site.region.n", "r.n"),
];

/// Paths to texts with their SQL.
const TEXTS: [(&str, &str); 6] = [
    ("name", "v.name"),
    ("site.name", "s.name"),
    ("host.name", "h.name"),
    ("guest.name", "g.name"),
    ("host.manager.name", "hm.name"),
    ("site.region.name", "r.name"),
];

const WORDS: [&str; 3] = ["a", "b", "c"];

/// References to many rows, with the SQL of those that match, up to the condition on them. They are called `x`, and their
/// first reference `xo`.
const MANY: [(&str, &str, &str); 4] = [
    ("site.visits", "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.site_id = s.id", "host"),
    (
        "host.people_by_manager_id",
        "people x LEFT JOIN people xo ON xo.id = x.manager_id WHERE x.manager_id = h.id",
        "manager",
    ),
    ("guest.visits_by_host_id", "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.host_id = g.id", "host"),
    (
        "host.manager.visits_by_guest_id",
        "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.guest_id = hm.id",
        "host",
    ),
];

/// A condition, and the same in SQL.
type Condition = (Value, String);

fn comparison() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(&[("eq", "="), ("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<=")][..])
}

fn test_of(path: String, sql: String, integers: bool) -> BoxedStrategy<Condition> {
    let value = if integers {
        (0..4_i64).prop_map(Value::from).boxed()
    } else {
        select(&WORDS[..]).prop_map(Value::from).boxed()
    };
    let literal = |value: &Value| value.to_string().replace('"', "'");
    let (p1, p2, p3, s1, s2, s3) = (path.clone(), path.clone(), path, sql.clone(), sql.clone(), sql);
    prop_oneof![
        3 => (comparison(), value.clone()).prop_map(move |((word, sign), value)| {
            let sql = format!("{s1} {sign} {}", literal(&value));
            (json!({ p1.clone(): { word: value } }), sql)
        }),
        1 => (value.clone(), value).prop_map(move |(one, other)| {
            let sql = format!("({s2} IN ({}, {}) OR {s2} IS NULL)", literal(&one), literal(&other));
            (json!({ p2.clone(): [one, null_value(), other] }), sql)
        }),
        1 => any::<bool>().prop_map(move |is_null| {
            let sql = format!("{s3} IS {}", if is_null { "NULL" } else { "NOT NULL" });
            (json!({ p3.clone(): { "is_null": is_null } }), sql)
        }),
    ]
    .boxed()
}

fn null_value() -> Value {
    Value::Null
}

fn leaf() -> impl Strategy<Value = Condition> {
    let fields = prop_oneof![(Just(&INTEGERS[..])), (Just(&TEXTS[..]))];
    let compared = (fields.prop_flat_map(|paths| (select(paths), select(paths))), comparison());
    let inner = select(&MANY[..]).prop_flat_map(|(name, from, own)| {
        let conditions = prop_oneof![
            test_of("n".to_owned(), "x.n".to_owned(), true),
            test_of(format!("{own}.name"), "xo.name".to_owned(), false),
            Just((json!({ "n": { "lt": { "field": format!("{own}.n") } } }), "x.n < xo.n".to_owned())),
        ];
        (Just((name, from)), conditions, select(&["some", "none", "every"][..]))
    });
    prop_oneof![
        4 => select(&INTEGERS[..]).prop_flat_map(|(path, sql)| test_of(path.to_owned(), sql.to_owned(), true)),
        3 => select(&TEXTS[..]).prop_flat_map(|(path, sql)| test_of(path.to_owned(), sql.to_owned(), false)),
        2 => compared.prop_map(|(((left, a), (right, b)), (word, sign))| {
            (json!({ left: { word: { "field": right } } }), format!("{a} {sign} {b}"))
        }),
        3 => inner.prop_map(|((name, from), (condition, sql), quantifier)| {
            let sql = match quantifier {
                "some" => format!("EXISTS (SELECT 1 FROM {from} AND ({sql}))"),
                "none" => format!("NOT EXISTS (SELECT 1 FROM {from} AND ({sql}))"),
                _ => format!("NOT EXISTS (SELECT 1 FROM {from} AND ({sql}) IS NOT TRUE)"),
            };
            (json!({ name: { quantifier: condition } }), sql)
        }),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    leaf().prop_recursive(2, 6, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        let join = |word: &'static str, sign: &'static str| {
            move |parts: Vec<Condition>| {
                let (values, texts): (Vec<Value>, Vec<String>) = parts.into_iter().unzip();
                (json!({ word: values }), format!("({})", texts.join(sign)))
            }
        };
        prop_oneof![
            several.clone().prop_map(join("and", " AND ")),
            several.prop_map(join("or", " OR ")),
            inner.prop_map(|(value, sql)| (json!({ "not": value }), format!("({sql}) IS NOT TRUE"))),
        ]
    })
}

fn order() -> impl Strategy<Value = (Value, String)> {
    let all: Vec<(&str, &str)> = INTEGERS.into_iter().chain(TEXTS).filter(|(path, _)| *path != "id").collect();
    let keys = prop::collection::vec((select(all), any::<bool>(), any::<bool>()), 0..3);
    keys.prop_map(|keys| {
        let values: Value = keys
            .iter()
            .map(|((path, _), descending, first)| {
                json!({ "field": path, "order": if *descending { "desc" } else { "asc" }, "nulls": if *first { "first" } else { "last" } })
            })
            .collect();
        let direction = |descending: bool| if descending { "DESC" } else { "ASC" };
        let mut parts: Vec<String> = keys
            .iter()
            .map(|((_, sql), descending, first)| {
                format!("{sql} {} NULLS {}", direction(*descending), if *first { "FIRST" } else { "LAST" })
            })
            .collect();
        parts.push(format!("v.id {}", direction(keys.last().is_some_and(|(_, descending, _)| *descending))));
        (values, parts.join(", "))
    })
}

fn rarely(values: impl Strategy<Value = i64> + Clone) -> impl Strategy<Value = Option<i64>> + Clone {
    prop::option::weighted(0.8, values)
}

fn some_rows() -> impl Strategy<Value = Rows> {
    let word = || prop::option::weighted(0.8, select(&WORDS[..]));
    let n = || rarely(0..4_i64);
    let region = (word(), n());
    let person = (word(), n(), rarely(1..5_i64));
    let site = (word(), n(), rarely(0..3_i64));
    let visit = (word(), n(), rarely(1..4_i64), rarely(1..5_i64), rarely(1..5_i64));
    let all = (
        prop::collection::vec(region, 3),
        prop::collection::vec(person, 4),
        prop::collection::vec(site, 3),
        prop::collection::vec(visit, 0..10),
    );
    all.prop_map(|(regions, people, sites, visits)| {
        let numbered = |index: usize| i64::try_from(index).unwrap() + 1;
        let code = |index: i64| ["n", "s", "w"][usize::try_from(index).unwrap()];
        let regions = regions.into_iter().enumerate().map(|(index, (name, n))| {
            json!({ "country": "fr", "code": code(numbered(index) - 1), "name": name, "n": n })
        });
        let people = people.into_iter().enumerate().map(|(index, (name, n, manager))| {
            json!({ "id": numbered(index), "name": name, "n": n, "manager_id": manager.map(|manager| manager.min(numbered(index))) })
        });
        let sites = sites.into_iter().enumerate().map(|(index, (name, n, region))| {
            json!({ "id": numbered(index), "name": name, "n": n, "region_country": region.map(|_| "fr"), "region_code": region.map(code) })
        });
        let visits = visits.into_iter().enumerate().map(|(index, (name, n, site, host, guest))| {
            json!({ "id": numbered(index), "name": name, "n": n, "site_id": site, "host_id": host, "guest_id": guest })
        });
        Rows { regions: regions.collect(), people: people.collect(), sites: sites.collect(), visits: visits.collect() }
    })
}

impl Participant {
    /// The integers in the first column of an answer to SQL.
    async fn integers(&self, sql: &str) -> Option<Vec<i64>> {
        if let Some(connection) = self.sqlite() {
            let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let found = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>();
            return Some(found.unwrap());
        }
        #[cfg(feature = "test-postgres")]
        if let Some(client) = self.postgres() {
            let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            return Some(rows.iter().map(|row| i64::from(row.get::<_, i32>(0))).collect());
        }
        None
    }
}

/// What one request answers is what SQL with explicit joins answers.
async fn check_against_sql(engines: &EngineSet, request: &(Condition, (Value, String))) -> Result<(), String> {
    let ((filter, condition), (sort, order)) = request;
    let params = json!({ "filter": filter, "sort": sort, "fields": ["id", "site.name", "host.manager.n"] });
    let answer = engines.agreed_answer("list_visits", &params).await?;
    let items = answer["data"]["items"].as_array().ok_or_else(|| format!("{params}: {answer}"))?;
    let ids: Vec<i64> = items.iter().map(|item| item["id"].as_i64().unwrap()).collect();
    let sql = format!("SELECT v.id FROM {FROM} WHERE {condition} ORDER BY {order}");
    for participant in &engines.participants {
        let Some(expected) = participant.integers(&sql).await else { continue };
        if ids != expected {
            return Err(format!("{params}\n{sql}\n{}: {ids:?}, but SQL says {expected:?}", participant.name));
        }
    }
    Ok(())
}

#[test]
fn r_col_3_r_col_4_paths_mean_what_explicit_joins_mean() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let engines = runtime.block_on(farm(StorageFormat::default(), &[]));
    let cases = 16 * Config::default().cases / 256;
    let config = Config { cases, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let strategy = (some_rows(), prop::collection::vec((condition(), order()), 8), 1..4_usize);
    let outcome = TestRunner::new(config).run(&strategy, |(rows, requests, size)| {
        let law = async {
            related::fill(&engines, &rows).await;
            for request in &requests {
                check_against_sql(&engines, request).await?;
            }
            // Pages have the same order as the whole.
            let ((filter, _), (sort, _)) = &requests[0];
            let params = json!({ "filter": filter, "sort": sort, "fields": ["id"] });
            check_walk_visits_all(&engines, "list_visits", &params, size).await
        };
        runtime.block_on(law).map_err(|report| TestCaseError::fail(format!("{report}\n{rows:?}")))
    });
    // The databases are dropped while the runtime still exists.
    runtime.block_on(async { drop(engines) });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(report, _)) => panic!("{report}"),
        Err(other) => panic!("{other}"),
    }
}
