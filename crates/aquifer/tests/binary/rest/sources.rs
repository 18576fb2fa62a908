//! How APIs are named as sources: by file, by URL, several at once, and only for reading.

use serde_json::{Value, json};

use super::Fixture;
use crate::support::shop::{Shop, description};
use crate::support::text;

/// Renames an operation.
const OVERLAY: &str = "overlay: 1.0.0\ninfo: { title: Patch, version: 1.0.0 }\nactions:\n  - target: \"$.paths['/report'].get\"\n    \
                       update: { operationId: readTheReport }\n";

#[test]
fn read_only_hides_everything_that_writes() {
    let flags: [(&str, &[&str]); 2] = [("read_only = true\n", &["serve"]), ("", &["serve", "--read-only"])];
    for (keys, arguments) in flags {
        let fixture = Fixture::described(keys);
        let mut server = Fixture::start(&mut fixture.command(arguments));
        let names = server.operations();
        assert!(
            names.contains(&"list_products".to_owned()) && names.contains(&"search_products".to_owned()),
            "{names:?}"
        );
        for hidden in ["create_product", "update_product", "replace_product", "delete_product"] {
            assert!(!names.contains(&hidden.to_owned()), "{hidden}: {names:?}");
        }
        let answer = server.call(
            "mcp_aql_update",
            json!({ "operation": "update_product", "params": { "product_id": 1, "input": { "stock": 1 } } }),
        );
        assert_ne!(answer["success"], true, "{answer}");
        assert!(fixture.shop.received().is_empty());
    }
}

#[test]
fn two_apis_have_prefixes() {
    let fixture = Fixture::described("");
    let other = Shop::start();
    fixture.folder.file("other.yaml", &description(&other));
    fixture.configure(&format!(
        "[[source]]\nname = \"one\"\nopenapi = \"shop.yaml\"\nbase_url = \"{}\"\n\
         [[source]]\nname = \"two\"\nopenapi = \"other.yaml\"\nbase_url = \"{}\"\n",
        fixture.shop.url(),
        other.url()
    ));
    let mut server = fixture.serve();
    other.change(1, &json!({ "name": "Other" }));
    assert_eq!(server.data("read", "one_get_product", json!({ "product_id": 1 }))["name"], "Product 1");
    assert_eq!(server.data("read", "two_get_product", json!({ "product_id": 1 }))["name"], "Other");
    assert_eq!((fixture.shop.received().len(), other.received().len()), (1, 1));
}

#[test]
fn files_are_beside_the_configuration() {
    let fixture = Fixture::described("overlays = [\"patch.yaml\"]\n");
    fixture.folder.file("patch.yaml", OVERLAY);
    let config = fixture.folder.path("aquifer.toml");
    let mut elsewhere = crate::support::forgetful(&fixture.folder);
    let mut server = Fixture::start(elsewhere.args(["serve", "--config", &config]));
    assert!(server.operations().contains(&"read_the_report".to_owned()));
    fixture.configure("[[source]]\ntarget = \"openapi:shop.yaml\"\nallow_private_addresses = true\n");
    let mut elsewhere = crate::support::forgetful(&fixture.folder);
    let mut server = Fixture::start(elsewhere.args(["serve", "--config", &config]));
    assert!(server.operations().contains(&"get_report".to_owned()));
}

#[test]
fn a_description_is_fetched_from_its_url() {
    let fixture = Fixture::described("");
    for server_url in [fixture.shop.url(), "/".to_owned()] {
        fixture.shop.publish(&description(&fixture.shop).replace(&fixture.shop.url(), &server_url));
        let target = format!("openapi:{}/openapi.yaml", fixture.shop.url());
        let mut server = Fixture::start(&mut fixture.command(&["serve", &target]));
        assert_eq!(server.data("read", "get_product", json!({ "product_id": 2 }))["id"], 2, "{server_url}");
    }
}

