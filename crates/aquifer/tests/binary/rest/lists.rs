//! Cursors follow the pages of the API, in each of its styles, and only as far as a caller goes.

use serde_json::{Value, json};

use super::{Fixture, call, column, json_content, json_response};
use crate::support::{Server, StdioServer, Transport};

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

/// The name of a style, the schema of its parameters, what a response has besides its rows, and a header of it.
type Unmanaged =
    (&'static str, &'static [(&'static str, &'static str)], &'static str, Option<(&'static str, &'static str)>);

/// Styles of which the description says too little. Each list has more than the 20 rows of its first page.
const UNMANAGED: [Unmanaged; 8] = [
    ("asana", &[("limit", "integer"), ("offset", "string")], r#"{"next_page":{"offset":"c-20","uri":"x"}}"#, None),
    ("gitbook", &[("page", "string"), ("limit", "integer")], r#"{"next":{"page":"c-20"}}"#, None),
    ("keycloak", &[("max", "integer")], "{}", None),
    ("stripe", &[("starting_after", "string")], r#"{"has_more":true}"#, None),
    ("last id", &[("last_id", "integer"), ("count", "integer")], "{}", None),
    ("gitlab", &[], "{}", Some(("x-next-page", "2"))),
    ("total", &[], "{}", Some(("x-total-count", "47"))),
    ("another host", &[], "{}", Some(("link", "<https://elsewhere.example/things?page=2>; rel=\"next\""))),
];

#[test]
fn r_col_7_lists_whose_paging_is_not_managed_warn_and_claim_nothing() {
    let row = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    let items = json!({ "type": "array", "items": row });
    let of = |name: &str| format!("/{}", name.replace(' ', "_"));
    let mut paths = json!({ "/complete": { "get": { "operationId": "listComplete", "summary": "List everything.",
        "responses": { "200": json_content(&json!({ "type": "object", "properties": { "items": items } })) } } } });
    for (name, parameters, _, _) in UNMANAGED {
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|(name, kind)| json!({ "name": name, "in": "query", "schema": { "type": kind } }))
            .collect();
        let operation = format!("list_{}", name.replace(' ', "_"));
        let list = json!({ "type": "object", "properties": { "items": items } });
        paths[of(name)] = json!({ "get": { "operationId": operation, "summary": "List things.",
            "parameters": parameters, "responses": { "200": json_content(&list) } } });
    }
    // Only a size, in the body of a request that reads.
    let size = json!({ "type": "object", "properties": { "limit": { "type": "integer", "default": 20 } } });
    paths["/prefect/filter"] = json!({ "post": { "operationId": "list_prefect", "summary": "Read things.",
        "description": "Query for things.", "requestBody": json_content(&size),
        "responses": { "200": json_content(&json!({ "type": "object", "properties": { "items": items } })) } } });
    let fixture = Fixture::answered(&paths, "", move |request| {
        let rows: Vec<Value> = (1..=20).map(|id| json!({ "id": id })).collect();
        let found = UNMANAGED.iter().find(|(name, ..)| of(name) == request.path);
        let mut body: Value = found.map_or(json!({}), |(_, _, marks, _)| serde_json::from_str(marks).unwrap());
        body["items"] = json!(rows);
        let mut response = json_response(200, &body.to_string());
        if let Some((name, value)) = found.and_then(|(.., header)| *header) {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        Some(response)
    });
    let names = UNMANAGED.iter().map(|(name, ..)| *name).chain(["prefect", "complete"]);
    for transport in Transport::BOTH {
        let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        for name in names.clone() {
            let operation = format!("list_{}", name.replace(' ', "_"));
            let is_complete = name == "complete";
            let mut read = |params: Value| {
                let (answer, text) = call(&mut server, "read", &operation, params.clone());
                assert_eq!(answer["success"], true, "{transport:?} {name} {params}: {answer}");
                let codes: Vec<&str> = answer["warnings"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one["code"].as_str())
                    .collect();
                let is_warned = codes.contains(&"RESULT_INCOMPLETE");
                assert_eq!(is_warned, !is_complete, "{transport:?} {name} {params}: {answer}");
                let warns_first = text.find("\"warnings\"") < text.find("\"data\"");
                assert!(is_complete || warns_first, "{transport:?} {name} {params}: {text}");
                answer["data"].clone()
            };
            assert_eq!(column(&read(json!({})), "id").len(), 20, "{name}");
            let counted = read(json!({ "aggregate": { "rows": { "count": true } } }));
            assert_eq!(counted["aggregations"]["rows"], 20, "{name}");
            assert!(column(&read(json!({ "filter": { "id": 47 } })), "id").is_empty(), "{name}");
            let page = read(json!({ "first": 100, "total": true }));
            let (has_next, total) = (&page["pageInfo"]["hasNextPage"], &page["pageInfo"]["totalCount"]);
            let expected = if is_complete { (json!(false), json!(20)) } else { (Value::Null, Value::Null) };
            assert_eq!((has_next, total), (&expected.0, &expected.1), "{transport:?} {name}: {page}");
        }
        server.stop();
    }
}
