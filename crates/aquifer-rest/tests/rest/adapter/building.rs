//! Adapter files that are built from a description and served again.

use aquifer_discovery::Adapter;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::route::{Method, Place};
use aquifer_rest::{Api, AuthScheme, BuildError, Security, beyond_front_matter, build_adapter};
use serde_json::{Value, json};

use super::{assert_same, built, options, pets, served};

#[test]
fn r_dis_6_a_built_file_is_served_like_the_description() {
    let description = pets();
    let described = openapi::read(&description, &options()).unwrap();
    let files = built(&description);
    for is_settled in [false, true] {
        assert_same("pets", &served(&files.adapter, Some(&files.sidecar), is_settled), &described);
    }
    assert_eq!(files.name, "pets");
    assert_eq!(built(&description), files, "the same description gives the same bytes");
}

#[test]
fn swagger_is_built_as_well() {
    let description = json!({
        "swagger": "2.0",
        "info": { "title": "Old", "version": "1" },
        "host": "old.example",
        "schemes": ["https"],
        "consumes": ["application/json"],
        "paths": { "/things": { "post": {
            "operationId": "createThing",
            "parameters": [{ "name": "body", "in": "body", "schema": { "$ref": "#/definitions/Thing" } }],
            "responses": { "200": { "description": "ok", "schema": { "$ref": "#/definitions/Thing" } } }
        } } },
        "definitions": { "Thing": { "type": "object", "properties": { "size": { "type": "integer" } } } }
    });
    let described = openapi::read(&description, &options()).unwrap();
    let files = built(&description);
    assert_same("old", &served(&files.adapter, Some(&files.sidecar), false), &described);
}

#[test]
fn documents_that_a_description_refers_to_are_in_the_sidecar() {
    let description = json!({
        "openapi": "3.0.0",
        "info": {},
        "servers": [{ "url": "https://a.example" }],
        "paths": { "/a": { "get": { "parameters": [{ "$ref": "parts.yaml#/size" }], "responses": {} } } }
    });
    let part = json!({ "size": { "name": "size", "in": "query", "schema": { "type": "integer" } } });
    let loader = |name: &str| (name == "parts.yaml").then(|| part.clone());
    let options = ReadOptions { loader: Some(&loader), ..options() };
    let (files, described) = build_adapter(&description, &options, None).unwrap();
    assert_eq!(described.operations[0].parameters.len(), 1);
    assert_same("parts", &served(&files.adapter, Some(&files.sidecar), false), &described);
}

