//! What introspection says about the parameters of the language.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::operation::RowPlace;
use aquifer_protocol::protocol_types;
use aquifer_protocol::schema::{Kind, Parameter, Rest};
use aquifer_query::parameters::{aggregation_support, parameters, types};
use aquifer_query::shape::{Controls, ResultShape, control_parameters};
use aquifer_query::{Collection, QueryKind, parse_query};
use serde_json::{Value, json};

use crate::fixture::{collection, key};

fn all_parameters() -> Vec<Parameter> {
    let mut with_presets = collection();
    with_presets.presets.insert("brief".into(), vec!["id".into()]);
    let open = Collection { open: true, ..Collection::default() };
    let listed = [collection(), with_presets, open].map(|collection| parameters(&collection, QueryKind::Search));
    let rows = ResultShape::Rows(RowPlace::known("items"));
    listed.into_iter().flatten().chain(control_parameters(&[], &rows, Controls::All)).collect()
}

#[test]
fn r_int_1a_only_published_functions_are_shown() {
    let shown = serde_json::to_value(aggregation_support(&collection())).unwrap();
    assert_eq!(shown["functions"], json!(["count", "group_by", "sum", "avg", "min", "max"]));
    assert_eq!(shown["default_mode"], "summary_only");
}

#[test]
fn r_int_2_every_parameter_and_field_has_a_short_description() {
    const MAX_CHARS: usize = 110;
    let types = types();
    let fields = types.values().filter_map(|schema| match &schema.kind {
        Kind::Object(shape) => Some(shape.fields.clone()),
        _ => None,
    });
    for parameter in all_parameters().into_iter().chain(fields.flatten()) {
        let description = parameter.schema.description.unwrap_or_default();
        assert!(!description.is_empty(), "{}", parameter.name);
        assert!(!looks_like_a_leak(&description), "{}: {description}", parameter.name);
        let is_short = description.chars().count() <= MAX_CHARS;
        assert!(is_short || &*parameter.name == "filter", "{}: {description}", parameter.name);
    }
}

#[test]
fn r_int_2_objects_of_the_language_list_their_fields() {
    let types = types();
    for name in ["Filter", "Aggregates", "Aggregate", "Sort"] {
        let Kind::Object(shape) = &types[name].kind else { panic!("{name}") };
        assert!(!shape.fields.is_empty(), "{name}");
        assert_eq!(matches!(shape.rest, Rest::Documented), name != "Sort", "{name}");
    }
    // What is listed is accepted.
    let Kind::Object(shape) = &types["Aggregate"].kind else { panic!() };
    for field in &shape.fields {
        let value = match &*field.name {
            "count" => json!(true),
            "group_by" => json!("status"),
            "having" => json!({ "gte": 1 }),
            "order" => json!("desc"),
            "first" => json!(1),
            "offset" => json!(0),
            _ => json!("price"),
        };
        let mut aggregate = json!({ "group_by": "status" });
        aggregate[&*field.name] = value;
        let params = json!({ "aggregate": { "any_name": aggregate } });
        assert!(parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).is_ok(), "{params}");
    }
    for filter in [json!({ "and": [{ "id": 1 }] }), json!({ "or": [] }), json!({ "not": { "id": 1 } })] {
        let params = json!({ "filter": filter });
        assert!(parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).is_ok(), "{params}");
    }
}

#[test]
fn r_int_2_page_sizes_have_their_default() {
    let parameters = parameters(&collection(), QueryKind::List);
    for name in ["first", "limit", "page_size"] {
        let schema = &parameters.iter().find(|parameter| &*parameter.name == name).unwrap().schema;
        assert_eq!(schema.default, Some(json!(20)), "{name}");
        assert!(schema.is_source_default, "{name} is not added to requests, because the three exclude each other");
    }
    for (name, minimum) in
        [("first", 0.0), ("last", 0.0), ("limit", 0.0), ("offset", 0.0), ("page", 1.0), ("page_size", 1.0)]
    {
        let schema = &parameters.iter().find(|parameter| &*parameter.name == name).unwrap().schema;
        assert_eq!(schema.range.minimum, Some(minimum), "{name}");
    }
}

#[test]
fn r_int_3_selections_list_their_presets() {
    let types = types();
    let Kind::Union(members) = &types["RowSelection"].kind else { panic!() };
    assert_eq!(members[0].kind, Kind::Named(protocol_types::FIELD_PRESET.into()));
    let schema = |collection: &Collection| {
        let parameters = parameters(collection, QueryKind::List);
        parameters.into_iter().find(|parameter| &*parameter.name == "fields").unwrap().schema
    };
    assert_eq!(schema(&collection()).kind, Kind::Named("FieldSelection".into()));
    let mut with_presets = collection();
    with_presets.presets.insert("brief".into(), vec!["id".into()]);
    let Kind::Union(members) = schema(&with_presets).kind else { panic!() };
    let presets: Vec<Value> = members[0].allowed.clone().unwrap().to_vec();
    assert_eq!(presets, ["minimal", "standard", "full", "brief"]);
}
