//! Cursors follow the pages of the API, in each of its styles, and only as far as a caller goes.

use serde_json::{Value, json};

use super::{Fixture, column};
use crate::support::StdioServer;

/// A list of the API: operation, path, and the query of the first request for three rows.
type List = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const LISTS: [List; 4] = [
    ("list_products", "/products", &[("limit", "3")]),
    ("list_orders", "/orders", &[("per_page", "10")]),
    ("list_events", "/events", &[("limit", "3")]),
    ("list_reviews", "/reviews", &[("per_page", "3")]),
];

/// Reads a list to its end. Returns the ids of each page.
fn walk(server: &mut StdioServer, operation: &str, mut params: Value) -> Vec<Vec<u64>> {
    let mut pages = Vec::new();
    loop {
        let data = server.data("read", operation, params.clone());
        pages.push(column(&data, "id"));
        assert!(pages.len() <= 30, "{operation} does not end");
        if data["pageInfo"]["hasNextPage"] != true {
            return pages;
        }
        params["after"] = data["pageInfo"]["endCursor"].clone();
    }
}

#[test]
fn r_col_7_cursors_follow_the_pages_of_the_api() {
    for fixture in [Fixture::described(""), Fixture::adapted()] {
        let mut server = fixture.serve();
        for (operation, path, _) in LISTS {
            let pages = walk(&mut server, operation, json!({ "first": 10 }));
            assert_eq!(pages.concat(), (1..=25).collect::<Vec<u64>>(), "{operation}: every row once");
            assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5], "{operation}");
            assert_eq!(fixture.shop.take(path).len(), 3, "{operation}: one request for each page");
            let pages = walk(&mut server, operation, json!({ "first": 7, "fields": ["id"] }));
            assert_eq!(pages.concat(), (1..=25).collect::<Vec<u64>>(), "{operation}");
            fixture.shop.take(path);
        }
    }
}

#[test]
fn r_col_7_pages_are_read_only_when_they_are_needed() {
    for fixture in [Fixture::described(""), Fixture::adapted()] {
        let mut server = fixture.serve();
        for (operation, path, query) in LISTS {
            let data = server.data("read", operation, json!({ "first": 3 }));
            assert_eq!(column(&data, "id"), [1, 2, 3], "{operation}");
            let sent = fixture.shop.take(path);
            assert_eq!(sent.len(), 1, "{operation}");
            let expected = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(sent[0].query, expected, "{operation}");
            assert!(!data.to_string().contains("after-"), "the cursor of the API is of no use to callers: {data}");
        }
    }
}

#[test]
fn r_col_7_filtered_lists_read_on_until_a_page_is_full() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    for (operation, path) in [("list_orders", "/orders"), ("list_events", "/events"), ("list_reviews", "/reviews")] {
        let pages = walk(&mut server, operation, json!({ "first": 8, "filter": { "is_odd": true } }));
        assert_eq!(pages.concat(), (1..=25).step_by(2).collect::<Vec<u64>>(), "{operation}");
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [8, 5], "{operation}");
        assert!(fixture.shop.take(path).len() <= 4, "{operation}");
    }
}

/// The description neither names the cursor in the answer nor the parameter that it is for.
#[test]
fn r_col_7_the_configuration_says_how_a_list_is_paged() {
    let count = json!({ "operation": "list_events", "params": { "aggregate": { "rows": { "count": true } } } });
    let configured =
        "[source.operations.list_events.pagination]\nstyle = \"cursor\"\nparam_name = \"cursor\"\nnext_cursor = ";
    for (keys, rows, is_complete) in [
        (String::new(), 5, false),
        (format!("{configured}\"meta.next_cursor\""), 25, true),
        (format!("{configured}\"meta.next_cursor\"\nmax_pages = 2"), 10, false),
        ("[source.operations.list_events.pagination]\nstyle = \"none\"".to_owned(), 5, false),
    ] {
        let fixture = Fixture::described(&keys);
        let declared = "meta: { type: object, properties: { next_cursor: { type: [string, \"null\"] } } }";
        fixture.edit("shop.yaml", declared, "meta: { type: object }");
        let parameters = "        - { name: cursor, in: query, schema: { type: string } }\n        - { name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 10 } }\n";
        let own = "        - { name: kind, in: query, schema: { type: string } }\n";
        fixture.edit("shop.yaml", parameters, own);
        let answer = fixture.serve().call("mcp_aql_read", count.clone());
        assert_eq!(answer["data"]["aggregations"]["rows"], rows, "{keys}: {answer}");
        let is_warned = answer["warnings"][0]["code"] == "RESULT_INCOMPLETE";
        assert_eq!(is_warned, !is_complete, "{keys}: {answer}");
    }
}