#[test]
fn r_dis_6_the_front_matter_has_the_published_fields_only() {
    let files = built(&pets());
    let front: Value = serde_saphyr::from_str(files.adapter.split("---\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        front["target"],
        json!({ "base_url": "https://pets.example/v2", "transport": "http", "protocol": "rest", "serialization": "json" })
    );
    assert_eq!(front["auth"]["type"], "api_key");
    assert_eq!(front["auth"]["key_env"], "PETS_API_KEY");
    let list = front["operations"]["read"].as_array().unwrap();
    let list = list.iter().find(|operation| operation["name"] == "list_pets").unwrap();
    assert_eq!(list["maps_to"], "GET /pets");
    assert_eq!(list["danger_level"], "safe");
    assert_eq!(list["pagination"], json!({ "style": "offset", "max_limit": 50 }));
    assert_eq!(list["params"]["status"]["enum"], json!(["free", "sold"]));
    assert_eq!(
        list["params"]["min_age"],
        json!({ "type": "integer", "required": false, "description": "Not younger.", "default": 1, "minimum": 0, "maximum": 40 })
    );
    assert_eq!(front["operations"]["delete"][0]["maps_to"], "DELETE /pets/{pet_id}");
    let known =
        ["name", "maps_to", "description", "params", "response", "pagination", "danger_level", "non_idempotent"];
    let known_params =
        ["type", "required", "description", "default", "enum", "minimum", "maximum", "pattern", "format"];
    for operation in front["operations"].as_object().unwrap().values().flat_map(|list| list.as_array().unwrap()) {
        assert!(operation.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{operation}");
        for parameter in operation["params"].as_object().into_iter().flat_map(|params| params.values()) {
            let keys = parameter.as_object().unwrap().keys();
            assert!(keys.into_iter().all(|key| known_params.contains(&key.as_str())), "{parameter}");
        }
    }
}

#[test]
fn without_its_sidecar_a_file_is_served_as_written() {
    let files = built(&pets());
    let api = served(&files.adapter, None, false);
    let names: Vec<&str> = api.operations.iter().map(|operation| &*operation.name).collect();
    assert!(names.contains(&"delete_pet") && names.contains(&"list_pets"), "{names:?}");
    let route = &api.routes["delete_pet"];
    assert_eq!((route.method, &*route.path), (Method::Delete, "/pets/{pet_id}"));
    assert!(matches!(route.parameters[0].place, Place::Path(_)));
    assert_eq!(api.auth.len(), 1);
}

#[test]
fn every_way_to_authenticate_is_written() {
    for (scheme, kind) in [
        (json!({ "type": "http", "scheme": "bearer" }), "bearer"),
        (json!({ "type": "http", "scheme": "basic" }), "basic"),
        (json!({ "type": "apiKey", "in": "header", "name": "X-Key" }), "api_key"),
        (json!({ "type": "apiKey", "in": "cookie", "name": "session" }), "api_key"),
        (
            json!({ "type": "oauth2", "flows": { "clientCredentials":
                { "tokenUrl": "https://pets.example/token", "scopes": { "read": "" } } } }),
            "oauth2",
        ),
    ] {
        let mut description = pets();
        description["security"] = json!([{ "only": [] }]);
        description["components"]["securitySchemes"] = json!({ "only": scheme });
        let (files, described) = build_adapter(&description, &options(), None).unwrap();
        assert!(files.adapter.contains(&format!("type: {kind}")), "{kind}: {}", files.adapter);
        assert_eq!(served(&files.adapter, None, false).auth, described.auth[..1], "{kind}");
        assert!(described.auth.iter().all(|scheme| !matches!(scheme, AuthScheme::RefreshToken { .. })));
    }
}

#[test]
fn a_file_needs_a_base_url_and_operations() {
    let mut description = pets();
    description["servers"] = json!([]);
    assert!(matches!(build_adapter(&description, &options(), None), Err(BuildError::NoBaseUrl)));
    let (files, _) = build_adapter(&description, &options(), Some("https://here.example/")).unwrap();
    let api = served(&files.adapter, Some(&files.sidecar), false);
    assert_eq!(api.base_url, "https://here.example");
    assert_eq!(&*api.operations[0].origin.place, "https://here.example");
    description["paths"] = json!({});
    let nothing = build_adapter(&description, &options(), Some("https://here.example"));
    assert!(matches!(nothing, Err(BuildError::NoOperation)));
}

#[test]
fn a_damaged_sidecar_is_refused() {
    let files = built(&pets());
    let mut sidecar: Value = serde_json::from_str(&files.sidecar).unwrap();
    sidecar["api"]["description"]["openapi"] = json!("9.9");
    let adapter = Adapter::read(&files.adapter, Some(&sidecar.to_string())).unwrap();
    assert!(Api::from_adapter(&adapter, "pets", false).unwrap_err().to_string().contains("sidecar"));
    sidecar["api"] = json!({});
    let adapter = Adapter::read(&files.adapter, Some(&sidecar.to_string())).unwrap();
    assert!(Api::from_adapter(&adapter, "pets", false).is_err());
    assert!(Adapter::read(&files.adapter, Some("{")).is_err());
}

#[test]
fn credentials_of_individual_operations_are_in_the_sidecar() {
    let mut description = pets();
    let (mut built_api, mut files) = (None, None);
    for (stated, is_said) in
        [(json!([{ "key": [] }]), true), (json!([]), false), (json!([{ "key": [], "token": [] }]), false)]
    {
        description["security"] = stated.clone();
        for item in description["paths"].as_object_mut().unwrap().values_mut().filter_map(Value::as_object_mut) {
            for operation in item.values_mut().filter_map(Value::as_object_mut) {
                operation.remove("security");
            }
        }
        let (written, api) = build_adapter(&description, &options(), None).unwrap();
        assert_eq!(beyond_front_matter(&api).is_empty(), is_said, "{stated}");
        assert_same("pets", &served(&written.adapter, Some(&written.sidecar), false), &api);
        (built_api, files) = (Some(api), Some(written));
    }
    let (api, files) = (built_api.unwrap(), files.unwrap());
    assert!(api.routes.values().all(|route| route.security == Security::OneOf(vec![vec![0, 1]].into())));
    // If a reviewer chooses another credential, it replaces all of them.
    let changed = files.adapter.replace("PETS_API_KEY", "OTHER_KEY");
    let changed = served(&changed, Some(&files.sidecar), false);
    assert_eq!(changed.auth.len(), 1);
    assert!(changed.routes.values().all(|route| route.security == Security::Any));
}

#[test]
fn credentials_in_urls_are_not_written_into_files() {
    let mut description = pets();
    description["servers"] = json!([{ "url": "https://ann:s3cret-1@pets.example/v2" }]);
    description["paths"]["/pets"]["servers"] = json!([{ "url": "https://ann:s3cret-2@other.example/@me" }]);
    description["components"]["securitySchemes"]["grant"] = json!({ "type": "oauth2", "flows": { "clientCredentials":
        { "tokenUrl": "https://id:s3cret-3@pets.example/token", "scopes": {} } } });
    let url = "https://ann:s3cret-4@pets.example/openapi.json?token=s3cret-5#s3cret-6";
    let options = ReadOptions { url: Some(url.to_owned()), ..options() };
    let (files, described) = build_adapter(&description, &options, None).unwrap();
    assert!(!files.adapter.contains("s3cret") && !files.sidecar.contains("s3cret"), "{}", files.sidecar);
    assert!(files.sidecar.contains("https://other.example/@me"), "only credentials are removed");
    let sidecar: Value = serde_json::from_str(&files.sidecar).unwrap();
    assert_eq!(sidecar["api"]["url"], "https://pets.example/openapi.json");
    assert_same("pets", &served(&files.adapter, Some(&files.sidecar), false), &described);
}
