//! Arguments made from the tools' own schemas: what is valid there reaches the upstream unchanged (R-DIS-7).

use aquifer_discovery::Offer;
use serde_json::Value;

use crate::fixture::{bundles, catalog, reach};
use crate::generated::objects;

#[test]
fn r_dis_7_what_a_tools_schema_accepts_reaches_it_unchanged() {
    let (mut passed, mut refused, mut left) = (0, 0, Vec::new());
    for (server, bundle) in bundles() {
        let offer = Offer::from_bundle(&bundle, &server);
        let catalog = catalog(&offer);
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let schema = tool.input_schema().unwrap();
            let validator = jsonschema::validator_for(schema).unwrap();
            let call = &offer.calls[operation.operation_name.as_str()];
            for arguments in objects(schema, schema, 0) {
                let given = arguments.as_object().unwrap().clone();
                let named = |(own, value): (String, Value)| (call.canonical(&own).unwrap_or(&own).to_owned(), value);
                let params = Value::Object(given.into_iter().map(named).collect());
                let reached = reach(&offer, &catalog, &operation.operation_name, params);
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
    // What is left to the full schema, which whoever calls the upstream still has.
    assert!(passed > 1_000 && refused > 1_000, "{passed} passed, {refused} refused");
    assert!(left.len() * 100 < refused, "{} of {refused} let through: {left:#?}", left.len());
}
