//! Adapter files: built, read back, and refused with a place (R-DIS-6, R-DIS-7, R-DIS-9).

use aquifer_discovery::adapter::{AdapterAuth, KeyPlace, MapsTo, Sidecar, Target, build};
use aquifer_discovery::bundle::{Auth, RawCapture, Transport};
use aquifer_discovery::{Adapter, Bundle, Offer, normalize};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use crate::fixture::{bundle, bundles, catalog, http, reach};

#[test]
fn r_dis_6_built_adapters_are_read_back() {
    for (name, bundle) in bundles() {
        let built = build(&bundle).unwrap();
        assert_eq!(built, build(&Bundle::read(&bundle.write().unwrap()).unwrap()).unwrap(), "{name}");
        let adapter = Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap_or_else(|problems| {
            panic!("{name}: {problems:#?}");
        });
        assert_eq!(built.file_name(), format!("{name}-adapter.md"));
        assert_eq!(adapter.name, name);
        assert_eq!(adapter.target, Target::McpHttp { url: bundle.source.server_url.clone() });
        assert_eq!(adapter.operations.len(), bundle.normalized_bundle.operations.len());
        for made in &bundle.normalized_bundle.operations {
            let read = adapter.operations.iter().find(|operation| operation.name == made.operation_name).unwrap();
            assert_eq!(read.category, made.endpoint);
            assert_eq!(read.description, made.description);
            assert_eq!(read.danger, made.danger_level);
            assert_eq!(read.maps_to, MapsTo::Tool(made.source_tool_name.clone()));
            let names: Vec<_> = read.parameters.iter().map(|one| (&one.name, &one.original_name)).collect();
            let wanted: Vec<_> = made.params.iter().map(|one| (&one.name, &one.original_name)).collect();
            assert_eq!(names, wanted);
        }
        let sidecar: Sidecar = serde_json::from_str(&built.sidecar).unwrap();
        assert_eq!(sidecar.pins(), bundle.pins());
    }
}

#[test]
fn r_dis_7_live_and_reviewed_offer_the_same() {
    for (name, bundle) in bundles() {
        let live = Offer::from_bundle(&bundle, "s");
        let built = build(&bundle).unwrap();
        let reviewed = Offer::from_adapter(&Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap(), "s");
        assert_eq!(live.operations.len(), reviewed.operations.len());
        for operation in &live.operations {
            let same = reviewed.operations.iter().find(|other| other.name == operation.name).unwrap();
            assert!(!operation.origin.native);
            assert_eq!(operation.category, same.category);
            assert_eq!(operation.safety.danger, same.safety.danger);
            let schema = |offer: &Offer, operation: &aquifer_protocol::operation::Operation| {
                operation.input_schema(&offer.types)
            };
            assert_eq!(schema(&live, operation), schema(&reviewed, same), "{name} {}", operation.name);
            let (a, b) = (&live.calls[&operation.name], &reviewed.calls[&operation.name]);
            assert!(a.names().eq(b.names()));
        }
    }
}

