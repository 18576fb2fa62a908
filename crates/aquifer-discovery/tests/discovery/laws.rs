//! Laws that hold for anything an upstream may say.

use std::collections::HashSet;

use aquifer_discovery::adapter::build;
use aquifer_discovery::bundle::RawCapture;
use aquifer_discovery::digest::{DefinitionPart, drift};
use aquifer_discovery::pins::PinComparison;
use aquifer_discovery::text::is_clean;
use aquifer_discovery::{Adapter, Bundle, Offer, PinBook, normalize};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{MAX_NAME_LEN, RESERVED, is_snake_case};
use aquifer_protocol::text::clean_json;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fixture::{bundle, catalog, http};

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "name",
            "type",
            "object",
            "string",
            "array",
            "properties",
            "required",
            "items",
            "enum",
            "allOf",
            "anyOf",
            "$ref",
            "#/$defs/A",
            "$defs",
            "A",
            "description",
            "inputSchema",
            "annotations",
            "readOnlyHint",
            "get_it",
            "introspect",
            "default",
            "additionalProperties",
            "const",
            "patternProperties",
            "not",
            "minimum",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn any_tool() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        "[a-zA-Z_./ -]{0,12}",
        "[a-z_]{40,70}",
        any::<String>(),
        prop::sample::select(RESERVED.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec!["getUser", "get_user", "get-user", "Get User"]).prop_map(str::to_owned),
    ];
    let properties = prop::collection::vec((prop_oneof!["_?[a-zA-Z -]{0,8}", any::<String>()], any_json()), 0..6);
    (name, any::<Option<String>>(), properties, any_json(), any_json()).prop_map(
        |(name, description, properties, schema, annotations)| {
            let properties: Map<String, Value> = properties.into_iter().collect();
            let mut input = json!({ "type": "object", "properties": properties });
            if let (Value::Object(more), Some(input)) = (schema, input.as_object_mut()) {
                more.into_iter().filter(|(key, _)| key != "properties").for_each(|(key, value)| {
                    input.insert(key, value);
                });
            }
            json!({ "name": name, "description": description, "inputSchema": input, "annotations": annotations })
        },
    )
}

