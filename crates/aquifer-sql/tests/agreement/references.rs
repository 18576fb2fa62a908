//! Paths through references, conditions on related rows, and comparisons of fields.

use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras};
use crate::related::{self, farm};
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