#[test]
fn the_last_good_description_is_served_without_network() {
    let fixture = Fixture::described("");
    let shop = Shop::start();
    let target = format!("openapi:{}/openapi.yaml", shop.url());
    let listed = || {
        let output = fixture.command(&["introspect", "--source", &target]).output().unwrap();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    shop.publish("paths: 5");
    assert!(!listed().0, "there is no good one yet");
    shop.publish(&description(&shop));
    let (is_good, first, warned) = listed();
    assert!(is_good && first.contains("get_product") && !warned.contains("last description"), "{first}{warned}");
    // What is fetched cannot be served.
    shop.publish("paths: 5");
    let (is_good, listing, warned) = listed();
    assert!(is_good && listing == first && warned.contains("The last description"), "{listing}{warned}");
    // Nothing answers any more.
    drop(shop);
    let (is_good, listing, warned) = listed();
    assert!(is_good && listing == first && warned.contains("The last description"), "{listing}{warned}");
}

#[test]
fn a_description_cannot_name_private_addresses() {
    let fixture = Fixture::described("");
    let output = fixture.command(&["call", "get_account", "--source", "openapi:shop.yaml"]).output().unwrap();
    let printed = text(&output.stderr);
    assert!(!output.status.success() && printed.contains("the address is not public"), "{printed}");
    assert!(printed.contains("say so with base_url"), "{printed}");
    assert!(fixture.shop.received().is_empty());
    fixture.configure("[[source]]\nopenapi = \"shop.yaml\"\nallow_private_addresses = true\n");
    let mut server = fixture.serve();
    assert_eq!(server.data("read", "get_product", json!({ "product_id": 2 }))["id"], 2);
}

#[test]
fn examples_name_the_base_url_that_they_need() {
    let fixture = Fixture::described("");
    let url = fixture.shop.url();
    let arguments = ["introspect", "openapi:shop.yaml", "list_products", "--base-url", &url];
    let output = fixture.command(&arguments).output().unwrap();
    let printed = text(&output.stdout);
    let example = printed.lines().find(|line| line.starts_with("Example: ")).unwrap_or_else(|| panic!("{printed}"));
    assert!(example.contains(&format!("--base-url {url}")), "{example}");
}

#[test]
fn overlays_and_filters_change_what_is_served() {
    let fixture = Fixture::described("exclude = [\"/orders\"]\noverlays = [\"patch.yaml\"]\n");
    fixture.folder.file("patch.yaml", OVERLAY);
    let names = fixture.serve().operations();
    assert!(names.contains(&"read_the_report".to_owned()) && !names.contains(&"get_report".to_owned()), "{names:?}");
    assert!(!names.contains(&"list_orders".to_owned()), "{names:?}");
}

/// What the operator says about effects counts before what the words say, and decides whether a call asks.
#[test]
fn r_dis_4b_the_configuration_corrects_effects() {
    let body = json!({ "content": { "application/json": { "schema": { "type": "object",
        "properties": { "room": { "type": "string" } } } } } });
    let paths = json!({
        "/assets/info": { "post": { "operationId": "getAssetInfo", "requestBody": body } },
        "/rooms": { "post": { "operationId": "createRoom", "requestBody": body } },
    });
    let keys = "[source.operations.get_asset_info]\neffects = [\"reads\"]\n\
                [source.operations.create_room]\neffects = [\"adds\", \"sends\"]\ndestinations = [\"room\", \"rom\"]\n";
    let shown = |keys: &str| -> Vec<Value> {
        let fixture = Fixture::answered(&paths, keys, |_| None);
        let output = fixture.command(&["policy", "show", "--json"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let operations = shown["operations"].as_array().unwrap().clone();
        let wanted = |line: &Value| ["get_asset_info", "create_room"].map(Value::from).contains(&line["operation"]);
        operations.into_iter().filter(wanted).map(|line| json!([line["operation"], line["decision"]])).collect()
    };
    assert_eq!(shown(""), [json!(["create_room", "allow"]), json!(["get_asset_info", "confirm"])]);
    assert_eq!(shown(keys), [json!(["create_room", "confirm"]), json!(["get_asset_info", "allow"])]);
    let fixture = Fixture::answered(&paths, "[source.operations.create_room]\neffects = [\"mails\"]\n", |_| None);
    let output = fixture.command(&["policy", "show"]).output().unwrap();
    assert!(text(&output.stderr).contains("unknown effect 'mails', expected one of reads, adds"), "{output:?}");
}