fn hold(bundle: &Bundle) {
    let operations = &bundle.normalized_bundle.operations;
    let mut names = HashSet::new();
    for operation in operations {
        assert!(is_snake_case(&operation.operation_name) && operation.operation_name.len() <= MAX_NAME_LEN);
        assert!(!RESERVED.contains(&operation.operation_name.as_str()));
        assert!(names.insert(operation.operation_name.clone()), "{operation:?}");
        let shown = [Some(&operation.description), operation.title.as_ref()].into_iter().flatten();
        let shown = shown.chain(operation.params.iter().filter_map(|parameter| parameter.description.as_ref()));
        let shown = shown.chain(&operation.review_reasons);
        shown.for_each(|text| assert!(is_clean(text), "{text:?}"));
        let mut own = HashSet::new();
        for parameter in &operation.params {
            assert!(is_snake_case(&parameter.name) && own.insert(&parameter.name), "{operation:?}");
        }
    }
    bundle.normalized_bundle.warnings.iter().for_each(|one| assert!(is_clean(&one.message), "{one:?}"));
    let written = bundle.write().unwrap();
    let read = Bundle::read(&written).unwrap();
    assert_eq!(read.write().unwrap(), written);
    let again = normalize(bundle.source.clone(), bundle.raw_capture.clone());
    assert_eq!(again.write().unwrap(), written);
    let offer = Offer::from_bundle(bundle, "s");
    catalog(&offer);
    for operation in &offer.operations {
        let check = |text: &str| {
            assert!(is_clean(text), "{text:?}");
            text.to_owned()
        };
        clean_json(json!([*operation.description, operation.input_schema(&offer.types)]), &check);
    }
    for (tool, operation) in bundle.tools().iter().zip(operations) {
        let call = &offer.calls[operation.operation_name.as_str()];
        let given: Map<String, Value> = call.names().map(|(name, _)| (name.to_owned(), json!({ name: 1 }))).collect();
        let reached = call.arguments(given.clone());
        assert_eq!(reached.len(), given.len(), "{tool:?}");
        for (name, original) in call.names() {
            assert_eq!(reached[original], given[name]);
            assert_eq!(call.canonical(original), Some(name));
        }
    }
    let built = build(bundle).unwrap();
    assert_eq!(build(&read).unwrap(), built);
    match Adapter::read(&built.adapter, Some(&built.sidecar)) {
        Ok(adapter) => {
            assert_eq!(adapter.operations.len(), operations.len());
            catalog(&Offer::from_adapter(&adapter, "s"));
        }
        Err(problems) => panic!("{problems:#?}\n{}", built.adapter),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn r_dis_3_any_tools_give_a_bundle(tools in prop::collection::vec(any_tool(), 0..6)) {
        let bundle = bundle(Value::from(tools));
        hold(&bundle);
        if std::env::var_os("MCPAQL_SPEC_DIR").is_some() {
            crate::spec_checkout::hold(&bundle);
        }
    }

    #[test]
    fn r_dis_3_any_json_as_a_tool_list_never_panics(list in any_json()) {
        let page = json!({ "tools": list, "nextCursor": "x" }).to_string();
        if let Ok(capture) = RawCapture::from_pages(&[&page, &page]) {
            hold(&normalize(http("any"), capture));
        }
        let _ = RawCapture::from_pages(&[&list.to_string()]);
    }

    #[test]
    fn r_dis_9_any_text_as_a_file_never_panics(text in any::<String>(), value in any_json()) {
        let _ = Adapter::read(&text, Some(&text));
        let front = aquifer_discovery::write_yaml(&value);
        let _ = Adapter::read(&format!("---\n{front}---\n"), None);
        let _ = aquifer_discovery::Overrides::read(&front);
        let _ = Bundle::read(&value.to_string());
    }

    #[test]
    fn r_dis_7a_cleaning_is_done_once_and_for_all(text in any::<String>()) {
        let clean = aquifer_discovery::text::clean(&text);
        prop_assert_eq!(&aquifer_discovery::text::clean(&clean), &clean);
        prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}

#[test]
fn r_dis_2_pages_are_joined_without_touching_them() {
    let first = r#"{ "tools" : [ {"name":"a",  "x":1.50e2, "x":2 } ], "nextCursor":"c1", "_meta":{"k": 1} }"#;
    let second = r#"{"tools":[{"name":"b"},5]}"#;
    let empty = r#"{"tools":[ ]}"#;
    let capture = RawCapture::from_pages(&[first, empty, second]).unwrap();
    assert_eq!(capture.tools_text(), r#"[ {"name":"a",  "x":1.50e2, "x":2 } ,{"name":"b"},5]"#);
    let bundle = normalize(http("pages"), capture);
    let written = bundle.write().unwrap();
    assert!(written.contains(r#""nextCursor":"c1","_meta":{"k": 1}"#), "{written}");
    assert_eq!(bundle.normalized_bundle.operations.len(), 2);
    assert!(bundle.normalized_bundle.warnings.iter().any(|warning| warning.code == "UNREADABLE_TOOL"));
    assert!(RawCapture::from_pages(&["[]"]).is_err());
    assert!(RawCapture::from_pages(&["{}"]).is_err());
    assert!(RawCapture::from_pages(&[r#"{"tools":{}}"#]).is_err());
    assert_eq!(RawCapture::from_pages(&[]).unwrap().tools_text(), "[]");
}

#[test]
fn r_dis_3_schemas_cannot_explode() {
    let references: Vec<Value> = (0..40).map(|_| json!({ "$ref": "#/$defs/A" })).collect();
    let circle = json!({ "type": "object", "anyOf": references, "properties": { "x": { "anyOf": references } },
        "$defs": { "A": { "anyOf": references, "properties": { "y": { "oneOf": references } } } } });
    let names: Vec<String> = (0..40).map(|index| format!("T{index}")).collect();
    let definitions: Map<String, Value> = names
        .iter()
        .map(|name| {
            let all: Vec<Value> = names.iter().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
            (name.clone(), json!({ "anyOf": all }))
        })
        .collect();
    let web = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/T0" } }, "$defs": definitions });
    let large: Vec<Value> = (0..5_000).map(Value::from).collect();
    let copies: Map<String, Value> = (0..2_000)
        .map(|index| (format!("p{index}"), json!({ "allOf": [{ "$ref": "#/$defs/Large" }, { "maxLength": index }] })))
        .collect();
    let copies = json!({ "type": "object", "properties": copies, "$defs": { "Large": { "enum": large } } });
    let mut deep = json!({ "type": "object" });
    for _ in 0..110 {
        deep = json!({ "properties": { "x": deep } });
    }
    for schema in [circle, web, copies, deep] {
        let bundle = bundle(json!([{ "name": "get_it", "inputSchema": schema }]));
        catalog(&Offer::from_bundle(&bundle, "s"));
    }
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let page = format!(r#"{{"tools":[{{"name":"a","inputSchema":{nested}}},{{"name":"b","inputSchema":{{}}}}]}}"#);
    let bundle = normalize(http("deep"), RawCapture::from_pages(&[&page]).unwrap());
    assert_eq!(bundle.normalized_bundle.operations.len(), 1);
}

#[test]
fn r_dis_7a_drift_is_reported_by_part() {
    let tool = |name: &str, description: &str, kind: &str| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": { "x": { "type": kind } } } });
    let before = bundle(json!([tool("a", "A", "string"), tool("b", "B", "string"), tool("c", "C", "string")]));
    let reordered = bundle(json!([
        tool("c", "C", "string"),
        { "inputSchema": { "properties": { "x": { "type": "string" } }, "type": "object" }, "description": "A", "name": "a" },
        tool("b", "B", "string"),
    ]));
    assert!(drift(&before.pins(), &reordered.pins()).is_empty());
    let now = bundle(json!([tool("a", "A, but evil", "string"), tool("b", "B", "integer"), tool("d", "D", "string")]));
    let found = drift(&before.pins(), &now.pins());
    assert_eq!((found.added, found.removed), (vec!["d".to_owned()], vec!["c".to_owned()]));
    let changed: Vec<_> = found.changed.iter().map(|one| (one.tool.as_str(), one.parts.as_slice())).collect();
    assert_eq!(changed, [("a", &[DefinitionPart::Description][..]), ("b", &[DefinitionPart::InputSchema][..])]);
}

/// What only words are about is told apart from what is accepted and answered.
#[test]
fn r_dis_7a_drift_names_exactly_what_changed() {
    let before = json!({ "name": "a", "title": "A", "description": "A.", "annotations": { "readOnlyHint": true },
        "inputSchema": { "type": "object", "description": "All.", "properties": {
            "description": { "type": "string", "description": "Words.", "default": { "title": "x" } },
            "list": { "type": "array", "items": { "anyOf": [{ "type": "string", "title": "T" }, { "$ref": "#/$defs/title" }] } },
        }, "$defs": { "title": { "enum": [{ "description": "x" }], "examples": [1] } } },
        "outputSchema": { "type": "object", "properties": { "n": { "type": "integer", "description": "N." } } } });
    let cases: [(&str, Value, &[DefinitionPart]); 20] = [
        ("/description", json!("B."), &[DefinitionPart::Description]),
        ("/title", json!("B"), &[DefinitionPart::Description]),
        ("/annotations/readOnlyHint", json!(false), &[DefinitionPart::Annotations]),
        ("/inputSchema/description", json!("Other."), &[DefinitionPart::InputDescriptions]),
        ("/inputSchema/$comment", json!("Why."), &[DefinitionPart::InputDescriptions]),
        ("/inputSchema/properties/description/description", json!("Other."), &[DefinitionPart::InputDescriptions]),
        ("/inputSchema/properties/list/items/anyOf/0/title", json!("U"), &[DefinitionPart::InputDescriptions]),
        ("/inputSchema/$defs/title/examples", json!([2]), &[DefinitionPart::InputDescriptions]),
        ("/inputSchema/properties/description/type", json!("integer"), &[DefinitionPart::InputSchema]),
        ("/inputSchema/properties/description/default/title", json!("y"), &[DefinitionPart::InputSchema]),
        ("/inputSchema/properties/list/items/anyOf/0/type", json!("null"), &[DefinitionPart::InputSchema]),
        ("/inputSchema/$defs/title/enum/0/description", json!("y"), &[DefinitionPart::InputSchema]),
        ("/inputSchema/properties/title", json!({ "type": "string" }), &[DefinitionPart::InputSchema]),
        ("/inputSchema/properties/description", json!(true), &[DefinitionPart::InputSchema]),
        ("/inputSchema/title", json!({ "not": "a text" }), &[DefinitionPart::InputSchema]),
        ("/inputSchema", json!({}), &[DefinitionPart::InputSchema]),
        ("/outputSchema/properties/n/description", json!("M."), &[DefinitionPart::OutputDescriptions]),
        ("/outputSchema/properties/n/type", json!("number"), &[DefinitionPart::OutputSchema]),
        ("/outputSchema", Value::Null, &[DefinitionPart::OutputSchema]),
        ("/_meta", json!({ "a": 1 }), &[]),
    ];
    let old = bundle(json!([before])).pins();
    let mut book = PinBook::default();
    book.pin(&old[0], "a", Category::Read, Danger::Safe, 0).unwrap();
    // The record of an earlier version has no digest of the shape.
    let record = String::from_utf8(book.write()).unwrap();
    let (start, end) =
        record.split_once(",\"s\":\"").map(|(start, rest)| (start, rest.split_once('"').unwrap().1)).unwrap();
    let earlier = PinBook::read(format!("{start}{end}").as_bytes()).unwrap();
    for (pointer, value, parts) in cases {
        let mut now = before.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match (now.pointer_mut(parent).unwrap(), key.parse::<usize>()) {
            (Value::Array(items), Ok(index)) => items[index] = value,
            (object, _) => object[key] = value,
        }
        let now = bundle(json!([now])).pins();
        let found = drift(&old, &now).changed;
        assert_eq!(found.first().map(|one| one.parts.as_slice()).unwrap_or_default(), parts, "{pointer}");
        let changed = |parts: &[DefinitionPart]| {
            if parts.is_empty() { PinComparison::Same } else { PinComparison::Changed(parts.to_vec()) }
        };
        assert_eq!(book.compare(&now[0]), changed(parts), "{pointer}");
        let coarse: Vec<DefinitionPart> = parts
            .iter()
            .map(|part| match part {
                DefinitionPart::InputDescriptions => DefinitionPart::InputSchema,
                DefinitionPart::OutputDescriptions => DefinitionPart::OutputSchema,
                other => *other,
            })
            .collect();
        assert_eq!(earlier.compare(&now[0]), changed(&coarse), "{pointer}");
    }
}

#[test]
fn r_dis_3_two_tools_of_one_name_are_one_operation() {
    let bundle =
        bundle(json!([{ "name": "a", "inputSchema": {} }, { "name": "a", "inputSchema": {} }, { "name": "" }, 7]));
    let codes: Vec<&str> = bundle.normalized_bundle.warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(bundle.normalized_bundle.operations.len(), 1);
    assert_eq!(codes.iter().filter(|code| **code == "DUPLICATE_TOOL").count(), 1);
    assert_eq!(codes.iter().filter(|code| **code == "UNREADABLE_TOOL").count(), 2);
}
