//! Adapter files of HTTP APIs: limits, trust, and problems with their place.

use serde_json::json;

use super::Fixture;
use crate::support::text;

#[test]
fn r_saf_4_limits_of_the_file_are_enforced_and_shown() {
    let fixture = Fixture::adapted();
    let mut server = fixture.serve();
    for _ in 0..2 {
        server.data("read", "get_report", json!({}));
    }
    let error = server.error("read", "get_report", json!({}));
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED", "{error}");
    assert_eq!(fixture.shop.take("/report").len(), 2, "the API is not asked");
    let status = server.data("read", "introspect", json!({ "query": "quota_status" }));
    let limits = &status["api_limits"];
    assert_eq!(status["adapter"], "shop", "{status}");
    assert_eq!(limits["shop: endpoint_1_per_day"]["remaining"], 0, "{status}");
    assert_eq!(limits["shop: requests_per_day"]["limit"], 1000, "{status}");
}

#[test]
fn r_saf_4_every_page_of_a_list_counts() {
    let fixture = Fixture::adapted();
    fixture.edit("shop-adapter.md", "endpoint: \"/report\", limit: 2", "endpoint: \"/orders\", limit: 5");
    let mut server = fixture.serve();
    let sum = json!({ "aggregate": { "all": { "sum": "amount" } } });
    let whole = server.data("read", "list_orders", sum.clone());
    assert!(whole.to_string().contains("650"), "{whole}");
    let status = server.data("read", "introspect", json!({ "query": "quota_status" }));
    assert_eq!(status["api_limits"]["shop: endpoint_1_per_day"]["remaining"], 1, "{status}");
    // Three pages, and an empty one: a short page may be followed by others.
    assert_eq!(fixture.shop.take("/orders").len(), 4);
    let part = server.call("mcp_aql_read", json!({ "operation": "list_orders", "params": sum }));
    assert!(part.to_string().contains("RESULT_INCOMPLETE"), "{part}");
    assert_eq!(fixture.shop.take("/orders").len(), 1, "the limit is kept");
}

#[test]
fn r_dis_9_a_file_that_nobody_reviewed_only_reads() {
    let fixture = Fixture::adapted();
    let mut server = Fixture::start(&mut fixture.command(&["serve", "shop-adapter.md"]));
    let names = server.operations();
    assert!(names.contains(&"list_products".to_owned()), "{names:?}");
    let error = server.error("create", "create_product", json!({ "name": "x", "price": 1 }));
    assert_eq!(error["code"], "PERMISSION_DANGER_LEVEL_DENIED", "{error}");
    assert!(fixture.shop.received().is_empty());
}

#[test]
fn r_dis_9_problems_are_told_with_line_and_column() {
    #[rustfmt::skip]
    let table = [
        ("version: \"2.4.0\"\n", "", "SCHEMA_MISSING_FIELD"),
        ("type: adapter", "type: adaptor", "SCHEMA_INVALID_TYPE"),
        ("max_limit: 10", "max_limit: ten", "SCHEMA_INVALID_TYPE"),
        ("next_cursor: meta.next_cursor, ", "", "SCHEMA_MISSING_FIELD"),
        ("GET /products/{product_id}", "GET /products/{productid}", "SCHEMA_UNRESOLVED_REF"),
        ("name: get_report", "name: get_product", "SCHEMA_DUPLICATE_NAME"),
        ("name: get_report", "name: getReport", "SCHEMA_INVALID_NAME"),
        ("schema_version: \"1.0.0-draft\"", "schema_version: \"9.0.0\"", "SCHEMA_VERSION_UNSUPPORTED"),
        ("protocol: rest", "protocol: soap", "PLUGIN_NOT_FOUND"),
        ("serialization: json", "serialization: xml", "PLUGIN_NOT_FOUND"),
        ("type: bearer", "type: digest", "PLUGIN_NOT_FOUND"),
    ];
    let fixture = Fixture::adapted();
    let good = std::fs::read_to_string(fixture.folder.path("shop-adapter.md")).unwrap();
    for (from, to, code) in table {
        let broken = good.replacen(from, to, 1);
        assert_ne!(broken, good, "{from}");
        fixture.folder.file("shop-adapter.md", &broken);
        let output = fixture.command(&["validate", "shop-adapter.md"]).output().unwrap();
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success(), "{to}: {printed}");
        let line = printed.lines().find(|line| line.contains(code)).unwrap_or_else(|| panic!("{to}: {printed}"));
        let place: Vec<Option<u32>> =
            line.split(':').skip(1).take(2).map(|number| number.trim().parse().ok()).collect();
        assert!(matches!(place.as_slice(), [Some(1..), Some(1..)]), "{line}");
    }
}

#[test]
fn r_dis_9_fields_are_sent_along_and_have_defaults() {
    let fixture = Fixture::adapted();
    fixture.edit(
        "shop-adapter.md",
        "      response: { unwrap: items }\n      params:\n",
        "      response: { unwrap: items }\n      supports_fields: true\n      default_fields: [id, name]\n      params:\n        \
         fields: { type: string }\n",
    );
    let mut server = fixture.serve();
    let sent = |fixture: &Fixture| fixture.shop.take("/products").remove(0).query.get("fields").cloned();
    let names = |row: &serde_json::Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let page = server.data("read", "list_products", json!({ "first": 1 }));
    assert_eq!(names(&page["items"][0]), ["id", "name"], "{page}");
    assert_eq!(sent(&fixture).as_deref(), Some("id%2Cname"));
    let page = server.data("read", "list_products", json!({ "first": 1, "fields": ["price"], "sort": "-stock" }));
    assert_eq!(names(&page["items"][0]), ["price"], "{page}");
    assert_eq!(sent(&fixture).as_deref(), Some("price%2Cstock"));
    let page = server.data("read", "list_products", json!({ "first": 1, "fields": "full" }));
    assert!(names(&page["items"][0]).len() > 3, "{page}");
    assert_eq!(sent(&fixture), None);
    fixture.folder.file(
        "broken.md",
        &std::fs::read_to_string(fixture.folder.path("shop-adapter.md")).unwrap().replace("[id, name]", "id"),
    );
    let output = fixture.command(&["validate", "broken.md"]).output().unwrap();
    assert!(!output.status.success() && text(&output.stdout).contains("default_fields"), "{output:?}");
}
