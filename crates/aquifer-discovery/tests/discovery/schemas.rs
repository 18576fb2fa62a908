//! JSON Schema is kept, enforced, and narrowed with a warning (R-DIS-3, R-DIS-7).

use aquifer_discovery::adapter::build;
use aquifer_discovery::{Adapter, Offer};
use serde_json::{Value, json};

use crate::fixture::{bundle, bundles, catalog, reach};

/// A tool with one parameter of this schema: values that pass, and values that are refused.
#[test]
fn r_dis_7_schemas_are_enforced_and_nothing_valid_is_refused() {
    let table = [
        (json!({ "type": "string", "maxLength": 3 }), json!(["abc"]), json!(["abcd", 1, null])),
        (json!({ "type": ["string", "null"] }), json!(["a", null]), json!([1])),
        (
            json!({ "anyOf": [{ "type": "integer", "minimum": 2 }, { "type": "null" }] }),
            json!([2, null]),
            json!([1, "a"]),
        ),
        (json!({ "enum": [1, "a", null, true] }), json!([1, "a", null, true]), json!([2, "b", false])),
        (json!({ "const": 5 }), json!([5]), json!([6])),
        (json!({ "const": null }), json!([null]), json!([1])),
        (json!({ "enum": [null] }), json!([null]), json!([])),
        (json!({ "allOf": [{ "type": "string" }, { "maxLength": 2 }] }), json!(["ab"]), json!(["abc", 1])),
        (json!({ "allOf": [{ "$ref": "#/$defs/Word" }, { "minLength": 2 }] }), json!(["ab"]), json!(["a", 1])),
        (json!({ "allOf": [{ "maxLength": 5 }, { "maxLength": 2 }] }), json!(["ab"]), json!([])),
        (
            json!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "integer" } }] }),
            json!(["a", [1]]),
            json!([["a"], 1]),
        ),
        (
            json!({ "$ref": "#/$defs/Tree" }),
            json!([{ "name": "a", "children": [{ "name": "b" }] }]),
            json!([{}, { "name": "a", "children": [{}] }]),
        ),
        (json!({ "$ref": "#" }), json!([{ "x": 1 }]), json!([])),
        (
            json!({ "type": "object", "properties": { "innerKey": { "type": "integer" } }, "additionalProperties": false }),
            json!([{ "innerKey": 1 }]),
            json!([{ "inner_key": 1 }]),
        ),
        (
            json!({ "type": "object", "patternProperties": { "^x": {} }, "additionalProperties": false }),
            json!([{ "xa": 1 }]),
            json!([5]),
        ),
        (
            json!({ "type": "array", "items": [{ "type": "string" }, { "type": "integer" }] }),
            json!([["a", 1]]),
            json!(["a"]),
        ),
        (json!({ "not": { "type": "string" } }), json!([1]), json!([])),
        (json!(true), json!([1, null, {}]), json!([])),
        (json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5 }), json!([0.5]), json!([0, 0.3])),
    ];
    for (schema, passing, refused) in table {
        let input = json!({ "type": "object", "properties": { "theValue": schema }, "$defs": {
            "Word": { "type": "string" },
            "Tree": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } },
            "PageInfo": { "type": "object" }
        } });
        let bundle = bundle(json!([{ "name": "get_it", "inputSchema": input }]));
        let offer = Offer::from_bundle(&bundle, "s");
        let catalog = catalog(&offer);
        for value in passing.as_array().unwrap() {
            let reached = reach(&offer, &catalog, "get_it", json!({ "the_value": value }));
            assert_eq!(reached, Ok(json!({ "theValue": value })), "{schema}");
        }
        for value in refused.as_array().unwrap() {
            assert!(reach(&offer, &catalog, "get_it", json!({ "the_value": value })).is_err(), "{schema} {value}");
        }
    }
}

#[test]
fn r_dis_3_parameters_are_found_wherever_they_stand() {
    let input = json!({
        "type": "object",
        "$ref": "#/definitions/Base",
        "definitions": { "Base": { "type": "object", "properties": { "base": {} }, "required": ["base"] } },
        "properties": { "own": {}, "a.b": {} },
        "allOf": [{ "properties": { "all": {} }, "required": ["own"] }],
        "anyOf": [{ "properties": { "any": { "type": "string" } }, "required": ["any"] },
                  { "properties": { "any": { "type": "integer" }, "other": {} }, "required": ["any", "other"] }],
        "required": ["undescribed"]
    });
    let bundle = bundle(json!([{ "name": "get_it", "inputSchema": input }]));
    let params = &bundle.normalized_bundle.operations[0].params;
    let found: Vec<(&str, &str, bool)> =
        params.iter().map(|one| (one.original_name.as_str(), one.source_path.as_str(), one.required)).collect();
    assert_eq!(
        found,
        [
            ("base", "inputSchema.definitions.Base.properties.base", true),
            ("own", "inputSchema.properties.own", true),
            ("a.b", "inputSchema.properties[\"a.b\"]", false),
            ("all", "inputSchema.allOf.0.properties.all", false),
            ("any", "inputSchema.anyOf.0.properties.any", true),
            ("other", "inputSchema.anyOf.1.properties.other", false),
            ("undescribed", "inputSchema.required", true),
        ]
    );
    assert_eq!(params[4].type_name, "string | integer");
}

