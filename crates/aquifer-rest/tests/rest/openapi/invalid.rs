//! Invalid arguments are refused before a request is made, with the name of the parameter.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{Metadata, Request};
use aquifer_protocol::schema::{Extent, Kind, Parameter, Schema, Types, sample_arguments};
use aquifer_protocol::surface::Surface;
use aquifer_protocol::validate::{Routed, Strictness};
use aquifer_rest::openapi::{self, ReadOptions};
use serde_json::{Map, Value, json};

const FILES: &[&str] = &[
    "@readme/oas-examples/3.0/json/schema-validation.json",
    "@readme/oas-examples/3.0/json/star-trek.json",
    "@readme/oas-examples/3.1/json/petstore.json",
    "@readme/oas-examples/3.1/json/readme.json",
    "@figma/rest-api-spec/openapi/openapi.yaml",
];

#[test]
fn invalid_arguments_are_refused_with_the_name_of_the_parameter() {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for file in FILES {
        let text = std::fs::read_to_string(format!("{folder}/node_modules/{file}")).unwrap();
        let options = ReadOptions { source: "sample".to_owned(), ..ReadOptions::default() };
        let api = openapi::read(&openapi::parse(&text).unwrap(), &options).unwrap();
        let catalog = Catalog::build(api.operations.clone(), api.types, &Surface::default()).unwrap();
        for declared in &api.operations {
            let operation = catalog.operation(&declared.name).unwrap();
            let Some(valid) = sample_arguments(&operation.parameters, catalog.types(), Extent::All) else { continue };
            for parameter in &operation.parameters {
                for (kind, value) in invalid(parameter, catalog.types()) {
                    let mut params = valid.clone();
                    match value {
                        Some(value) => params.insert(parameter.name.to_string(), value),
                        None => params.shift_remove(&*parameter.name),
                    };
                    check(&catalog, operation, parameter, kind, params);
                    *tried.entry(kind).or_default() += 1;
                }
            }
        }
    }
    eprintln!("{tried:?}");
    let kinds: Vec<&str> = tried.keys().copied().collect();
    assert_eq!(kinds, ["below the minimum", "missing", "not allowed", "not the pattern", "too short", "wrong type"]);
}

/// Values that the parameter does not accept, each with its defect. `None` omits the parameter.
fn invalid(parameter: &Parameter, types: &Types) -> Vec<(&'static str, Option<Value>)> {
    let schema = parameter.schema.resolve(types);
    let mut values = Vec::new();
    if parameter.required {
        values.push(("missing", None));
    }
    match schema.kind {
        Kind::Boolean | Kind::Integer | Kind::Number | Kind::String => {
            values.push(("wrong type", Some(json!({"a": [1]}))));
        }
        Kind::Object(_) | Kind::Array(_) => values.push(("wrong type", Some(json!(true)))),
        _ => {}
    }
    if schema.allowed.is_some() && matches!(schema.kind, Kind::String) {
        values.push(("not allowed", Some(json!("nobody would allow this"))));
        return values;
    }
    match schema.kind {
        Kind::Integer | Kind::Number => {
            let minimum = schema.range.minimum.filter(|minimum| *minimum > -1e9);
            values.extend(minimum.map(|minimum| ("below the minimum", Some(json!(minimum - 1.0)))));
        }
        Kind::String => {
            let is_long = schema.length.min.is_some_and(|min| min > 0);
            values.extend(is_long.then(|| ("too short", Some(json!("")))));
            values.extend(violation(schema).map(|text| ("not the pattern", Some(text.into()))));
        }
        _ => {}
    }
    values
}

/// A text that does not match the pattern.
fn violation(schema: &Schema) -> Option<&'static str> {
    let pattern = schema.pattern.as_ref()?;
    ["\u{1f30a} no pattern is like this", "0"].into_iter().find(|text| !pattern.admits(text))
}

fn check(catalog: &Catalog, operation: &Arc<Operation>, parameter: &Parameter, kind: &str, params: Map<String, Value>) {
    let name = operation.name.to_string();
    let request = Request { operation: name, params, beside: Map::new(), metadata: Metadata::default() };
    match Routed::new(operation.clone(), request).check(catalog, Strictness::Strict) {
        Ok(_) => panic!("{}: '{}' is accepted although it is {kind}", operation.name, parameter.name),
        Err(failure) => {
            let quoted = format!("'{}'", parameter.name);
            assert!(failure.message().contains(&quoted), "{}: {kind}: {}", operation.name, failure.message());
        }
    }
}
