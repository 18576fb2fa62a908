//! Arguments made from the tools' own schemas: what is valid there reaches the upstream unchanged (R-DIS-7).

use std::collections::HashSet;

use aquifer_discovery::Offer;
use aquifer_protocol::catalog::Catalog;
use serde_json::Value;

use crate::fixture::{bundles, catalog, reach};
use crate::generated::objects;
use crate::mutations::{mutants, valid};

#[test]
fn r_dis_7_what_a_tools_schema_accepts_reaches_it_unchanged() {
    let (mut passed, mut refused, mut left) = (0, 0, Vec::new());
    for (server, bundle) in bundles() {
        let offer = Offer::from_bundle(&bundle, &server);
        let catalog = catalog(&offer);
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let schema = tool.input_schema().unwrap();
            let validator = jsonschema::validator_for(schema).unwrap();
            for arguments in objects(schema, schema, 0) {
                let reached = reach_as_named(&offer, &catalog, &operation.operation_name, &arguments);
                match (validator.is_valid(&arguments), reached) {
                    (true, reached) => {
                        assert_eq!(reached.as_ref(), Ok(&arguments), "{server} {}", tool.name);
                        passed += 1;
                    }
                    (false, Err(_)) => refused += 1,
                    (false, Ok(_)) => left.push(format!("{server} {} {arguments}", tool.name)),
                }
            }
        }
    }
    // What is left to the upstream.
    assert!(passed > 1_000 && refused > 1_000, "{passed} passed, {refused} refused");
    assert!(left.len() * 100 < refused, "{} of {refused} let through: {left:#?}", left.len());
}

/// The catalog is compared with a complete JSON Schema validator, which is not part of the gateway.
#[test]
fn r_dis_7_what_breaks_one_rule_of_a_schema_is_refused() {
    let (mut refused, mut left) = (0, Vec::new());
    for (server, bundle) in bundles() {
        let offer = Offer::from_bundle(&bundle, &server);
        let catalog = catalog(&offer);
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let schema = tool.input_schema().unwrap();
            let validator = jsonschema::validator_for(schema).unwrap();
            let made: Vec<Value> = (0..3).map(|pick| valid(schema, schema, pick, 0)).collect::<Option<_>>().unwrap();
            let bases: Vec<&Value> = made.iter().filter(|arguments| validator.is_valid(arguments)).collect();
            assert!(!bases.is_empty(), "{server} {}: nothing valid to start with: {made:?}", tool.name);
            let mut seen = HashSet::new();
            for (kind, arguments) in bases.iter().flat_map(|base| mutants(schema, base)) {
                if !seen.insert(arguments.to_string()) {
                    continue;
                }
                let reached = reach_as_named(&offer, &catalog, &operation.operation_name, &arguments);
                match (validator.is_valid(&arguments), reached) {
                    (true, reached) => assert_eq!(reached.as_ref(), Ok(&arguments), "{server} {}", tool.name),
                    (false, Err(_)) => refused += 1,
                    (false, Ok(_)) => left.push(format!("{server} {} {kind} {arguments}", tool.name)),
                }
            }
        }
    }
    assert!(refused > 10_000, "{refused} refused");
    assert!(left.len() * 1_000 < refused, "{} of {refused} let through: {left:#?}", left.len());
}

/// What reaches the upstream of arguments with its own names.
fn reach_as_named(offer: &Offer, catalog: &Catalog, operation: &str, arguments: &Value) -> Result<Value, String> {
    let call = &offer.calls[operation];
    let given = arguments.as_object().unwrap().clone();
    let named = |(own, value): (String, Value)| (call.canonical(&own).unwrap_or(&own).to_owned(), value);
    reach(offer, catalog, operation, Value::Object(given.into_iter().map(named).collect()))
}
