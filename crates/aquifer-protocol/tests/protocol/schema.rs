//! Shapes: read from JSON Schema, sampled, and written back.

use std::sync::Arc;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::{Format, Kind, Pattern, Rest, Schema, SchemaReader, Types, sample, type_words};
use aquifer_protocol::suggest::nearest;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::{Strictness, route};
use serde_json::{Value, json};

use crate::fixture::{crude, parameter};

fn read(json: Value) -> (aquifer_protocol::schema::Schema, Types) {
    let mut reader = SchemaReader::new(&json);
    let schema = reader.read(&json);
    (schema, reader.into_types())
}

#[test]
fn r_int_2_json_schema_is_kept_not_flattened() {
    for (json, words) in [
        (json!({ "type": "string" }), "string"),
        (json!({ "type": ["integer", "null"] }), "integer | null"),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), "string | null"),
        (json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }), "string | integer"),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": ["string", "integer"] } }] }),
            "string | (string | integer)[]",
        ),
        (json!({ "oneOf": [{ "const": "a" }, { "const": "b", "description": "second" }] }), "string"),
        (json!({ "allOf": [{ "type": "integer" }] }), "integer"),
        (json!({}), "any"),
        (json!(true), "any"),
        (json!({ "type": "unheard-of" }), "any"),
        (json!({ "$ref": "#/nowhere" }), "any"),
    ] {
        assert_eq!(type_words(&read(json.clone()).0), words, "{json}");
    }
    let (both, _) = read(json!({ "allOf": [
        { "type": "object", "properties": { "a": { "type": "string" } } },
        { "type": "object", "properties": { "b": { "type": "string" } } }
    ] }));
    let Kind::Object(shape) = both.kind else { panic!("not an object") };
    assert_eq!(shape.fields.len(), 2);
}

#[test]
fn r_dis_7_parts_of_a_whole_admit_what_they_all_admit() {
    for (json, words) in [
        (json!({ "allOf": [{ "type": "string" }, { "maxLength": 2 }] }), "string"),
        (json!({ "allOf": [{ "type": "number" }, { "type": "integer", "minimum": 2 }] }), "integer"),
        (json!({ "type": "string", "allOf": [{ "pattern": "a" }, { "pattern": "b" }] }), "string"),
        (json!({ "allOf": [{ "type": ["string", "null"] }, { "maxLength": 2 }] }), "string | null"),
        (json!({ "allOf": [{ "maxLength": 5 }, { "maxLength": 2 }] }), "any"),
        (json!({ "allOf": [{ "anyOf": [{ "type": "string" }, { "type": "integer" }] }, { "type": "string" }] }), "any"),
        (json!({ "allOf": [{ "type": "array", "items": { "type": "string" } }, { "minItems": 1 }] }), "array"),
        (json!({ "allOf": [{ "not": {} }, { "if": {} }] }), "any"),
        (json!({ "allOf": [{ "type": "string" }, { "type": "object" }] }), "any"),
    ] {
        assert_eq!(type_words(&read(json.clone()).0), words, "{json}");
    }
    let (narrowed, _) = read(json!({ "allOf": [
        { "type": "integer", "minimum": 2, "enum": [1, 5, 7] }, { "minimum": 4, "maximum": 9, "enum": [5, 7, 8] }
    ] }));
    assert_eq!((narrowed.range.minimum, narrowed.range.maximum), (Some(4.0), Some(9.0)));
    assert_eq!(narrowed.allowed.as_deref(), Some([json!(5), json!(7)].as_slice()));
}

#[test]
fn r_dis_7_names_that_a_pattern_admits_are_not_refused() {
    for rest in [json!(false), json!({ "type": "integer" })] {
        let (schema, _) = read(json!({
            "type": "object", "properties": { "a": {} }, "patternProperties": { "^x-": {} }, "additionalProperties": rest
        }));
        let Kind::Object(shape) = schema.kind else { panic!("not an object") };
        assert!(matches!(shape.rest, Rest::Free), "{rest}");
    }
}

