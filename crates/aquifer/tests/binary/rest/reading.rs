//! What introspection tells, and reading with fields, filters, order and sums.

use serde_json::{Value, json};

use super::{Fixture, column};

fn signatures(data: &Value) -> Vec<String> {
    data["signatures"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn r_int_1_signatures_hide_how_the_api_pages() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    let all = signatures(&server.data("read", "introspect", json!({ "query": "signatures" })));
    for expected in [
        "create_product(name: string, price: int, category?: lamp|chair, stock?: int) create",
        "delete_product(product_id: int) delete [confirm]",
        "list_products(category?: lamp|chair, ...query) read",
        "list_orders(...query) read",
        "list_events(...query) read",
        "list_reviews(...query) read",
        "search_products(text?: string, max_price?: int, ...query) read: Search products by category and price",
        "replace_product(product_id: int, input: {name?: string, category?: lamp|chair|null, price?: int, stock?: \
         int|null}) update [confirm]",
        "update_product(product_id: int, input: {name?: string, category?: lamp|chair, price?: int, stock?: int}) update",
    ] {
        assert!(all.iter().any(|line| line.starts_with(expected)), "{expected}: {all:#?}");
    }
    for hidden in ["offset", "per_page", "cursor", "limit:"] {
        assert!(!all.iter().any(|line| line.contains(hidden)), "{hidden}: {all:#?}");
    }
    let found = server.data("read", "introspect", json!({ "query": "signatures", "search": "delete a product" }));
    assert!(signatures(&found)[0].starts_with("delete_product("), "{found}");
    assert!(fixture.shop.received().is_empty(), "the API is not called for any of this");
}

#[test]
fn results_have_the_types_of_the_description() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    let product = server.data("read", "introspect", json!({ "query": "types", "name": "Product" }));
    let fields = product["type"]["fields"].as_array().unwrap_or_else(|| panic!("{product}"));
    assert!(fields.iter().any(|field| field["name"] == "price"), "{product}");
    let info = server.data("read", "introspect", json!({ "query": "operations", "name": "get_product" }));
    assert_eq!(info["operation"]["returns"]["name"], "Product", "{info}");
}

#[test]
fn r_dis_8_results_are_shaped() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    let lamps = json!({ "filter": { "category": "lamp" }, "sort": "-price", "fields": ["id", "price"] });
    let found = server.data("read", "list_products", lamps);
    assert_eq!(column(&found, "id"), [25, 20, 15, 10, 5], "{found}");
    assert_eq!(found["items"][0], json!({ "id": 25, "price": 250 }));
    let sums =
        json!({ "aggregate": { "count": { "count": true, "group_by": "category" }, "most": { "max": "price" } } });
    let summed = server.data("read", "list_products", sums);
    assert_eq!(summed["aggregations"]["most"], 250, "{summed}");
    assert_eq!(fixture.shop.take("/products").len(), 6, "three pages each");
    // A parameter of the API is sent to it.
    let found = server.data("read", "list_products", json!({ "category": "lamp", "fields": ["id"] }));
    assert_eq!(column(&found, "id"), [5, 10, 15, 20, 25], "{found}");
    assert_eq!(fixture.shop.take("/products")[0].query["category"], "lamp");
    let one = server.data("read", "get_product", json!({ "product_id": 3, "fields": ["name"] }));
    assert_eq!(one, json!({ "name": "Product 3" }));
}

#[test]
fn a_search_by_post_is_read() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    let found = server.data("read", "search_products", json!({ "text": "lamp", "max_price": 100 }));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(2), "{found}");
    let sent = fixture.shop.take("/products/search");
    assert_eq!((sent.len(), sent[0].method.as_str()), (1, "POST"));
    assert_eq!(sent[0].json(), json!({ "text": "lamp", "max_price": 100 }));
}

#[test]
fn text_and_images_are_passed_on() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    assert_eq!(server.data("read", "export_products", json!({})), json!("id,name\n1,Lamp\n"));
    let call = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_product_image", "params": { "product_id": 1 } } });
    let answer = server.request("tools/call", call);
    let image = &answer["result"]["content"][1];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")), "{answer}");
    assert!(image["data"].as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo")), "{image}");
}
