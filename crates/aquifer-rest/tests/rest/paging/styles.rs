//! The paging of well-known APIs, with the parameters and responses that they document.

use serde_json::{Value, json};

use super::{ROWS, count, is_warned, query, rows};
use crate::client::server::{Received, Reply};
use crate::source::{Served, call};

pub(super) fn number(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "integer" } })
}

pub(super) fn text(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "string" } })
}

pub(super) fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

pub(super) fn list() -> Value {
    json!({ "type": "array", "items": object(json!({ "id": { "type": "string" }, "number": { "type": "integer" } })) })
}

/// The path of an operation that lists things.
pub(super) fn listing(method: &str, parameters: Value, response: Value) -> Value {
    json!({ "/things": { method: {
        "operationId": "listThings", "summary": "List things", "parameters": parameters,
        "responses": { "200": { "description": "Things", "content": { "application/json": { "schema": response } } } },
    } } })
}

pub(super) fn answer(body: &Value) -> Reply {
    Reply::json(200, &body.to_string())
}

pub(super) fn at(value: Option<&String>) -> usize {
    value.and_then(|text| text.trim_start_matches("c-").parse().ok()).unwrap_or(0)
}

/// A page, and where the next one begins.
pub(super) fn page(skip: usize, size: usize) -> (Vec<Value>, Option<usize>) {
    (rows(skip, size), Some(skip + size).filter(|next| *next < ROWS))
}

/// Runs a style. Returns whether every count was right.
pub(super) async fn check(
    name: &str,
    paths: Value,
    handler: impl Fn(&Received) -> Reply + Send + Sync + 'static,
) -> (Served, bool) {
    let served = Served::start(paths, move |request, _| handler(request)).await;
    let is_right = count(&served.engine, "list_things", &json!({}), name).await;
    (served, is_right)
}

#[tokio::test]
async fn lists_of_well_known_styles_are_complete() {
    // Okta: a cursor that only the Link header contains.
    let link = |request: &Received| {
        let query = query(request);
        let (rows, next) = page(at(query.get("after")), 200);
        let reply = answer(&json!(rows));
        match next {
            Some(next) => reply.with("link", &format!("</things?after=c-{next}&limit=200>; rel=\"next\"")),
            None => reply,
        }
    };
    let limit = json!({ "name": "limit", "in": "query", "schema": { "type": "integer", "default": 200 } });
    let (okta, is_right) = check("okta", listing("get", json!([text("after"), limit]), list()), link).await;
    assert!(is_right);
    let raw = call(&okta.engine, "list_things", json!({})).await;
    assert!(raw["data"].is_array() && is_warned(&raw), "unshaped lists are passed on as they are: {raw}");
    let own = call(&okta.engine, "list_things", json!({ "after": "c-400" })).await;
    assert_eq!((own["data"].as_array().map(Vec::len), is_warned(&own)), (Some(100), false), "{own}");

    // Asana: the next offset, a text, in an object about the next page.
    let next_page = object(json!({ "offset": { "type": "string" }, "uri": { "type": "string" } }));
    let paths = listing(
        "get",
        json!([number("limit"), text("offset")]),
        object(json!({ "data": list(), "next_page": next_page })),
    );
    let (_, is_right) = check("asana", paths, |request| {
        let (rows, next) = page(at(query(request).get("offset")), 50);
        answer(&json!({ "data": rows, "next_page": next.map(|next| json!({ "offset": format!("c-{next}"), "uri": "x" })) }))
    })
    .await;
    assert!(is_right);

    // GitBook: the same with other names.
    let next = object(json!({ "page": { "type": "string" } }));
    let paths =
        listing("get", json!([text("page"), number("limit")]), object(json!({ "items": list(), "next": next })));
    let (_, is_right) = check("gitbook", paths, |request| {
        let (rows, next) = page(at(query(request).get("page")), 50);
        let mut body = json!({ "items": rows });
        if let Some(next) = next {
            body["next"] = json!({ "page": format!("c-{next}") });
        }
        answer(&body)
    })
    .await;
    assert!(is_right);

    // Keycloak: `first` is an offset, and `max` the size.
    let (_, is_right) = check("keycloak", listing("get", json!([number("first"), number("max")]), list()), |request| {
        let query = query(request);
        let size = query.get("max").map_or(100, |max| max.parse().unwrap());
        answer(&json!(rows(at(query.get("first")), size)))
    })
    .await;
    assert!(is_right);

    // Prefect: limit and offset in the body of a POST that reads.
    let mut paths = listing("post", json!([]), list());
    paths["/things"]["post"]["summary"] = json!("Read Things");
    paths["/things"]["post"]["description"] = json!("Query for things.");
    let size = json!({ "type": "integer", "default": 200, "maximum": 200 });
    paths["/things"]["post"]["requestBody"] = json!({ "content": { "application/json": { "schema":
        object(json!({ "sort": { "type": "string" }, "offset": { "type": "integer" }, "limit": size })) } } });
    let paths = json!({ "/things/filter": paths["/things"].take() });
    let (_, is_right) = check("prefect", paths, |request| {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let part = |name: &str, default: u64| usize::try_from(body[name].as_u64().unwrap_or(default)).unwrap();
        answer(&json!(rows(part("offset", 0), part("limit", 200).min(200))))
    })
    .await;
    assert!(is_right);

    // Stripe: the id of the last row, and a flag.
    let paths = listing(
        "get",
        json!([number("limit"), text("starting_after"), text("ending_before")]),
        object(json!({ "object": { "type": "string" }, "data": list(), "has_more": { "type": "boolean" } })),
    );
    let (_, is_right) = check("stripe", paths, |request| {
        let skip = query(request).get("starting_after").map_or(0, |id| id.parse::<usize>().unwrap() + 1);
        let (rows, next) = page(skip, 100);
        answer(&json!({ "object": "list", "data": rows, "has_more": next.is_some() }))
    })
    .await;
    assert!(is_right);

    // An API whose pages begin with 0, which only its responses say.
    let paths = listing("get", json!([number("page"), number("size")]), object(json!({ "content": list() })));
    let (_, is_right) = check("spring", paths, |request| {
        let number = at(query(request).get("page"));
        answer(&json!({ "content": rows(number * 50, 50), "page": { "number": number, "totalElements": ROWS } }))
    })
    .await;
    assert!(is_right);
}