#[test]
fn r_int_2_recursive_schemas_end() {
    let (schema, types) = read(json!({
        "$ref": "#/$defs/Tree",
        "$defs": { "Tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/Tree" } }, "additionalProperties": false } }
    }));
    assert_eq!(type_words(&schema), "Tree");
    let Kind::Object(tree) = &types["Tree"].kind else { panic!("not an object") };
    assert_eq!(type_words(&tree.fields[0].schema), "Tree");
    assert!(matches!(tree.rest, Rest::Refused));
    let (_, circle) =
        read(json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" } } }));
    assert_eq!(circle.len(), 2);
    let mut deep = json!({ "type": "string" });
    for _ in 0..500 {
        deep = json!({ "type": "array", "items": deep });
    }
    read(deep);
}

/// Why a catalog refuses these parameters.
fn refusal(catalog: &Catalog, operation: &str, params: Value) -> Failure {
    let request = json!({ "operation": operation, "params": params });
    let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
        panic!("not a request")
    };
    let routed = route(catalog, &crude(), &Receiver::Unified, request).unwrap();
    routed.check(catalog, Strictness::Strict).unwrap_err()
}

#[test]
fn r_req_7_unions_of_unions_do_not_double_the_work_for_ever() {
    let mut types = Types::new();
    let schema = json!({
        "description": "x",
        "properties": { "tree": { "$ref": "#/$defs/Tree" } },
        "$defs": { "Tree": { "anyOf": [
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/Tree" } } },
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/Tree" } } },
            { "type": "string" }
        ] } }
    });
    let operation = crate::fixture::operation("get_tree", Category::Read, &schema, &mut types);
    let catalog = Catalog::build([operation], types, &crude()).unwrap();
    let mut tree = json!(1);
    for _ in 0..60 {
        tree = json!({ "a": tree });
    }
    let refused = refusal(&catalog, "get_tree", json!({ "tree": tree }));
    assert_eq!(refused.code().as_str(), "VALIDATION_INVALID_VALUE", "{}", refused.message());
}

#[test]
fn r_req_7_hostile_schemas_end() {
    let mut types = Types::new();
    let schema = json!({ "description": "x", "properties": { "u": { "$ref": "#/$defs/U" } }, "$defs": { "U": { "anyOf": [{ "$ref": "#/$defs/U" }, { "type": "string" }] } } });
    let operation = crate::fixture::operation("get_u", Category::Read, &schema, &mut types);
    let catalog = Catalog::build([operation], types, &crude()).unwrap();
    refusal(&catalog, "get_u", json!({ "u": 5 }));

    let mut twice = json!({ "type": "string" });
    for _ in 0..60 {
        twice = json!({ "type": ["object", "object"], "properties": { "a": twice } });
    }
    read(twice);
    let mut definitions = json!({ "d0": { "type": "object", "properties": { "a": { "type": "string" } } } });
    for level in 1..30 {
        let part = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        definitions[format!("d{level}")] = json!({ "allOf": [part, part] });
    }
    let (schema, types) = read(json!({ "$ref": "#/$defs/d29", "$defs": definitions }));
    assert!(sample(&schema, &types).is_some());
    let mut wide = json!({ "type": "string" });
    for _ in 0..6 {
        let fields: serde_json::Map<String, Value> = (0..9).map(|index| (format!("f{index}"), wide.clone())).collect();
        let names: Vec<&String> = fields.keys().collect();
        wide = json!({ "type": "object", "required": names, "properties": fields });
    }
    assert_eq!(sample(&read(wide).0, &Types::new()), None, "an example of a million fields is none");
}

