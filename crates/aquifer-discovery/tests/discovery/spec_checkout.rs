//! What is written fits the schemas that the specification publishes (R-DIS-2, R-DIS-6).

use std::sync::OnceLock;

use aquifer_discovery::adapter::build;
use aquifer_discovery::bundle::Bundle;
use jsonschema::Validator;
use serde_json::Value;

use crate::fixture::bundles;

fn published(name: &str) -> Validator {
    let checkout = std::env::var("MCPAQL_SPEC_DIR").expect("MCPAQL_SPEC_DIR names a checkout of the specification");
    let text = std::fs::read_to_string(format!("{checkout}/schemas/{name}.schema.json")).unwrap();
    jsonschema::options().should_validate_formats(true).build(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn check(validator: &Validator, instance: &Value) {
    let problems: Vec<String> =
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}\n{instance:#}");
}

/// A bundle, and the adapter that is built from it.
pub(crate) fn hold(bundle: &Bundle) {
    static SCHEMAS: OnceLock<[Validator; 2]> = OnceLock::new();
    let [of_bundles, of_adapters] = SCHEMAS.get_or_init(|| ["discovery-bundle", "adapter-schema"].map(published));
    check(of_bundles, &serde_json::from_str(&bundle.write().unwrap()).unwrap());
    let built = build(bundle).unwrap();
    let front = built.adapter.split("---\n").nth(1).unwrap();
    check(of_adapters, &serde_saphyr::from_str(front).unwrap());
}

#[test]
fn r_dis_2_r_dis_6_bundles_and_adapters_of_the_captures_fit_the_published_schemas() {
    for (_, bundle) in bundles() {
        hold(&bundle);
    }
}
