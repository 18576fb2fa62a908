//! Any JSON is a JSON Schema that can be read, told of, sampled and checked against, whatever nonsense it says.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::{Parameter, SchemaReader, sample};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::{Strictness, route};
use serde_json::{Value, json};

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(bytes) else { return };
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let mut reader = SchemaReader::new(&schema);
    let read = reader.read(&schema);
    let mut operation = Operation::new("get_x", Category::Read, "Get.");
    operation.parameters = vec![Parameter::required("value", read.clone())];
    let Ok(catalog) = Catalog::build([operation], reader.into_types(), &surface) else { return };
    let made_up = sample(&read, catalog.types());
    for value in made_up.into_iter().chain([schema.clone(), Value::Null, json!([1, "a"])]) {
        let request = json!({ "operation": "get_x", "params": { "value": value } });
        let Value::Object(request) = request else { return };
        if let Ok(ParsedRequest::One(request)) = parse(request, 1) {
            let _ = route(&catalog, &surface, &Receiver::Unified, request)
                .and_then(|routed| routed.check(&catalog, Strictness::Strict));
        }
    }
}