/// Spotify: a cursor that is a point in time, which callers fill, and the URL of the next page in the body.
#[tokio::test]
async fn a_parameter_of_the_api_keeps_its_name_and_meaning() {
    let cursors = object(json!({ "after": { "type": "string" }, "before": { "type": "string" } }));
    let body = object(json!({ "items": list(), "next": { "type": "string" }, "cursors": cursors }));
    let paths = listing("get", json!([number("limit"), number("after"), number("before")]), body);
    let (spotify, is_right) = check("spotify", paths, |request| {
        let query = query(request);
        let (rows, next) = page(at(query.get("before")), 50);
        let next = next.map(|next| format!("/things?before={next}&limit=50"));
        answer(&json!({ "items": rows, "next": next, "cursors": { "after": "1484811043508" }, "asked": query.get("after") }))
    })
    .await;
    assert!(is_right);
    let answer = call(&spotify.engine, "list_things", json!({ "after": 1_484_811_043_508_u64 })).await;
    assert_eq!(answer["data"]["asked"], "1484811043508", "{answer}");
}

#[tokio::test]
async fn lists_that_cannot_be_followed_claim_nothing() {
    // Only a size, and nothing that says whether there is more.
    let (served, is_right) = check("size", listing("get", json!([number("limit")]), list()), |request| {
        answer(&json!(rows(0, query(request).get("limit").map_or(20, |limit| limit.parse().unwrap()))))
    })
    .await;
    assert!(!is_right);
    let raw = call(&served.engine, "list_things", json!({})).await;
    assert!(is_warned(&raw), "{raw}");
    let short =
        call(&served.engine, "list_things", json!({ "limit": 600, "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(
        (&short["data"]["aggregations"]["n"], is_warned(&short)),
        (&json!(ROWS), false),
        "a short page is the last"
    );

    // GitLab: the description declares one object, but the API returns a list with a Link header.
    let paths =
        listing("get", json!([number("page"), number("per_page")]), object(json!({ "id": { "type": "string" } })));
    let served = Served::start(paths, |_, _| {
        answer(&json!(rows(0, 20))).with("link", "</things?page=2&per_page=20>; rel=\"next\"")
    })
    .await;
    let raw = call(&served.engine, "list_things", json!({})).await;
    assert!(is_warned(&raw), "{raw}");

    // A next page that is none: another operation, or one that does not exist.
    let (_, is_right) = check("elsewhere", listing("get", json!([]), object(json!({ "items": list() }))), |_| {
        answer(&json!({ "items": rows(0, 20), "next": "/other?page=2" }))
    })
    .await;
    assert!(!is_right);
}
