//! What is known about results before a call, and which controls follow from it (R-DIS-8a).

use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Operation, RowPlace};
use aquifer_protocol::schema::{SchemaReader, Types};
use aquifer_query::shape::{self, Controls, Observation, ResultShape};
use serde_json::{Value, json};

fn rows(path: &str) -> ResultShape {
    ResultShape::Rows(RowPlace::known(path))
}

fn part(path: &str) -> ResultShape {
    ResultShape::Rows(RowPlace::part(path))
}

fn declared(schema: &Value) -> ResultShape {
    let mut reader = SchemaReader::new(schema);
    let read = reader.read(schema);
    ResultShape::declared(&read, &reader.into_types())
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

#[test]
fn r_dis_8a_a_declared_type_says_where_rows_are() {
    let list = json!({ "type": "array", "items": object(json!({ "name": { "type": "string" } })) });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let cases = [
        (json!({}), ResultShape::Unknown),
        (json!({ "type": "string" }), ResultShape::Text),
        (object(json!({ "content": { "type": "string" } })), ResultShape::Text),
        (json!({ "type": "integer" }), ResultShape::Scalar),
        (list.clone(), rows("$")),
        (texts.clone(), rows("$")),
        (object(json!({ "things": list, "next": { "type": "string" } })), rows("things")),
        (object(json!({ "data": object(json!({ "things": list })) })), rows("data.things")),
        (object(json!({ "things": { "anyOf": [list, { "type": "null" }] } })), rows("things")),
        // Two lists of which neither is named as the rows. A list of texts beside fields belongs to the object.
        (object(json!({ "entities": list, "relations": list })), ResultShape::Structured),
        (object(json!({ "items": list, "relations": list })), part("items")),
        (object(json!({ "order_id": { "type": "string" }, "items": list })), part("items")),
        (
            object(json!({ "hasMore": { "type": "boolean" }, "pageInfo": object(json!({})), "items": list })),
            rows("items"),
        ),
        (object(json!({ "name": { "type": "string" }, "tags": texts })), ResultShape::Structured),
        (object(json!({ "temperature": { "type": "number" }, "unit": { "type": "string" } })), ResultShape::Structured),
        // Blocks of an image, as the filesystem server declares them.
        (
            object(json!({ "content": { "type": "array", "items": object(json!({
                "type": { "enum": ["image", "audio"] }, "data": { "type": "string" }, "mimeType": { "type": "string" } })) } })),
            ResultShape::Unknown,
        ),
        // A type that contains itself.
        (
            json!({ "$defs": { "Node": object(json!({ "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } })) },
                    "$ref": "#/$defs/Node" }),
            rows("children"),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(declared(&schema), expected, "{schema}");
    }
}

#[test]
fn r_dis_8a_the_operator_decides_then_the_definition_then_an_earlier_result() {
    let observed = rows("entries");
    let known = |shape: ResultShape, configured: Option<&str>| shape.with(configured, Some(&observed));
    assert_eq!(known(rows("items"), Some("others")), ResultShape::Rows(RowPlace::configured("others")));
    assert_eq!(known(rows("items"), None), rows("items"));
    for shape in [ResultShape::Unknown, ResultShape::Text, ResultShape::Structured] {
        assert_eq!(known(shape, None), observed);
    }
    let object = ResultShape::Structured;
    assert_eq!(ResultShape::Unknown.with(None, Some(&object)), object);
    assert_eq!(ResultShape::Text.with(None, Some(&object)), ResultShape::Text);
}

#[test]
fn r_dis_8a_a_result_says_where_rows_are() {
    let observed = |result: Value| Observation::from_result(&result, &RowPlace::Unknown).map(|found| found.shape());
    let list = json!([{ "a": 1 }, { "a": 2 }]);
    assert_eq!(observed(list.clone()), Some(rows("$")));
    assert_eq!(observed(json!(list.to_string())), Some(rows("$")));
    assert_eq!(observed(json!({ "things": list, "next": null })), Some(rows("things")));
    assert_eq!(observed(json!({ "edges": [{ "node": { "a": 1 } }] })), Some(rows("edges[].node")));
    assert_eq!(observed(json!({ "id": 7, "labels": list })), Some(part("labels")));
    assert_eq!(observed(json!({ "data": { "name": "x", "labels": list } })), Some(part("data.labels")));
    assert_eq!(observed(json!({ "left": list, "right": list })), Some(ResultShape::Structured));
    assert_eq!(observed(json!({ "name": "x", "tags": ["a", "b"] })), Some(ResultShape::Structured));
    for nothing in [json!("text"), json!([]), json!(5), json!({ "content": "[FILE] a.txt" })] {
        assert_ne!(observed(nothing.clone()).unwrap_or_default().rows(), RowPlace::known("$"), "{nothing}");
    }
}

#[test]
fn r_dis_8a_controls_are_offered_where_they_can_apply() {
    let offered = |shape: &ResultShape, controls: Controls| {
        let mut operation = Operation::new("list_things", Category::Read, "Lists things.");
        operation.origin.native = false;
        shape::add_controls(&mut operation, shape, controls);
        operation.parameters.iter().map(|parameter| parameter.name.to_string()).collect::<Vec<_>>()
    };
    for controls in [Controls::Few, Controls::All] {
        assert_eq!(offered(&ResultShape::Unknown, controls), ["after", "max_tokens"]);
        assert_eq!(offered(&ResultShape::Text, controls), ["after", "max_tokens"]);
        assert_eq!(offered(&ResultShape::Scalar, controls), ["max_tokens"]);
        assert_eq!(offered(&ResultShape::Structured, controls), ["fields", "max_tokens"]);
    }
    assert!(offered(&rows("$"), Controls::Few).contains(&"filter".to_owned()));
    assert!(offered(&rows("$"), Controls::All).contains(&"page_size".to_owned()));
    assert_eq!(offered(&rows("$"), Controls::None), Vec::<String>::new());
}

#[test]
fn r_dis_8a_the_declared_answer_is_the_result_or_a_page_of_its_rows() {
    let mut operation = Operation::new("list_things", Category::Read, "Lists things.");
    operation.origin.native = false;
    let schema = json!({ "$defs": { "Thing": object(json!({ "id": { "type": "integer" } })) },
                         "type": "object",
                         "properties": { "things": { "type": "array", "items": { "$ref": "#/$defs/Thing" } } } });
    let mut reader = SchemaReader::new(&schema);
    let read = reader.read(&schema);
    let mut types: Types = reader.into_types();
    types.insert("Things".into(), read.into());
    operation.returns.type_name = "Things".into();
    shape::add_controls(&mut operation, &rows("things"), Controls::Few);
    shape::declare_pages(&mut operation, &mut types);
    assert_eq!(&*operation.returns.type_name, "ListThingsAnswer");
    assert!(operation.returns.description.contains("items: Thing[]"), "{}", operation.returns.description);
    let mut named = Vec::new();
    types["ListThingsAnswer"].references(&mut named);
    assert_eq!(named.iter().map(|name| &**name).collect::<Vec<_>>(), ["Things", "ResultPage"]);
    // Where no page is made, the result is what the upstream says.
    let mut other = Operation::new("get_thing", Category::Read, "Gets a thing.");
    other.origin.native = false;
    shape::add_controls(&mut other, &ResultShape::Structured, Controls::Few);
    let before = other.returns.type_name.clone();
    shape::declare_pages(&mut other, &mut types);
    assert_eq!(other.returns.type_name, before);
}