#[test]
fn r_dis_3_keywords_without_a_field_cause_a_warning() {
    let warned = |schema: Value| -> Vec<String> {
        let tool = json!([{ "name": "get_it", "inputSchema": { "type": "object", "properties": { "x": schema } } }]);
        bundle(tool).normalized_bundle.warnings.into_iter().map(|warning| warning.code).collect()
    };
    assert!(warned(json!({ "type": "string", "enum": ["a"], "minimum": 1, "default": "a", "title": "X" })).is_empty());
    assert_eq!(warned(json!({ "type": "string", "minLength": 1 })), ["SHAPE_NARROWED"]);
    assert_eq!(warned(json!({ "enum": [1, 2] })), ["SHAPE_NARROWED"]);
    assert_eq!(warned(json!({ "type": "array", "items": {} })), ["SHAPE_NARROWED"]);
    assert_eq!(warned(json!({ "not": {} })), ["SHAPE_NARROWED", "SCHEMA_NOT_READ"]);
    assert_eq!(warned(json!({ "$ref": "https://evil.example/x" })), ["SHAPE_NARROWED", "INVALID_SCHEMA"]);
    assert_eq!(warned(json!({ "type": "string", "description": "a\u{200b}b" })), ["HIDDEN_TEXT"]);
}

#[test]
fn r_dis_7_which_schemas_take_parameters_of_any_name() {
    let named = json!({ "x": { "type": "string" } });
    for (schema, open) in [
        (json!({ "type": "object" }), true),
        (json!({ "type": "object", "description": "Whatever you like." }), true),
        (json!({ "type": "object", "additionalProperties": true }), true),
        (json!({ "type": "object", "properties": named, "additionalProperties": true }), true),
        (json!({ "type": "object", "properties": named, "additionalProperties": {} }), true),
        (json!({ "type": "object", "properties": named, "additionalProperties": { "type": "integer" } }), true),
        (json!({ "type": "object", "properties": named, "unevaluatedProperties": true }), true),
        (json!({ "type": "object", "properties": named, "patternProperties": { "^y": {} } }), true),
        (json!({ "type": "object", "patternProperties": { "^y": {} }, "additionalProperties": false }), true),
        (json!({ "type": "object", "properties": named }), false),
        (json!({ "type": "object", "properties": {} }), false),
        (json!({ "type": "object", "additionalProperties": false }), false),
        (json!({ "type": "object", "unevaluatedProperties": false }), false),
        (json!({ "type": "object", "properties": named, "additionalProperties": false }), false),
        (json!({ "type": "object", "required": ["x"] }), false),
        (json!({ "type": "object", "anyOf": [{ "properties": named }] }), false),
    ] {
        let bundle = bundle(json!([{ "name": "get_it", "description": "Get it.", "inputSchema": schema }]));
        let codes: Vec<&str> = bundle.normalized_bundle.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes.contains(&"OPEN_INPUT"), open, "{schema}: {codes:?}");
        // A reviewed adapter keeps it.
        let built = build(&bundle).unwrap();
        let adapter = Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap();
        for offer in [Offer::from_bundle(&bundle, "s"), Offer::from_adapter(&adapter, "s")] {
            assert_eq!((offer.operations[0].open, offer.calls["get_it"].open), (open, open), "{schema}");
            let is_mentioned = offer.operations[0].full_description().contains("parameters of any name");
            assert_eq!(is_mentioned, open, "{schema}");
            let catalog = catalog(&offer);
            let sent = json!({ "x": "a", "yOther": [1] });
            match reach(&offer, &catalog, "get_it", sent.clone()) {
                Ok(reached) => assert!(open && reached == sent, "{schema}: {reached}"),
                Err(message) => assert!(!open && message.contains("yOther"), "{schema}: {message}"),
            }
        }
    }
}

#[test]
fn r_dis_3_an_invalid_schema_affects_only_its_own_tool() {
    let fine =
        json!({ "name": "get_it", "inputSchema": { "type": "object", "properties": { "x": { "type": "string" } } } });
    for broken in [
        json!(5),
        json!(null),
        json!({ "type": "array" }),
        json!({ "type": "object", "properties": [] }),
        json!({ "type": "object", "properties": { "x": 5 } }),
        json!({ "type": "object", "properties": { "x": { "type": "strin" } } }),
        json!({ "type": "object", "required": "x" }),
        json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/Nothing" } } }),
    ] {
        let bundle = bundle(json!([{ "name": "list_it", "inputSchema": broken }, fine]));
        let [first, second] = bundle.normalized_bundle.operations.as_slice() else { panic!("{broken}") };
        assert!(first.needs_review, "{broken}");
        assert!(!second.needs_review && second.params.len() == 1, "{broken}");
        let about: Vec<_> =
            bundle.normalized_bundle.warnings.iter().map(|one| (one.code.as_str(), one.tool.as_deref())).collect();
        assert!(about.contains(&("INVALID_SCHEMA", Some("list_it"))), "{broken}: {about:?}");
        assert!(about.iter().all(|(_, tool)| *tool == Some("list_it")), "{about:?}");
        catalog(&Offer::from_bundle(&bundle, "s"));
    }
}

#[test]
fn r_dis_7_offers_of_the_captures_make_a_catalog() {
    for (name, bundle) in bundles() {
        let offer = Offer::from_bundle(&bundle, &name);
        let catalog = catalog(&offer);
        assert_eq!(catalog.operations().len(), offer.operations.len() + 1, "{name}");
    }
}
