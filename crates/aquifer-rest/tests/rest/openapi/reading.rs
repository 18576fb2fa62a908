//! How descriptions become operations and routes.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Rest, type_words};
use aquifer_rest::Api;
use aquifer_rest::openapi::{self, DescriptionError, ReadOptions};
use aquifer_rest::route::{Method, Pagination, Place, Route};
use serde_json::{Value, json};

pub(crate) fn read_with(description: &Value, options: ReadOptions<'_>) -> Api {
    openapi::read(description, &ReadOptions { source: "petstore".to_owned(), ..options }).expect("a description")
}

pub(crate) fn read(paths: Value, schemas: Value) -> Api {
    let description = json!({
        "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" }, "servers": [{ "url": "https://pets.example/v1/" }],
        "paths": paths, "components": { "schemas": schemas }
    });
    read_with(&description, ReadOptions::default())
}

pub(crate) fn operation<'a>(api: &'a Api, name: &str) -> (&'a Operation, &'a Route) {
    let names: Vec<&str> = api.operations.iter().map(|operation| &*operation.name).collect();
    let operation = api.operations.iter().find(|operation| &*operation.name == name);
    (operation.unwrap_or_else(|| panic!("no '{name}' in {names:?}; omitted: {:?}", api.omitted)), &api.routes[name])
}

/// The parameters of an operation: name, type and place.
pub(crate) fn parameters(api: &Api, name: &str) -> Vec<String> {
    let (operation, route) = operation(api, name);
    let shown = operation.parameters.iter().zip(&route.parameters).map(|(parameter, placed)| {
        let place = match placed.place {
            Place::Path(_) => "path",
            Place::Query { .. } => "query",
            Place::Header(_) => "header",
            Place::Cookie(_) => "cookie",
            Place::BodyField => "field",
            Place::Body => "body",
        };
        let mark = if parameter.required { "" } else { "?" };
        format!("{}{mark}: {} in {place}", parameter.name, type_words(&parameter.schema))
    });
    shown.collect()
}

