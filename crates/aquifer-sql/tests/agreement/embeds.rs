//! Related rows shown in their row (R-EXT-3).

use serde_json::json;

use crate::related::farm;
use crate::tables::{StorageFormat, TimeFormat};

#[tokio::test]
async fn r_ext_3_related_rows_have_their_own_fields_order_and_number() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let page = json!({ "hasNextPage": false, "hasPreviousPage": false });
    engines
        .check([
            (
                "list_sites",
                json!({ "filter": { "id": [1, 2] }, "fields": ["name", { "visits": { "fields": ["id", "host.name"], "sort": "-id" } }] }),
                json!({ "items": [
                    { "name": "Mill", "visits": [{ "id": 4, "host": { "name": null } }, { "id": 1, "host": { "name": "Ann" } }] },
                    { "name": "Dock", "visits": [{ "id": 7, "host": { "name": "Dee" } }, { "id": 2, "host": { "name": "Bob" } }] }],
                    "pageInfo": page }),
            ),
            (
                "list_sites",
                json!({ "filter": { "id": [1, 2] }, "fields": ["id", { "visits": { "fields": ["id"], "sort": "-created_at", "first": 1 } }] }),
                json!({ "items": [{ "id": 1, "visits": [{ "id": 4 }] }, { "id": 2, "visits": [{ "id": 2 }] }], "pageInfo": page }),
            ),
            (
                "list_sites",
                json!({ "filter": { "id": [1, 2] }, "shape": "table",
                    "fields": ["id", { "visits": { "fields": ["id"], "filter": { "state": "late" } } }] }),
                json!({ "columns": ["id", "visits"], "rows": [[1, []], [2, [{ "id": 2 }]]], "pageInfo": page }),
            ),
            // The short form, on a single row.
            (
                "get_site",
                json!({ "id": 2, "fields": ["id", { "visits": ["id"] }] }),
                json!({ "id": 2, "visits": [{ "id": 2 }, { "id": 7 }] }),
            ),
            // Through a reference to one row.
            (
                "list_visits",
                json!({ "filter": { "id": 2 }, "fields": ["id", { "site.visits": { "fields": ["id"], "filter": { "id": { "ne": 2 } } } }] }),
                json!({ "items": [{ "id": 2, "site": { "visits": [{ "id": 7 }] } }], "pageInfo": page }),
            ),
        ])
        .await;
}

/// Every type looks the same inside a row as in a row of its own.
#[tokio::test]
async fn r_ext_3_related_rows_look_like_other_rows() {
    for times in TimeFormat::ALL {
        let without: &'static [&'static str] = if times == TimeFormat::Blank { &[] } else { &["postgres"] };
        let engines = farm(StorageFormat { times, binary_json: times == TimeFormat::Mixed }, without).await;
        for (table, reference, related, key) in [
            ("sites", "visits", "visits", "site_id"),
            ("people", "visits_by_guest_id", "visits", "guest_id"),
            ("people", "people_by_manager_id", "people", "manager_id"),
        ] {
            let fields = json!({ "first": 50, "fields": ["id", { reference: { "fields": "full", "first": 100 } }] });
            let nested = engines.ask(&format!("list_{table}"), &fields).await;
            for item in nested["data"]["items"].as_array().unwrap() {
                let own = json!({ "filter": { key: item["id"] }, "fields": "full", "first": 100 });
                let rows = engines.ask(&format!("list_{related}"), &own).await;
                assert_eq!(item[reference], rows["data"]["items"], "{times:?} {table} {reference}");
            }
        }
        let regions = json!({ "fields": ["code", { "sites": { "fields": "full" } }] });
        let regions = engines.ask("list_regions", &regions).await;
        assert!(regions["data"]["items"].to_string().contains("floor"), "{regions}");
    }
}

#[tokio::test]
async fn r_ext_3_related_rows_follow_paths_and_pages() {
    let engines = farm(StorageFormat::default(), &[]).await;
    for params in [
        json!({ "fields": ["id", { "visits": { "fields": ["id", "guest.manager.name", "site._computed.label", "_computed.doubled"], "sort": ["guest.name", "-cost"] } }] }),
        json!({ "fields": ["id", { "visits": { "filter": { "host.people_by_manager_id": { "some": { "n": { "gt": 0 } } } } } }], "sort": "-region.name", "first": 2 }),
        json!({ "fields": ["region.name", { "visits": ["id"] }, { "region.sites": { "fields": ["id", "_etag"] } }], "last": 3 }),
        json!({ "fields": ["id", "_computed.label", { "visits": ["note"] }], "filter": { "visits": { "none": { "state": "late" } } }, "total": true }),
    ] {
        let answer = engines.ask("list_sites", &params).await;
        assert!(answer["data"]["items"].is_array(), "{params}: {answer}");
    }
}

#[tokio::test]
async fn r_ext_3_refused_related_rows_say_what_to_write() {
    let engines = farm(StorageFormat::default(), &[]).await;
    for (fields, expected) in [
        (json!([{ "visit": ["id"] }]), "visits"),
        (json!([{ "visits": 3 }]), "options such as"),
        (json!([{ "visits": { "limit": 3 } }]), "first"),
        (json!([{ "visits": { "first": 0 } }]), "from 1 to 100"),
        (json!([{ "visits": { "first": 101 } }]), "from 1 to 100"),
        (json!([{ "visits": ["nothing"] }]), "nothing"),
        (json!([{ "visits": { "sort": "nothing" } }]), "nothing"),
        (json!([{ "visits": [{ "site.visits": ["id"] }] }]), "call of their own"),
    ] {
        for participant in &engines.participants {
            let answer = participant.ask("list_sites", &json!({ "fields": fields })).await;
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(expected), "{} {fields}: {answer}", participant.name);
        }
    }
}
