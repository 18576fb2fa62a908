//! What callers see of an upstream's words is clean, and what they choose reaches the upstream as it wrote it (R-DIS-7a).

use aquifer_discovery::adapter::build;
use aquifer_discovery::{Adapter, Bundle, Offer};
use aquifer_protocol::text;
use serde_json::{Value, json};

use crate::fixture::{bundle, catalog, reach};

/// Every kind of character that is removed.
const DIRT: &str = "\u{1b}[31m\u{200b}\u{202e}\u{e0041}\u{fe0f}\u{7}\u{9b}1m";

fn dirty(text: &str) -> String {
    let (head, tail) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{head}{DIRT}{tail}")
}

/// A token, put together here so that no scanner takes it for a leak.
fn token() -> String {
    ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

fn tool(properties: Value) -> Bundle {
    let input = json!({ "type": "object", "properties": properties });
    bundle(json!([{ "name": "set_it", "description": dirty("Sets it."), "inputSchema": input }]))
}

/// What callers can see of an offer.
fn seen(offer: &Offer) -> Value {
    let operations: Vec<Value> = offer
        .operations
        .iter()
        .map(|operation| {
            json!([*operation.description, *operation.returns.description, operation.input_schema(&offer.types)])
        })
        .collect();
    operations.into()
}

/// Offers of the live tools, and of a reviewed adapter with and without its sidecar.
fn offers(bundle: &Bundle) -> Vec<Offer> {
    let built = build(bundle).unwrap();
    let reviewed =
        Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap_or_else(|problems| panic!("{problems:#?}"));
    vec![Offer::from_bundle(bundle, "s"), Offer::from_adapter(&reviewed, "s")]
}

#[test]
fn r_dis_7a_everything_that_is_shown_is_clean() {
    let properties = json!({
        "plain": { "type": "string", "description": dirty("d"), "title": dirty("t"), "default": dirty("v"), "examples": [dirty("e")] },
        "objects": { "type": "object", "default": { dirty("k"): [dirty("v")] } },
        "kind": { "type": "string", "enum": [dirty("one"), "two"] },
        "kinds": { "type": "array", "items": { "type": "string", "enum": [dirty("one")], "description": dirty("d") } },
        "either": { "anyOf": [{ "type": "string", "const": dirty("one") }, { "type": "integer", "description": dirty("d") }] },
        "matching": { "type": "string", "pattern": dirty("^a*$") },
        "formatted": { "type": "string", "format": dirty("iban") },
        "nested": { "type": "object", "properties": {
            dirty("name"): { "type": "string" },
            "inner": { "type": "object", "additionalProperties": { "description": dirty("d"), "enum": [dirty("x")] },
                       "properties": { "deep": { "description": dirty("d"), "default": dirty("v"), "enum": [dirty("x"), "y"] } } },
        } },
        "named": { "$ref": "#/$defs/Named" },
        dirty("odd"): { "type": "string", "description": dirty("d") },
    });
    let input = json!({ "type": "object", "properties": properties, "$defs": {
        "Named": { "type": "object", "description": dirty("d"), "properties": {
            "words": { "enum": [dirty("x")], "description": dirty("d") }, dirty("odd"): { "type": "string" },
            "again": { "$ref": "#/$defs/Named" } } },
    } });
    let bundle = bundle(
        json!([{ "name": dirty("set it"), "title": dirty("t"), "description": dirty("Sets it."), "inputSchema": input }]),
    );
    for offer in offers(&bundle) {
        let seen = seen(&offer);
        let check = |text: &str| {
            assert!(text::is_clean(text), "{text:?} in {seen}");
            text.to_owned()
        };
        text::clean_json(seen.clone(), &check);
        catalog(&offer);
    }
}

#[test]
fn r_dis_7a_credentials_are_not_shown() {
    let token = token();
    let with_token = |words: &str| format!("{words} {token}");
    let properties = json!({
        "plain": { "type": "string", "description": with_token("use"), "default": with_token("x") },
        "kind": { "type": "string", "enum": [with_token("with"), "without"] },
        "matching": { "type": "string", "pattern": format!("^({token}|x)$") },
    });
    let input = json!({ "type": "object", "properties": properties });
    let bundle = bundle(
        json!([{ "name": "set_it", "title": with_token("t"), "description": with_token("Sets it with"), "inputSchema": input }]),
    );
    let made = &bundle.normalized_bundle;
    assert!(made.operations[0].description.contains("[redacted]"));
    assert!(made.warnings.iter().any(|warning| warning.message == "A credential was removed from the description."));
    let offer = Offer::from_bundle(&bundle, "s");
    let seen = seen(&offer).to_string();
    assert!(!seen.contains(&token) && seen.contains("with [redacted]"), "{seen}");
    let catalog = catalog(&offer);
    let reached = reach(&offer, &catalog, "set_it", json!({ "kind": "with [redacted]" })).unwrap();
    assert_eq!(reached, json!({ "kind": with_token("with") }), "the upstream still gets its own value");
}

#[test]
fn r_dis_7a_chosen_values_reach_the_upstream_exactly() {
    let heart = "\u{2764}\u{fe0f}";
    let bundle = tool(json!({
        "kind": { "type": "string", "enum": [dirty("one"), "two", heart] },
        "kinds": { "type": "array", "items": { "type": "string", "enum": [dirty("one"), "two"] } },
        "either": { "anyOf": [{ "type": "string", "enum": [dirty("one")] }, { "type": "array", "items": { "enum": [dirty("two")] } }] },
        "only": { "const": dirty("only") },
        "maybe": { "type": ["string", "null"], "enum": [dirty("one"), null] },
        "whole": { "enum": [{ "a": dirty("x") }, 1] },
        "free": { "type": "string" },
        "userKind": { "type": "string", "enum": [dirty("one")] },
    }));
    for offer in offers(&bundle) {
        let catalog = catalog(&offer);
        for (chosen, expected) in [
            (json!({ "kind": "one" }), Ok(json!({ "kind": dirty("one") }))),
            (json!({ "kind": "two" }), Ok(json!({ "kind": "two" }))),
            (json!({ "kind": "\u{2764}" }), Ok(json!({ "kind": heart }))),
            (json!({ "kinds": ["two", "one", "one"] }), Ok(json!({ "kinds": ["two", dirty("one"), dirty("one")] }))),
            (json!({ "either": "one" }), Ok(json!({ "either": dirty("one") }))),
            (json!({ "either": ["two"] }), Ok(json!({ "either": [dirty("two")] }))),
            (json!({ "only": "only" }), Ok(json!({ "only": dirty("only") }))),
            (json!({ "maybe": "one" }), Ok(json!({ "maybe": dirty("one") }))),
            (json!({ "maybe": null }), Ok(json!({ "maybe": null }))),
            (json!({ "whole": { "a": "x" } }), Ok(json!({ "whole": { "a": dirty("x") } }))),
            // Only what was chosen from a list is mapped.
            (json!({ "free": "one" }), Ok(json!({ "free": "one" }))),
            (json!({ "user_kind": "one" }), Ok(json!({ "userKind": dirty("one") }))),
            (json!({ "kind": "three" }), Err(())),
        ] {
            let reached = reach(&offer, &catalog, "set_it", chosen.clone());
            assert_eq!(reached.clone().map_err(|_| ()), expected, "{chosen}");
            let Ok(Value::Object(arguments)) = reached else { continue };
            assert_eq!(Value::Object(offer.calls["set_it"].params(arguments)), chosen, "and back again");
        }
    }
}

#[test]
fn r_dis_7a_of_two_values_that_look_alike_the_clean_one_is_offered() {
    let alike = [
        dirty("one"),
        "one".to_owned(),
        format!("o{DIRT}{DIRT}ne"),
        dirty("two"),
        format!("{}!", dirty("two")),
        "t\u{200b}wo".to_owned(),
    ];
    for offer in offers(&tool(json!({ "kind": { "type": "string", "enum": alike } }))) {
        let schema = offer.operations[0].input_schema(&offer.types);
        assert_eq!(schema["properties"]["kind"]["enum"], json!(["one", "two", "two!"]));
        let catalog = catalog(&offer);
        for (chosen, expected) in [("one", "one".to_owned()), ("two", dirty("two"))] {
            let reached = reach(&offer, &catalog, "set_it", json!({ "kind": chosen })).unwrap();
            assert_eq!(reached, json!({ "kind": expected }));
        }
    }
}

#[test]
fn r_dis_7a_cleaning_never_refuses_what_the_upstream_accepts() {
    let bundle = tool(json!({
        "matching": { "type": "string", "pattern": "^\u{200b}?a$" },
        "nested": { "type": "object", "additionalProperties": false, "properties": {
            "kind": { "enum": [dirty("x")] }, dirty("odd"): { "type": "string" } } },
    }));
    for offer in offers(&bundle) {
        let catalog = catalog(&offer);
        for params in
            [json!({ "matching": "anything" }), json!({ "nested": { "kind": dirty("x"), dirty("odd"): "y" } })]
        {
            assert_eq!(reach(&offer, &catalog, "set_it", params.clone()), Ok(params));
        }
    }
}

#[test]
fn r_dis_7a_a_second_cleaner_adds_to_the_first() {
    let bundle = tool(
        json!({ "kind": { "type": "string", "enum": [format!("{} s3cret", dirty("one")), "two s3cret", "three"], "description": "not s3cret" } }),
    );
    let mut offer = Offer::from_bundle(&bundle, "s");
    offer.sanitize(&|text| text.replace("s3cret", "…"));
    let schema = offer.operations[0].input_schema(&offer.types);
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["one …", "two …", "three"]));
    assert!(!seen(&offer).to_string().contains("s3cret"));
    let catalog = catalog(&offer);
    for (chosen, expected) in [("one …", format!("{} s3cret", dirty("one"))), ("two …", "two s3cret".to_owned())] {
        assert_eq!(reach(&offer, &catalog, "set_it", json!({ "kind": chosen })), Ok(json!({ "kind": expected })));
    }
}

#[test]
fn many_values_that_are_not_clean_are_bounded() {
    let many: Vec<String> = (0..30_000).map(|number| dirty(&format!("v{number}"))).collect();
    let offer = Offer::from_bundle(&tool(json!({ "kind": { "type": "string", "enum": many } })), "s");
    let shown = offer.operations[0].input_schema(&offer.types)["properties"]["kind"]["enum"].as_array().unwrap().len();
    assert_eq!(shown, 1_000);
}