pub(crate) fn body(schema: Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

#[test]
fn a_description_becomes_operations_types_and_routes() {
    let api = read(
        json!({
            "/pets/{petId}": {
                "parameters": [{ "name": "petId", "in": "path", "required": true, "schema": { "type": "integer" } }],
                "get": {
                    "operationId": "showPetById", "summary": "Show a pet", "tags": ["pets"],
                    "responses": { "200": { "description": "One pet", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } }
                },
                "delete": { "responses": { "204": { "description": "Gone" } } }
            },
            "/pets": { "get": { "responses": { "200": { "content": { "application/json": {
                "schema": { "type": "array", "items": { "$ref": "#/components/schemas/Pet" } } } } } } } }
        }),
        json!({ "Pet": { "type": "object", "required": ["id"], "properties": {
            "id": { "type": "integer", "readOnly": true }, "friend": { "$ref": "#/components/schemas/Pet" } } } }),
    );
    assert_eq!(
        (api.title.as_str(), api.version.as_deref(), api.base_url.as_str()),
        ("Pets", Some("1"), "https://pets.example/v1")
    );
    assert!(api.omitted.is_empty() && api.notes.is_empty(), "{:?} {:?}", api.omitted, api.notes);
    let (show, route) = operation(&api, "show_pet_by_id");
    assert_eq!((show.category, show.safety.danger, &*show.description), (Category::Read, Danger::Safe, "Show a pet"));
    assert_eq!((&*show.returns.type_name, &*show.returns.description), ("Pet", "One pet"));
    assert!(show.safety.is_idempotent && !show.origin.native);
    assert_eq!((route.method, &*route.path), (Method::Get, "/pets/{petId}"));
    assert_eq!(parameters(&api, "show_pet_by_id"), ["pet_id: integer in path"]);
    assert_eq!(show.parameters[0].original_name.as_deref(), Some("petId"));
    let (delete, _) = operation(&api, "delete_pet");
    assert_eq!((delete.category, delete.safety.danger), (Category::Delete, Danger::Destructive));
    let (list, _) = operation(&api, "get_pets");
    assert_eq!(&*list.returns.type_name, "PetList");
    assert_eq!(api.types.keys().map(|name| &**name).collect::<Vec<_>>(), ["Pet", "PetList"]);
    let Kind::Object(pet) = &api.types["Pet"].kind else { panic!("no object") };
    assert_eq!(type_words(&pet.fields[1].schema), "Pet");
    // Callers need not pass what the API sets itself.
    assert!(!pet.fields[0].required);
}

#[test]
fn what_cannot_be_understood_is_omitted_and_the_rest_is_served() {
    let api = read(
        json!({
            "/good": { "get": {} },
            "/no-parameter": { "get": { "parameters": [{ "$ref": "#/components/parameters/none" }] } },
            "/elsewhere": { "$ref": "paths.yaml#/elsewhere" },
            "/circle": { "$ref": "#/paths/~1circle" },
            "/number": { "get": 5 },
            "/bra{ce": { "get": {} },
            "/custom": { "additionalOperations": { "COPY": {}, "QUERY": { "operationId": "find" } } },
            "/bad-schema": { "get": { "operationId": "lenient", "parameters": [{ "name": "a", "in": "query", "schema": { "$ref": "#/nowhere" } }] } }
        }),
        json!({}),
    );
    let served: Vec<&str> = api.operations.iter().map(|operation| &*operation.name).collect();
    assert_eq!(served, ["get_good", "find", "lenient"]);
    let omitted: Vec<String> =
        api.omitted.iter().map(|omitted| format!("{}: {}", omitted.route, omitted.reason)).collect();
    for (route, reason) in [
        ("GET /no-parameter", "leads nowhere"),
        ("* /elsewhere", "another document, 'paths.yaml'"),
        ("* /circle", "circle"),
        ("GET /number", "not an object"),
        ("GET /bra{ce", "braces"),
        ("COPY /custom", "not supported"),
    ] {
        assert!(omitted.iter().any(|line| line.starts_with(route) && line.contains(reason)), "{route}: {omitted:?}");
    }
    assert_eq!(omitted.len(), 6);
    assert!(api.notes.iter().any(|note| note.contains("'#/nowhere' leads nowhere")), "{:?}", api.notes);
    assert_eq!(operation(&api, "find").0.category, Category::Read);
}

#[test]
fn what_is_no_description_is_refused_with_a_reason() {
    for (value, reason) in [
        (json!([]), "not an object"),
        (json!({ "paths": {} }), "neither 'openapi' nor 'swagger'"),
        (json!({ "openapi": "4.0.0" }), "'4.0.0' is not supported"),
        (json!({ "swagger": "1.2" }), "'1.2' is not supported"),
    ] {
        let error = openapi::read(&value, &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let options = ReadOptions { include: vec!["a\u{0}".repeat(10_000)], ..ReadOptions::default() };
    assert!(matches!(openapi::read(&json!({ "openapi": "3.0.0" }), &options), Err(DescriptionError::Setting(_))));
    // YAML parses this version as a number.
    assert!(openapi::read(&openapi::parse("openapi: 3.1\npaths: {}\n").unwrap(), &ReadOptions::default()).is_ok());
}

#[test]
fn operations_are_selected_by_name_route_and_tag() {
    let description = json!({ "openapi": "3.0.0", "paths": {
        "/pets": { "get": { "tags": ["Pets"] }, "post": { "operationId": "addPet" } },
        "/shops": { "get": { "tags": ["Shops"] } }
    } });
    for (include, exclude, expected) in [
        (vec![], vec![], vec!["get_pets", "add_pet", "get_shops"]),
        (vec!["add_*"], vec![], vec!["add_pet"]),
        (vec!["GET /*"], vec![], vec!["get_pets", "get_shops"]),
        (vec!["shops"], vec![], vec!["get_shops"]),
        (vec![], vec!["Pets", "POST *"], vec!["get_shops"]),
    ] {
        let words = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        let api = read_with(
            &description,
            ReadOptions { include: words(include), exclude: words(exclude), ..ReadOptions::default() },
        );
        assert_eq!(api.operations.iter().map(|operation| &*operation.name).collect::<Vec<_>>(), expected);
        assert_eq!(api.notes.iter().any(|note| note.contains("excluded")), expected.len() < 3);
    }
}

#[test]
fn exclusions_hold_for_every_spelling_of_a_path() {
    let spellings = [
        "admin/users",
        "/admin/users#2",
        "/admin/users/",
        "//admin//users",
        "/%61dmin/users",
        "/admin;v=1/users",
        "/ADMIN/users",
        "/admin/users?page={page}",
    ];
    for path in spellings {
        let description = json!({ "openapi": "3.1.0", "paths": { path: { "get": { "operationId": "listThem" } } } });
        for pattern in ["/admin/users", "GET /admin/*", "GET /admin/users"] {
            let options = ReadOptions { exclude: vec![pattern.to_owned()], ..ReadOptions::default() };
            assert_eq!(read_with(&description, options).operations.len(), 0, "{path} {pattern}");
        }
        let options = ReadOptions { exclude: vec!["/users*".to_owned()], ..ReadOptions::default() };
        assert_eq!(read_with(&description, options).operations.len(), 1, "{path}");
    }
}

#[test]
fn pagination_is_detected_where_it_is_clear() {
    let query = |names: &[(&str, &str)]| -> Vec<Value> {
        names
            .iter()
            .map(|(name, kind)| json!({ "name": name, "in": "query", "schema": { "type": kind, "maximum": 100 } }))
            .collect()
    };
    let list = json!({ "type": "array", "items": { "type": "object" } });
    let cursor = json!({ "type": "object", "properties": { "data": list, "meta": { "type": "object", "properties": { "nextCursor": { "type": "string" } } } } });
    let next_url =
        json!({ "type": "object", "properties": { "data": list, "next": { "type": "string", "format": "uri" } } });
    let integer = "integer";
    for (method, parameters, schema, headers, expected) in [
        (
            "get",
            query(&[("page", integer), ("perPage", integer)]),
            &list,
            json!({}),
            Some(Pagination::Page { page: "page".into(), size: Some("perPage".into()), first: 1, max_size: Some(100) }),
        ),
        (
            "get",
            query(&[("offset", integer), ("limit", integer)]),
            &list,
            json!({}),
            Some(Pagination::Offset { offset: "offset".into(), limit: Some("limit".into()), max_size: Some(100) }),
        ),
        (
            "get",
            query(&[("cursor", "string"), ("limit", integer)]),
            &cursor,
            json!({}),
            Some(Pagination::Cursor {
                cursor: "cursor".into(),
                next: "meta.nextCursor".into(),
                limit: Some("limit".into()),
                max_size: Some(100),
            }),
        ),
        (
            "get",
            query(&[("per_page", integer)]),
            &list,
            json!({ "Link": {} }),
            Some(Pagination::Link { limit: Some("per_page".into()), max_size: Some(100) }),
        ),
        ("get", query(&[("cursor", "string")]), &next_url, json!({}), None),
        ("get", query(&[("page", "string"), ("limit", integer)]), &list, json!({}), None),
        ("get", query(&[("page", integer)]), &list, json!({}), None),
        ("get", query(&[("page", integer), ("limit", integer)]), &json!({ "type": "object" }), json!({}), None),
        (
            "post",
            query(&[("page", integer), ("limit", integer)]),
            &list,
            json!({}),
            Some(Pagination::Page { page: "page".into(), size: Some("limit".into()), first: 1, max_size: Some(100) }),
        ),
        ("put", query(&[("page", integer), ("limit", integer)]), &list, json!({}), None),
    ] {
        let operation_json = json!({ "operationId": "search", "parameters": parameters, "responses": { "200": {
            "headers": headers, "content": { "application/json": { "schema": schema } } } } });
        let api = read(json!({ "/x": { method: operation_json.clone() } }), json!({}));
        assert_eq!(operation(&api, "search").1.pagination, expected, "{operation_json}");
    }
}

#[test]
fn servers_of_paths_and_operations_replace_the_base_url() {
    let description = json!({ "openapi": "3.0.0", "servers": [{ "url": "/api" }], "paths": {
        "/a": { "servers": [{ "url": "https://files.example/" }], "get": {}, "put": { "servers": [{ "url": "../other" }] } },
        "/b": { "get": {} }
    } });
    let options =
        ReadOptions { url: Some("https://pets.example/docs/v1/openapi.json".to_owned()), ..ReadOptions::default() };
    let api = read_with(&description, options);
    assert_eq!(api.base_url, "https://pets.example/api");
    assert_eq!(operation(&api, "get_a").1.base_url.as_deref(), Some("https://files.example"));
    assert_eq!(operation(&api, "put_a").1.base_url.as_deref(), Some("https://pets.example/docs/other"));
    assert_eq!(operation(&api, "get_b").1.base_url, None);
    let api = read_with(&description, ReadOptions::default());
    assert!(api.base_url.is_empty());
    assert!(api.notes[0].contains("relative"), "{:?}", api.notes);
    assert_eq!(api.operations.len(), 2);
}

#[test]
fn other_documents_come_from_the_caller() {
    let description = json!({ "openapi": "3.1.0", "paths": { "/pets": { "get": { "parameters": [{ "$ref": "common.yaml#/limit" }],
        "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "common.yaml#/schemas/Pet" } } } } } } } } });
    let load = |url: &str| {
        (url == "https://x.example/common.yaml").then(|| {
            json!({ "limit": { "name": "limit", "in": "query", "schema": { "$ref": "#/schemas/Limit" } },
                "schemas": { "Limit": { "type": "integer" }, "Pet": { "type": "object", "properties": { "next": { "$ref": "#/schemas/Pet" } } } } })
        })
    };
    let options = ReadOptions {
        url: Some("https://x.example/api.yaml".to_owned()),
        loader: Some(&load),
        ..ReadOptions::default()
    };
    let api = read_with(&description, options);
    assert_eq!(parameters(&api, "get_pets"), ["limit?: integer in query"]);
    let (pets, _) = operation(&api, "get_pets");
    assert_eq!(&*pets.returns.type_name, "CommonPet");
    assert!(api.types.contains_key("CommonPet"));
    let api = read_with(&description, ReadOptions::default());
    assert!(api.omitted[0].reason.contains("was not loaded"), "{:?}", api.omitted);
}

#[test]
fn r_res_2_operations_that_a_description_marks_are_deprecated() {
    let api = read(
        json!({ "/old": { "get": { "operationId": "listOld", "deprecated": true } },
            "/new": { "get": { "operationId": "listNew", "deprecated": false } } }),
        json!({}),
    );
    assert!(operation(&api, "list_old").0.deprecated.is_some());
    assert!(operation(&api, "list_new").0.deprecated.is_none());
}

#[test]
fn schemas_of_all_versions_are_read() {
    let api = read(
        json!({ "/x": { "post": { "operationId": "make", "requestBody": body(json!({ "type": "object", "properties": {
            "a": { "type": "integer", "minimum": 1, "exclusiveMinimum": true }, "b": { "type": "string", "nullable": true },
            "c": { "type": ["integer", "null"] }, "d": { "const": "x" }, "e": { "enum": ["x", null] },
            "f": { "oneOf": [{ "$ref": "#/components/schemas/Cat" }, { "$ref": "#/components/schemas/Dog" }], "discriminator": { "propertyName": "kind" } },
            "g": { "type": "string", "deprecated": true, "example": "hello" }, "h": { "type": "object", "additionalProperties": { "type": "integer" } },
            "i": { "anyOf": [{ "$ref": "#/components/schemas/Cat" }, { "type": "null" }] }
        } })) } } }),
        json!({
            "Pet": { "type": "object", "required": ["kind"], "properties": { "kind": { "type": "string" } } },
            "Cat": { "allOf": [{ "$ref": "#/components/schemas/Pet" }, { "type": "object", "properties": { "lives": { "type": "integer" } } }] },
            "Dog": { "allOf": [{ "$ref": "#/components/schemas/Pet" }] }
        }),
    );
    let (make, _) = operation(&api, "make");
    let field = |name: &str| make.parameter(name).unwrap();
    assert_eq!(field("a").schema.range.above, Some(1.0));
    assert_eq!(type_words(&field("b").schema), "string | null");
    assert_eq!(type_words(&field("c").schema), "integer | null");
    assert_eq!(field("d").schema.allowed.as_deref(), Some([json!("x")].as_slice()));
    assert!(field("e").schema.nullable);
    assert_eq!(type_words(&field("f").schema), "Cat | Dog");
    assert!(field("g").deprecated.is_some());
    assert_eq!(field("g").schema.example, Some(json!("hello")));
    let Kind::Object(map) = &field("h").schema.kind else { panic!("no object") };
    assert!(matches!(map.rest, Rest::Of(_)));
    assert_eq!(type_words(&field("i").schema), "Cat | null");
    let Kind::Object(cat) = &api.types["Cat"].kind else { panic!("no object") };
    assert_eq!(cat.fields.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["kind", "lives"]);
}

#[test]
fn credentials_are_not_asked_of_callers() {
    let query = |name: &str| json!({ "name": name, "in": "query", "required": true, "schema": { "type": "string" } });
    let description = json!({ "openapi": "3.2.0", "components": {
        "securitySchemes": { "key": { "type": "apiKey", "in": "query", "name": "api_key" } },
        "mediaTypes": { "Pet": { "schema": { "type": "object", "properties": { "name": { "type": "string" } } } } }
    }, "paths": { "/pets": {
        "get": { "parameters": [query("api_key"), query("q")] },
        "post": { "requestBody": { "content": { "application/json": { "$ref": "#/components/mediaTypes/Pet" } } } },
        "query": { "operationId": "findPets", "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object", "required": ["q"], "properties": { "q": { "type": "string" } } } } } } }
    } } });
    let api = read_with(&description, ReadOptions::default());
    assert_eq!(parameters(&api, "get_pets"), ["q: string in query"]);
    // Version 3.2 has reusable media types and a method that reads with a body.
    assert_eq!(parameters(&api, "post_pets"), ["name?: string in field"]);
    assert_eq!(parameters(&api, "find_pets"), ["q: string in field"]);
    assert_eq!(operation(&api, "find_pets").0.category, Category::Read);
}

#[test]
fn names_of_types_never_meet() {
    let object = |field: &str| json!({ "type": "object", "properties": { field: { "type": "string" } } });
    let refer = |name: &str| json!({ "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{name}") } } } } } } });
    let api = read(
        json!({ "/a": refer("simple-user"), "/b": refer("SimpleUser"), "/c": refer("simple_user"),
            "/d": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "type": "array", "items": { "$ref": "#/components/schemas/SimpleUser" } } } } } } } },
            "/e": refer("SimpleUserList") }),
        json!({ "simple-user": object("a"), "SimpleUser": object("b"), "simple_user": object("c"), "SimpleUserList": object("e") }),
    );
    let returned = |name: &str| operation(&api, name).0.returns.type_name.to_string();
    assert_eq!(returned("get_b"), "SimpleUser");
    assert_eq!(returned("get_e"), "SimpleUserList");
    let all = ["get_a", "get_b", "get_c", "get_d", "get_e"].map(returned);
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), 5, "{all:?}");
    assert_eq!(api.types.len(), 5);
}

