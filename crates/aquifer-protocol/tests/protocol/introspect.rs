//! Introspection: shapes exactly as published.

use std::time::Duration;

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::introspect::{Answers, Cursor, Detail, Facts, Narrowing, Query};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::{Backing, Lifecycle, Operation, Safeguards};
use aquifer_protocol::schema::{Parameter, SchemaReader, Types};
use serde_json::{Value, json};

use crate::fixture::{catalog, crude};

fn facts() -> Facts {
    Facts { limits: Limits::default(), max_batch_size: 100, confirmation: false }
}

fn answer_from<T>(ask: impl FnOnce(Answers<'_>) -> T) -> T {
    ask(Answers { catalog: &catalog(), surface: &crude(), facts: &facts() })
}

fn details(name: &str, detail: Detail) -> Value {
    answer_from(|answers| answers.operation(name, detail))["operation"].clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn parameter(details: &Value, name: &str) -> Value {
    details["parameters"].as_array().unwrap().iter().find(|parameter| parameter["name"] == name).unwrap().clone()
}

#[test]
fn r_int_1_a_list_is_protocol_and_operations_and_nothing_else() {
    let catalog = catalog();
    let all = || catalog.operations().iter().map(|op| &**op);
    let list = answer_from(|answers| answers.operations(all(), Detail::Standard, None, false));
    assert_eq!(keys(&list), ["_protocol", "operations"]);
    let operations = list["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 9);
    for operation in operations {
        assert_eq!(keys(operation), ["name", "semantic_category", "endpoint", "description"]);
    }
    assert_eq!(
        operations[0],
        json!({ "name": "create_user", "semantic_category": "CREATE", "endpoint": "create", "description": "Create a user." })
    );
    let protocol = &list["_protocol"];
    assert_eq!(protocol["version"], "1.0.0-draft");
    assert_eq!(protocol["conformance"], "level-1", "no list here has 'fields'");
    assert_eq!(protocol["mode"], "semantic");
    assert_eq!(protocol["profile"], "crude");
    assert_eq!(protocol["capabilities"]["batch"], true);
    assert_eq!(protocol["capabilities"].get("execution_safety_loop"), None, "no published value is true");
    assert_eq!(protocol["limits"]["max_nesting_depth"], 32);
    assert_eq!(
        protocol["extensions"],
        json!(["introspection", "signatures", "batch_references", "error_codes", "accepted_trust", "effects"]),
        "no tables, no query language"
    );
    let narrowed = answer_from(|answers| answers.operations(all(), Detail::Minimal, None, true));
    assert_eq!(keys(&narrowed["operations"][0]), ["name", "description"], "opt-in: fields minimal");
    let full = answer_from(|answers| answers.operations(all(), Detail::Full, None, true));
    assert_eq!(full["operations"][0]["danger"], "reversible", "opt-in: fields full");
    assert_eq!(keys(&narrowed["_protocol"]), ["version"]);
}

#[test]
fn r_req_7_limits_are_shown() {
    let shown = &answer_from(|answers| answers.limits())["limits"];
    assert_eq!(shown["max_request_size"], 1 << 20);
    assert_eq!(shown["max_response_size"], 10 << 20);
    assert_eq!(shown["max_string_length"], 1 << 20);
    assert_eq!(shown["max_array_elements"], 10_000);
    assert_eq!(shown["max_batch_operations"], 100);
}

#[test]
fn r_int_2_details_are_the_published_fields() {
    let published = [
        "name",
        "semantic_category",
        "endpoint",
        "mcpTool",
        "description",
        "permissions",
        "parameters",
        "returns",
        "examples",
    ];
    let create = details("create_user", Detail::Standard);
    assert_eq!(keys(&create), published);
    assert_eq!(create["mcpTool"], "mcp_aql_create");
    assert_eq!(create["permissions"], json!({ "readOnly": false, "destructive": false }));
    assert_eq!(create["examples"][0]["request"]["operation"], "create_user");
    assert_eq!(keys(&details("create_user", Detail::Minimal)), ["name", "description", "parameters"]);
    let full = details("create_user", Detail::Full);
    assert_eq!(full["danger"], "reversible");
    assert_eq!(full["input_schema"]["properties"]["age"], json!({ "type": "integer", "minimum": 0, "maximum": 150 }));
    assert_eq!(full["input_schema"]["$defs"]["Address"]["properties"]["next"]["$ref"], "#/$defs/Address");
    assert_eq!(full["input_schema"]["additionalProperties"], false);
}

#[test]
fn r_int_2_a_description_ends_with_the_danger() {
    assert_eq!(details("delete_user", Detail::Standard)["description"], "Get a user. Danger: destructive.");
    let mut operation = Operation::new("execute_x", Category::Execute, "Run");
    operation.capabilities.lifecycle = Some(Lifecycle::standard());
    let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
    let answers = Answers { catalog: &catalog, surface: &crude(), facts: &facts() };
    let shown = answers.operation("execute_x", Detail::Standard);
    assert_eq!(
        shown["operation"]["lifecycle"]["states"],
        json!(["pending", "running", "completed", "failed", "cancelled"])
    );
}

/// What a person will be asked, and why, beside the danger; and only there (R-INT-2).
#[test]
fn r_saf_3_full_details_show_what_is_confirmed() {
    let mut delete = Operation::new("delete_x", Category::Delete, "Delete");
    delete.origin.source = "shop".into();
    let plain = delete.clone();
    delete.safety.safeguards = Safeguards {
        always_confirm: true,
        reasons: vec!["Gone for good".into()],
        message: Some("Delete {id}?".into()),
        cooldown: Duration::from_secs(5),
    };
    let shown = |operation: Operation, detail: Detail| {
        let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
        let answers = Answers { catalog: &catalog, surface: &crude(), facts: &facts() };
        answers.operation("delete_x", detail)["operation"].clone()
    };
    let full = shown(delete.clone(), Detail::Full);
    for (key, value) in [
        ("danger", json!("destructive")),
        ("danger_reasons", json!(["Gone for good"])),
        ("requires_confirmation", json!(true)),
        ("confirmation_message", json!("Delete {id}?")),
        ("cooldown_seconds", json!(5)),
        ("source", json!("shop")),
        ("trust", json!("accepted")),
    ] {
        assert_eq!(full[key], value, "{key}");
    }
    let without = shown(plain.clone(), Detail::Full);
    for key in ["danger_reasons", "requires_confirmation", "confirmation_message", "cooldown_seconds"] {
        assert!(without.get(key).is_none(), "{key}");
    }
    assert_eq!(keys(&shown(delete, Detail::Standard)), keys(&shown(plain, Detail::Standard)));
}

#[test]
fn r_int_2a_every_constraint_is_shown() {
    let create = details("create_user", Detail::Standard);
    for (name, expected) in [
        (
            "user_name",
            json!({ "name": "user_name", "type": "string", "required": true, "description": "The login name.", "minLength": 2, "maxLength": 20, "pattern": "^[a-z]+$" }),
        ),
        ("age", json!({ "name": "age", "type": "integer", "required": false, "minimum": 0, "maximum": 150 })),
        (
            "score",
            json!({ "name": "score", "type": "number", "required": false, "description": "Greater than 0. Less than 1. A multiple of 0.25." }),
        ),
        (
            "role",
            json!({ "name": "role", "type": "string", "required": false, "default": "viewer", "enum": ["admin", "editor", "viewer"] }),
        ),
        ("email", json!({ "name": "email", "type": "string", "required": false, "format": "email" })),
        (
            "tags",
            json!({ "name": "tags", "type": "array", "required": false, "description": "Between 1 and 3 elements. Elements must differ.", "items": { "type": "string", "maxLength": 5 } }),
        ),
        ("address", json!({ "name": "address", "type": "Address", "required": false })),
        ("fields", json!({ "name": "fields", "type": "string | string[]", "required": false })),
        ("nickname", json!({ "name": "nickname", "type": "string | null", "required": false })),
        ("password", json!({ "name": "password", "type": "string", "required": false, "sensitive": true })),
        ("old", json!({ "name": "old", "type": "boolean", "required": false, "description": "Deprecated." })),
    ] {
        assert_eq!(parameter(&create, name), expected);
    }
    assert_eq!(
        parameter(&details("update_user", Detail::Standard), "input")["type"],
        "UpdateUserInput",
        "nested objects get names"
    );
}

#[test]
fn r_int_3_types_are_listed_and_explained() {
    let list = answer_from(|answers| answers.types());
    let names: Vec<&str> = list["types"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    for name in [
        "SemanticCategory",
        "OperationInput",
        "OperationResult",
        "OperationSuccess",
        "OperationFailure",
        "EndpointPermissions",
        "FieldSelection",
        "PageInfo",
        "Address",
        "UpdateUserInput",
        "UpdateUserInputProfile",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    for of in list["types"].as_array().unwrap() {
        assert!(keys(of).iter().all(|key| ["name", "kind", "description"].contains(key)), "{of}");
    }
    let of = |name: &str| answer_from(|answers| answers.named_type(name))["type"].clone();
    assert_eq!(of("SemanticCategory")["values"], json!(["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]));
    assert_eq!(of("OperationResult")["members"], json!(["OperationSuccess", "OperationFailure"]));
    assert_eq!(of("FieldSelection")["kind"], "union");
    assert_eq!(of("FieldSelection")["members"], json!(["FieldPreset", "array"]));
    assert_eq!(of("FieldPreset")["values"], json!(["minimal", "standard", "full"]));
    let page = of("ResultPage");
    let members: Vec<&str> = page["fields"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    for name in ["items", "edges", "columns", "rows", "pageInfo", "pagination", "groups", "aggregations"] {
        assert!(members.contains(&name), "{name} of {members:?}");
    }
    assert_eq!(of("Address")["fields"][2], json!({ "name": "next", "type": "Address", "required": false }));
}

#[test]
fn r_int_4_an_unknown_name_is_null() {
    assert_eq!(answer_from(|answers| answers.operation("nothing", Detail::Standard)), json!({ "operation": null }));
    assert_eq!(answer_from(|answers| answers.named_type("Nothing")), json!({ "type": null }));
}

#[test]
fn r_int_5_the_schema_can_be_asked_for_where_there_are_tables() {
    let queries = |operation: Operation| {
        let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
        let query = catalog.operation("introspect").unwrap().parameter("query").unwrap();
        query.schema.allowed.clone().unwrap().to_vec()
    };
    let plain = Operation::new("list_books", Category::Read, "List books.");
    let mut of_table = plain.clone();
    of_table.origin.backing = Backing::Table("books".into());
    assert!(!queries(plain).contains(&json!("schema")));
    assert!(queries(of_table).contains(&json!("schema")));
}

#[test]
fn r_int_6_queries_are_read_and_contradictions_refused() {
    let query = |params: Value| Query::from_params(params.as_object().unwrap());
    assert_eq!(query(json!({ "query": "operations" })).unwrap(), Query::Operations(Narrowing::default()));
    assert_eq!(query(json!({ "query": "types", "name": "Task" })).unwrap(), Query::Type("Task".to_owned()));
    assert_eq!(query(json!({ "query": "summary" })).unwrap(), Query::Summary);
    for (params, name) in [
        (json!({ "query": "operations", "name": "x", "search": "y" }), "search"),
        (json!({ "query": "types", "category": "READ" }), "category"),
        (json!({ "query": "summary", "name": "x" }), "name"),
    ] {
        let failure = query(params).unwrap_err();
        assert_eq!(failure.code().as_str(), "VALIDATION_INVALID_VALUE");
        assert_eq!(failure.details()["param_name"], name);
    }
}

#[test]
fn r_int_6_cursors_belong_to_one_list_of_one_catalog() {
    let searching = Narrowing { search: Some("x".to_owned()), ..Narrowing::default() };
    let cursor = Cursor::new(5, &searching, 1).to_string();
    assert_eq!(Cursor::read(&cursor, &searching, 1), Some(5));
    let next = Narrowing { first: Some(3), after: Some(cursor.clone()), ..searching.clone() };
    assert_eq!(Cursor::read(&cursor, &next, 1), Some(5), "the page size may change");
    assert_eq!(Cursor::read(&cursor, &searching, 2), None, "another catalog");
    assert_eq!(Cursor::read(&cursor, &Narrowing::default(), 1), None, "another list");
    for forged in ["", "5", "5.", ".5", "zz.zz", "ffffffffffffffffffff.1"] {
        assert_eq!(Cursor::read(forged, &searching, 1), None);
    }
}

#[test]
fn r_int_6_the_summary_groups_by_endpoint() {
    let summary = answer_from(|answers| answers.summary())["summary"].clone();
    assert_eq!(summary["total"], 9);
    assert_eq!(summary["categories"], json!({ "CREATE": 1, "READ": 4, "UPDATE": 1, "DELETE": 1, "EXECUTE": 2 }));
    assert_eq!(summary["endpoints"]["delete"], json!({ "count": 1, "operations": ["delete_user"] }));
}

#[test]
fn r_int_2_examples_are_made_of_the_authors_examples_where_they_fit() {
    let example = |category: Category, properties: Value| -> Value {
        let parameters = properties.as_object().unwrap().iter().map(|(name, json)| {
            let schema = SchemaReader::new(json).read(json);
            Parameter::required(name, schema)
        });
        let mut operation = Operation::new("take_branch", category, "Take a branch.");
        operation.parameters = parameters.collect();
        let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
        let answers = Answers { catalog: &catalog, surface: &crude(), facts: &facts() };
        answers.operation("take_branch", Detail::Standard)["operation"]["examples"][0]["request"]["params"].clone()
    };
    for (properties, expected) in [
        (
            json!({ "owner": { "type": "string", "examples": ["octocat"] }, "number": { "type": "integer", "example": 7 } }),
            json!({ "owner": "octocat", "number": 7 }),
        ),
        (json!({ "state": { "type": "string", "enum": ["open", "closed"] } }), json!({ "state": "open" })),
        // An example that does not fit is not used.
        (json!({ "number": { "type": "integer", "examples": ["seven"] } }), json!({ "number": 1 })),
        // Neither is a secret.
        (json!({ "api_key": { "type": "string", "examples": ["hunter2"] } }), json!({ "api_key": "text" })),
        (json!({ "note": { "type": "string", "examples": ["line\u{1b}[2J"] } }), json!({ "note": "text" })),
    ] {
        assert_eq!(example(Category::Create, properties.clone()), expected, "{properties}");
    }
    // Whether other examples work depends on what is stored, so they are made of values that always work.
    for (properties, expected) in [
        (json!({ "owner": { "type": "string", "examples": ["octocat"] } }), Value::Null),
        (json!({ "number": { "type": "integer" } }), Value::Null),
        (json!({ "state": { "type": "string", "enum": ["open", "closed"] } }), json!({ "state": "open" })),
        (
            json!({ "size": { "type": "integer", "default": 5 }, "all": { "type": "boolean" } }),
            json!({ "size": 5, "all": true }),
        ),
        (json!({}), json!({})),
    ] {
        for category in [Category::Read, Category::Delete, Category::Execute] {
            assert_eq!(example(category, properties.clone()), expected, "{category:?} {properties}");
        }
    }
}