#[test]
fn r_dis_6_stdio_has_no_command_in_the_file() {
    let mut source = http("Local Files");
    source.transport = Transport::Stdio;
    source.server_url = "stdio:local-files".to_owned();
    source.auth = Auth::none();
    let capture = RawCapture::from_pages(&[r#"{"tools":[{"name":"a b","inputSchema":{"type":"object"}}]}"#]).unwrap();
    let built = build(&normalize(source, capture)).unwrap();
    let adapter = Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap();
    assert_eq!(adapter.target, Target::McpStdio { name: "local-files".to_owned() });
    assert_eq!(adapter.auth, AdapterAuth::None);
    assert!(built.adapter.contains("base_url: \"stdio:local-files\""), "{}", built.adapter);
    assert!(built.adapter.contains("transport: native"), "{}", built.adapter);
}

#[test]
fn r_dis_6_a_built_file_has_every_section() {
    let bundle = bundle(json!([
        { "name": "getUser", "description": "Get a user.\nSecond line: with | and <b>.", "annotations": { "readOnlyHint": true },
          "inputSchema": { "type": "object", "required": ["userId"], "properties": {
              "userId": { "type": "string", "description": "Who", "pattern": "^[a-z]+$" },
              "_depth": { "type": "integer", "minimum": 1, "maximum": 5, "default": 2 },
              "kind": { "enum": ["a", "b"] },
              "level": { "enum": [1, 2] } } } },
        { "name": "drop all", "inputSchema": { "type": "object" } }
    ]));
    insta::assert_snapshot!("whole_file", build(&bundle).unwrap().adapter);
}

const REST: &str = r##"---
name: tasks-api
type: adapter
version: "1.2.0"
description: "Tasks"
author: someone
tags: [tasks, work]
created: 2026-01-01T00:00:00Z
target:
  base_url: "https://api.example.com/v1"
  transport: http
  protocol: rest
  serialization: json
auth:
  type: api_key
  header_name: X-API-Key
  key_env: TASKS_KEY
trust:
  level: certified
  generated_at: "2026-01-15T10:00:00Z"
rate_limits:
  requests_per_minute: 60
  concurrent_requests: 5
shared_parameters:
  fields: { name: "fields", type: "string | string[]", required: false, description: "Fields" }
  pages:
    - { name: "limit", type: number, default: 25 }
    - { name: "offset", type: number }
operations:
  read:
    - name: get_task
      maps_to: "GET /tasks/{id}"
      description: Get a task
      params:
        id: { type: string, required: true }
    - name: list_tasks
      maps_to: "GET /tasks"
      pagination: { style: link_header, param_name: page }
      params:
        - $ref: "#/shared_parameters/fields"
        - $ref: "#/shared_parameters/pages"
        - { name: state, type: integer, enum: [1, 2] }
  delete:
    - name: force_delete
      maps_to: "DELETE /tasks/{id}"
      danger:
        level: destructive
        reasons: ["It is gone"]
      params: { id: { type: string, required: true } }
---
# Tasks
"##;

#[test]
fn r_dis_9_a_base_url_has_no_trailing_slash() {
    let file = REST.replace("https://api.example.com/v1", "https://api.example.com/v1/");
    let problems = Adapter::read(&file, None).unwrap_err();
    let shown = format!("{problems:?}");
    assert!(shown.contains("target.base_url") && shown.contains("trailing slash"), "{shown}");
}

#[test]
fn r_dis_7_richer_documents_are_read_and_shared_parameters_resolved() {
    let adapter = Adapter::read(REST, None).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert_eq!(adapter.target, Target::Rest { base_url: "https://api.example.com/v1".to_owned() });
    assert_eq!(adapter.trust, Trust::Generated, "a file cannot vouch for itself");
    assert_eq!(
        adapter.auth,
        AdapterAuth::ApiKey {
            key_env: Some("TASKS_KEY".to_owned()),
            header: "X-API-Key".to_owned(),
            place: KeyPlace::Header
        }
    );
    let list = adapter.operations.iter().find(|operation| operation.name == "list_tasks").unwrap();
    let names: Vec<&str> = list.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["fields", "limit", "offset", "state"]);
    let delete = adapter.operations.iter().find(|operation| operation.name == "force_delete").unwrap();
    assert_eq!(delete.danger, Danger::Destructive, "declared beats the pattern");
    assert_eq!(delete.maps_to, MapsTo::Route { method: "DELETE", path: "/tasks/{id}".to_owned() });
    let offer = Offer::from_adapter(&adapter, "tasks");
    assert_eq!(offer.operations.len(), 3);
    assert!(offer.operations.iter().all(|operation| !operation.origin.native));
    assert_eq!(adapter.body.trim(), "# Tasks");
    let windows = Adapter::read(&format!("\u{feff}{}", REST.replace('\n', "\r\n")), None).unwrap();
    assert_eq!(windows.operations.len(), 3);
}

/// One change to a right file, and what is said about it: code, line, and words that must be there.
#[test]
fn r_dis_9_problems_have_a_place_and_a_suggestion() {
    #[rustfmt::skip]
    let table: &[(&str, &str, &str, u64, &str)] = &[
        ("name: tasks-api\n", "", "SCHEMA_MISSING_FIELD", 2, "'name'"),
        ("name: tasks-api", "name: Tasks API", "SCHEMA_INVALID_NAME", 2, "tasks-api"),
        ("type: adapter", "type: adaptor", "SCHEMA_INVALID_TYPE", 3, "Did you mean 'adapter'?"),
        ("version: \"1.2.0\"", "version: 1.2", "SCHEMA_INVALID_TYPE", 4, "quotes"),
        ("version: \"1.2.0\"", "version: \"one\"", "SCHEMA_INVALID_TYPE", 4, "1.0.0"),
        ("author: someone", "authr: someone", "SCHEMA_INVALID_NAME", 6, "Did you mean 'author'?"),
        ("author: someone", "schema_version: \"9\"", "SCHEMA_VERSION_UNSUPPORTED", 6, "1.0.0-draft"),
        ("author: someone", "name: again", "SCHEMA_DUPLICATE_NAME", 6, "duplicate"),
        ("transport: http", "transport: htpp", "PLUGIN_NOT_FOUND", 11, "'http'"),
        ("transport: http", "transport: websocket", "PLUGIN_NOT_FOUND", 11, "websocket"),
        ("protocol: rest", "protocol: graphql", "PLUGIN_NOT_FOUND", 12, "graphql"),
        ("type: api_key", "type: digest", "PLUGIN_NOT_FOUND", 15, "digest"),
        ("key_env: TASKS_KEY", "key: hunter2", "SCHEMA_INVALID_TYPE", 17, "credential"),
        ("key_env: TASKS_KEY", "key_env: \"not a name!\"", "SCHEMA_INVALID_TYPE", 17, "environment variable"),
        ("https://api.example.com/v1", "https://me:pw@api.example.com/v1", "SCHEMA_INVALID_TYPE", 10, "credential"),
        ("https://api.example.com/v1", "ftp://api.example.com", "SCHEMA_INVALID_TYPE", 10, "http"),
        ("author: someone", "author: ghp_0123456789abcdefABCDEF", "SCHEMA_INVALID_TYPE", 6, "credential"),
        ("level: certified", "level: certifid", "SCHEMA_INVALID_TYPE", 19, "Did you mean 'certified'?"),
        ("name: get_task", "name: getTask", "SCHEMA_INVALID_NAME", 31, "get_task"),
        ("name: get_task", "name: introspect", "SCHEMA_INVALID_NAME", 31, "protocol"),
        ("name: get_task", "name: list_tasks", "SCHEMA_DUPLICATE_NAME", 36, "list_tasks"),
        ("GET /tasks/{id}", "GET /tasks/{idd}", "SCHEMA_UNRESOLVED_REF", 32, "idd"),
        ("GET /tasks/{id}", "FETCH /tasks/{id}", "SCHEMA_INVALID_TYPE", 32, "METHOD"),
        ("id: { type: string, required: true }\n    - name: list", "id: { type: strin, required: true }\n    - name: list", "SCHEMA_INVALID_TYPE", 35, "Did you mean 'string'?"),
        ("id: { type: string, required: true }\n    - name: list", "id: { type: string, required: \"true\" }\n    - name: list", "SCHEMA_INVALID_TYPE", 35, "without quotes"),
        ("id: { type: string, required: true }\n    - name: list", "id: { type: string, requird: true }\n    - name: list", "SCHEMA_INVALID_NAME", 35, "Did you mean 'required'?"),
        ("#/shared_parameters/pages", "#/shared_parameters/page", "SCHEMA_UNRESOLVED_REF", 41, "Did you mean 'pages'?"),
        ("default: 25", "default: many", "SCHEMA_INVALID_TYPE", 27, "number"),
        ("level: destructive", "level: destructiv", "SCHEMA_INVALID_TYPE", 47, "Did you mean 'destructive'?"),
        ("operations:\n  read:", "operations:\n  reed:", "SCHEMA_INVALID_NAME", 30, "Did you mean 'read'?"),
        ("---\n# Tasks", "# Tasks", "SCHEMA_MISSING_FIELD", 1, "never ends"),
        ("---\nname", "name", "SCHEMA_MISSING_FIELD", 1, "front matter"),
        ("tags: [tasks, work]", "tags: [tasks, work", "SCHEMA_INVALID_TYPE", 8, "YAML"),
    ];
    for (from, to, code, line, words) in table {
        let text = REST.replacen(from, to, 1);
        assert_ne!(text, REST, "{from}");
        let problems = Adapter::read(&text, None).expect_err(to);
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let found = problems.iter().find(|problem| problem.code.as_str() == *code && problem.line == *line);
        assert!(
            found.is_some_and(|problem| problem.to_string().contains(words)),
            "{to}: {code} line {line}: {shown:#?}"
        );
        assert!(found.unwrap().column > 0);
        for secret in ["hunter2", "me:pw", "ghp_0123"] {
            assert!(!shown.concat().contains(secret), "{shown:?}");
        }
    }
}

#[test]
fn r_dis_6_a_mismatched_sidecar_is_reported() {
    let bundle =
        bundle(json!([{ "name": "getUser", "inputSchema": { "type": "object", "properties": { "userId": {} } } }]));
    let built = build(&bundle).unwrap();
    let renamed = built.adapter.replacen("user_id:", "user:", 1);
    let problems = Adapter::read(&renamed, Some(&built.sidecar)).unwrap_err();
    assert_eq!(problems[0].code.as_str(), "SCHEMA_UNRESOLVED_REF", "{problems:?}");
    let moved = built.adapter.replacen("tool:getUser", "tool:getUsers", 1);
    let problems = Adapter::read(&moved, Some(&built.sidecar)).unwrap_err();
    assert!(problems[0].to_string().contains("no such tool"), "{problems:?}");
    assert!(Adapter::read(&built.adapter, Some("{")).is_err());
    let operation = built.adapter.replacen("name: get_user", "name: fetch_user", 1);
    let adapter = Adapter::read(&operation, Some(&built.sidecar)).unwrap();
    let offer = Offer::from_adapter(&adapter, "s");
    let arguments = json!({ "user_id": { "userId": 1 } });
    let arguments = offer.calls["fetch_user"].arguments(arguments.as_object().unwrap().clone());
    assert_eq!(Value::Object(arguments), json!({ "userId": { "userId": 1 } }));
    assert_eq!(adapter.operations[0].category, Category::Read);
}

#[test]
fn r_dis_6_a_reviewer_may_allow_less() {
    let input = json!({ "type": "object", "properties": {
        "count": { "type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 2 },
        "kind": { "type": "string", "enum": ["a", "b"], "minLength": 1 },
    } });
    let built = build(&bundle(json!([{ "name": "list_it", "inputSchema": input }]))).unwrap();
    let narrower = built.adapter.replacen("maximum: 100", "maximum: 10", 1).replacen("            - b\n", "", 1);
    assert_ne!(narrower, built.adapter);
    let offer = Offer::from_adapter(&Adapter::read(&narrower, Some(&built.sidecar)).unwrap(), "s");
    let catalog = catalog(&offer);
    for (params, passes) in [
        (json!({ "count": 10, "kind": "a" }), true),
        (json!({ "count": 12 }), false),
        (json!({ "count": 9 }), false),
        (json!({ "kind": "b" }), false),
    ] {
        assert_eq!(reach(&offer, &catalog, "list_it", params.clone()).is_ok(), passes, "{params}");
    }
}