#[test]
fn notes_stay_short() {
    let mut paths = serde_json::Map::new();
    for index in 0..300 {
        paths.insert(
            format!("/thing{index}"),
            json!({ "post": { "operationId": format!("thing{index}"), "callbacks": { "done": {} } } }),
        );
    }
    let api = read(Value::Object(paths), json!({}));
    assert_eq!(api.notes.len(), 2, "{:?}", api.notes);
    assert_eq!(api.notes[0], "The description has 300 callbacks, which are not supported.");
    assert!(api.notes[1].starts_with("300 operations have unclear effects") && api.notes[1].ends_with("and 295 more."));
    assert!(api.notes[1].len() < 600);
}

#[test]
fn keys_against_repetition_are_left_to_the_client() {
    let key = json!({ "name": "Idempotency-Key", "in": "header", "required": true, "schema": { "type": "string" } });
    let api = read(
        json!({
            "/payments": {
                "post": { "operationId": "createPayment", "summary": "Create a payment", "parameters": [key] },
                "get": { "operationId": "listPayments", "parameters": [key] }
            },
            "/notes": { "post": { "operationId": "createNote", "summary": "Create a note" } }
        }),
        json!({}),
    );
    let (create, route) = operation(&api, "create_payment");
    assert_eq!(route.idempotency_header.as_deref(), Some("Idempotency-Key"));
    assert!(create.parameters.is_empty() && route.parameters.is_empty());
    assert_eq!(operation(&api, "list_payments").1.idempotency_header, None, "reading can be repeated anyway");
    assert_eq!(operation(&api, "create_note").1.idempotency_header, None);
}