#[test]
fn r_int_2_types_without_fields_are_described_inline() {
    let (schema, _) = read(json!({
        "type": "object",
        "properties": { "title": { "$ref": "#/$defs/Title", "maxLength": 3 }, "labels": { "type": "object", "additionalProperties": { "type": "integer" } } },
        "$defs": { "Title": { "type": "string", "minLength": 1, "pattern": "^[a-z]+$" } }
    }));
    let Kind::Object(shape) = schema.kind else { panic!("not an object") };
    let title = &shape.fields[0].schema;
    assert_eq!((title.length.min, title.length.max), (Some(1), Some(3)));
    assert_eq!(title.pattern.as_ref().unwrap().source(), "^[a-z]+$");
}

#[test]
fn formats_are_enforced() {
    for (format, good, bad) in [
        ("date-time", "2026-02-04T10:30:00Z", "2026-02-04"),
        ("date", "2026-02-04", "2026-13-04"),
        ("time", "10:30:00Z", "12:00:00+garbage"),
        ("duration", "P1DT2H", "-1 day"),
        ("email", "a@b.c", "a@"),
        ("uri", "https://example.com/x?y", "not a uri"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("ipv4", "127.0.0.1", "256.0.0.1"),
        ("ipv6", "::1", ":::"),
    ] {
        let format = Format::from_name(format);
        assert!(format.admits(good), "{format:?} {good}");
        assert!(!format.admits(bad), "{format:?} {bad}");
    }
    assert!(Format::from_name("made-up").admits("anything"));
}

#[test]
fn patterns_take_linear_time_and_unsupported_ones_are_not_enforced() {
    let hostile = Pattern::new("(a+)+$");
    assert!(!hostile.admits(&format!("{}!", "a".repeat(50_000))));
    assert!(Pattern::new("(?=look)ahead").admits("anything"));
    assert_eq!(Pattern::new("(?=look)ahead").source(), "(?=look)ahead");
}

#[test]
fn reading_compiles_no_pattern_and_using_them_has_a_budget() {
    let properties: serde_json::Map<String, Value> = (0..400)
        .map(|number| {
            let size = if number % 2 == 0 { 200 } else { 20 };
            (format!("p{number}"), json!({ "type": "string", "pattern": format!("(\\w{{{size}}}){{4}}{number}") }))
        })
        .collect();
    let document = json!({ "type": "object", "properties": properties });
    let mut reader = SchemaReader::new(&document);
    let Kind::Object(shape) = reader.read(&document).kind else { panic!("not an object") };
    let patterns: Vec<&Pattern> = shape.fields.iter().filter_map(|field| field.schema.pattern.as_ref()).collect();
    assert_eq!(patterns.len(), 400);
    assert!(patterns.iter().all(|pattern| !pattern.is_compiled()));
    // Whatever is not enforced here passes: its owner enforces it.
    let refused = patterns.iter().filter(|pattern| !pattern.admits("no")).count();
    let compiled = patterns.iter().filter(|pattern| pattern.is_compiled()).count();
    assert_eq!(refused, compiled);
    assert!(compiled < 40, "{compiled}");
    // Small ones are what definitions really have, and hundreds of them fit.
    let properties: serde_json::Map<String, Value> = (0..200)
        .map(|number| (format!("p{number}"), json!({ "pattern": format!("^[a-z0-9-]{{1,40}}{number}$") })))
        .collect();
    let document = json!({ "type": "object", "properties": properties });
    let Kind::Object(shape) = SchemaReader::new(&document).read(&document).kind else { panic!("not an object") };
    let patterns = shape.fields.iter().filter_map(|field| field.schema.pattern.as_ref());
    assert_eq!(patterns.filter(|pattern| !pattern.admits("?")).count(), 200);
}

#[test]
fn a_large_pattern_is_not_run_over_a_long_text() {
    let slow = Pattern::new("[ab]*a[ab]{3000}c");
    assert!(!slow.admits("d"));
    assert!(slow.admits(&"ab".repeat(500_000)));
    assert!(!Pattern::new("^[a-z]*$").admits(&"A".repeat(200_000)));
}

#[test]
fn samples_fit_what_they_are_samples_of() {
    for name in ["age", "score", "role", "email", "born", "seen", "tags", "address", "fields", "labels", "anything"] {
        let parameter = parameter(name);
        let catalog = crate::fixture::catalog();
        let value = sample(&parameter.schema, catalog.types()).unwrap_or_else(|| panic!("no sample for {name}"));
        let mut params = json!({ "user_name": "ada" });
        params[name] = value.clone();
        let checked = crate::fixture::check(json!({ "operation": "create_user", "params": params }));
        assert!(
            checked.is_ok(),
            "{name}: {value} {:?}",
            checked.map(|_| ()).map_err(|failure| failure.message().to_owned())
        );
    }
}

#[test]
fn names_are_normalised_and_near_ones_found() {
    for (name, snake) in [
        ("userId", "user_id"),
        ("UserID", "user_id"),
        ("HTTPServer", "http_server"),
        ("a-b c", "a_b_c"),
        ("x1Y", "x1_y"),
        ("plain", "plain"),
    ] {
        assert_eq!(snake_case(name), snake);
    }
    let names = ["list_users", "create_user", "delete_user"];
    assert_eq!(nearest("lst_users", names), Some("list_users"));
    assert_eq!(nearest("users_list", names), Some("list_users"));
    assert_eq!(nearest("createUser", names), Some("create_user"));
    assert_eq!(nearest("frobnicate", names), None);
    nearest(&"x".repeat(1_000_000), names);
}

#[test]
fn danger_is_inferred_from_names_and_categories() {
    for (name, category, danger) in [
        ("get_reset_status", Category::Read, Danger::Safe),
        ("create_user", Category::Create, Danger::Reversible),
        ("delete_user", Category::Delete, Danger::Destructive),
        ("force_push", Category::Execute, Danger::Dangerous),
        ("force_delete_all", Category::Delete, Danger::Forbidden),
        ("bulk_delete_users", Category::Delete, Danger::Dangerous),
        ("drop_table", Category::Delete, Danger::Forbidden),
        ("deploy_production", Category::Execute, Danger::Forbidden),
        ("dropbox_upload", Category::Create, Danger::Reversible),
    ] {
        assert_eq!(Danger::infer(name, category), danger, "{name}");
    }
}

#[test]
fn a_repeated_pattern_is_compiled_once_and_stays_enforced() {
    let budget = Arc::default();
    let patterns: Vec<Pattern> = (0..500).map(|_| Pattern::within("^v\\d+(-.*)?$", &budget)).collect();
    for pattern in &patterns {
        assert!(pattern.admits("v1-beta") && !pattern.admits("text"));
    }
}

#[test]
fn required_fields_are_kept_wherever_they_are_stated() {
    for json in [
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["a"]}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}], "required": ["a"]}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
    ] {
        let schema = SchemaReader::new(&json).read(&json);
        let Kind::Object(shape) = &schema.kind else { panic!("{json}: {schema:?}") };
        assert!(shape.fields.iter().any(|field| &*field.name == "a" && field.required), "{json}: {shape:?}");
    }
}

#[test]
fn fields_beside_alternatives_belong_to_each_of_them() {
    let json = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "status": {"type": "string"}},
        "required": ["name"],
        "oneOf": [
            {"properties": {"status": {"enum": ["done"]}, "result": {"type": "integer"}}, "required": ["result"]},
            {"properties": {"status": {"enum": ["open"]}}},
        ],
    });
    let schema = SchemaReader::new(&json).read(&json);
    let Kind::Union(members) = &schema.kind else { panic!("{schema:?}") };
    let required = |member: &Schema| match &member.kind {
        Kind::Object(shape) => {
            shape.fields.iter().filter(|field| field.required).map(|field| field.name.to_string()).collect()
        }
        _ => Vec::new(),
    };
    assert_eq!(members.iter().map(required).collect::<Vec<_>>(), [vec!["name", "result"], vec!["name"]]);
}
