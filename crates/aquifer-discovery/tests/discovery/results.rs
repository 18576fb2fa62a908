//! What operations return: the type that a server declares for its tool, and no claim where it declares none.

use aquifer_discovery::adapter::build;
use aquifer_discovery::{Adapter, Offer};
use aquifer_protocol::protocol_types::JSON_VALUE;
use aquifer_protocol::schema::{Kind, Schema};
use serde_json::{Value, json};

use crate::fixture::{bundle, bundles, catalog};

fn field_names(schema: &Schema) -> Vec<String> {
    let Kind::Object(shape) = &schema.kind else { panic!("{schema:?}") };
    shape.fields.iter().map(|field| field.name.to_string()).collect()
}

#[test]
fn r_int_3_results_of_real_servers_have_the_types_that_they_declare() {
    let mut declared = 0;
    for (name, bundle) in bundles() {
        let built = build(&bundle).unwrap();
        let reviewed = Offer::from_adapter(&Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap(), "s");
        for offer in [Offer::from_bundle(&bundle, "s"), reviewed] {
            let types = catalog(&offer).types().clone();
            for tool in bundle.tools() {
                let operation = offer
                    .operations
                    .iter()
                    .find(|operation| operation.origin.backing.tool() == Some(tool.name.as_str()))
                    .unwrap_or_else(|| panic!("{name}: {}", tool.name));
                let returns = &operation.returns.type_name;
                let properties = tool.definition.get("outputSchema").and_then(|schema| schema.get("properties"));
                match properties.and_then(Value::as_object) {
                    Some(properties) => {
                        declared += 1;
                        let schema = types.get(returns).unwrap_or_else(|| panic!("{name}: {returns} is no type"));
                        assert_eq!(field_names(schema), properties.keys().cloned().collect::<Vec<_>>(), "{name}");
                        assert!(returns.ends_with("Result"), "{returns}");
                    }
                    None => assert_eq!(&**returns, JSON_VALUE, "{name}: {}", tool.name),
                }
            }
        }
    }
    assert!(declared > 20, "too few captures declare results: {declared}");
}

#[test]
fn r_int_2_declared_results_are_explained_to_their_leaves() {
    let node =
        json!({ "type": "object", "properties": { "id": { "type": "integer" }, "next": { "$ref": "#/$defs/Node" } } });
    let tool = |name: &str, output: Value| json!({ "name": name, "inputSchema": { "type": "object" }, "outputSchema": output });
    let offer = Offer::from_bundle(
        &bundle(json!([
            tool(
                "get_page",
                json!({
                    "type": "object",
                    "properties": {
                        "rows": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                        "meta": { "type": "object", "properties": { "took": { "type": "number", "description": "In ms." } } },
                    },
                    "$defs": { "Node": node },
                })
            ),
            // The same names, and one that the protocol has itself.
            tool("get_page_result", json!({ "type": "object", "properties": { "rows": { "type": "string" } } })),
            tool("get_result", json!({ "$ref": "#/$defs/PageInfo", "$defs": { "PageInfo": node, "Node": node } })),
            tool("get_nothing", json!({ "type": "object" })),
            tool("get_odd", json!(5)),
            tool(
                "get_either",
                json!({ "oneOf": [{ "type": "object", "properties": { "a": {} } }, { "type": "null" }] })
            ),
        ])),
        "s",
    );
    let types = catalog(&offer).types().clone();
    let returns = |name: &str| {
        offer.operations.iter().find(|operation| &*operation.name == name).unwrap().returns.type_name.to_string()
    };
    let page = &types[returns("get_page").as_str()];
    assert_eq!(field_names(page), ["rows", "meta"]);
    let Kind::Object(shape) = &page.kind else { panic!() };
    let Kind::Array(Some(row)) = &shape.fields[0].schema.kind else { panic!() };
    let Kind::Named(row) = &row.kind else { panic!("{row:?}") };
    assert_eq!(field_names(&types[row]), ["id", "next"]);
    let Kind::Named(meta) = &shape.fields[1].schema.kind else { panic!("nested objects have names") };
    assert_eq!(field_names(&types[meta]), ["took"]);
    assert_eq!(field_names(&types[returns("get_page_result").as_str()]), ["rows"]);
    assert_ne!(returns("get_page"), returns("get_page_result"));
    assert_eq!(field_names(&types[returns("get_result").as_str()]), ["id", "next"]);
    for undeclared in ["get_nothing", "get_odd"] {
        assert_eq!(returns(undeclared), JSON_VALUE);
    }
    assert!(types.contains_key(returns("get_either").as_str()));
}

#[test]
fn r_dis_7a_words_of_declared_results_are_made_presentable() {
    let hidden = "Plain\u{1b}[31m\u{200b} words";
    let output = json!({ "type": "object", "description": hidden,
        "properties": { "a": { "type": "string", "description": hidden }, "b": { "enum": [hidden] } } });
    let tools = json!([{ "name": "get_it", "inputSchema": { "type": "object" }, "outputSchema": output }]);
    let offer = Offer::from_bundle(&bundle(tools), "s");
    let shown = format!("{:?}", offer.types);
    assert!(shown.contains("Plain") && !shown.contains("\\u{1b}") && !shown.contains("\\u{200b}"), "{shown}");
}
