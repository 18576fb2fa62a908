//! What is suggested for the name of an operation that does not exist.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::Types;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::route;
use serde_json::{Value, json};

use crate::fixture::crude;

fn shop(prefix: &str) -> Catalog {
    let operations = [
        ("create_order", Category::Create),
        ("get_order", Category::Read),
        ("list_orders", Category::Read),
        ("update_order", Category::Update),
        ("delete_order", Category::Delete),
        ("execute_export", Category::Execute),
        ("create_invoice", Category::Create),
        ("delete_invoice", Category::Delete),
        ("send_mail", Category::Execute),
    ]
    .map(|(name, category)| {
        let mut operation = Operation::new(&format!("{prefix}{name}"), category, "An operation.");
        operation.origin.own_name = name.into();
        // Only what is proxied may change something without an `input`.
        operation.origin.native = false;
        operation
    });
    Catalog::build(operations, Types::new(), &crude()).unwrap()
}

fn suggested(catalog: &Catalog, receiver: &Receiver, name: &str) -> (Vec<String>, String) {
    let request = json!({ "operation": name }).as_object().unwrap().clone();
    let Ok(ParsedRequest::One(request)) = parse(request, 10) else { panic!("not a request") };
    let failure = route(catalog, &crude(), receiver, request).unwrap_err();
    assert_eq!(failure.code().as_str(), "NOT_FOUND_OPERATION");
    let names = failure.details().get("suggestions").and_then(Value::as_array).cloned().unwrap_or_default();
    (names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(), failure.message().to_owned())
}

#[test]
fn r_req_5_no_suggestion_does_more_than_the_unknown_name_asked_for() {
    let any = Receiver::Unified;
    let read = Receiver::Family("read".into());
    let delete = Receiver::Family("delete".into());
    for (receiver, wanted, first) in [
        (&any, "read_order", Some("get_order")),
        (&any, "fetch_order", Some("get_order")),
        (&any, "find_orders", Some("list_orders")),
        (&any, "show_invoice", None),
        (&any, "read_invoice", None),
        (&any, "ReadInvoice", None),
        (&any, "invoice_read", None),
        (&any, "add_order", Some("create_order")),
        (&any, "remove_order", Some("delete_order")),
        (&any, "edit_order", Some("update_order")),
        // The verb is there with a typing error.
        (&any, "delte_order", Some("delete_order")),
        (&any, "creat_order", Some("create_order")),
        (&any, "sned_mail", Some("send_mail")),
        (&any, "execute_exprt", Some("execute_export")),
        (&any, "update_invoice", Some("create_invoice")),
        // Nothing says what was meant but the tool.
        (&any, "invoice", None),
        (&read, "invoice", None),
        (&delete, "delet_invoice", Some("delete_invoice")),
    ] {
        for prefix in ["", "shop_"] {
            let (names, message) = suggested(&shop(prefix), receiver, &format!("{prefix}{wanted}"));
            let expected = first.map(|name| format!("{prefix}{name}"));
            assert_eq!(names.first(), expected.as_ref(), "{prefix}{wanted}: {message}");
            let hint = expected.map_or("introspect".to_owned(), |name| format!("'{name}'"));
            assert!(message.contains(&hint), "{message}");
        }
    }
    // Where nothing else says it, the tool that was called says what was meant.
    let (names, _) = suggested(&shop("shop_"), &delete, "shop_the_invoice");
    assert_eq!(names, ["shop_delete_invoice"]);
    for receiver in [&any, &read] {
        let (names, _) = suggested(&shop("shop_"), receiver, "shop_the_invoice");
        assert!(!names.iter().any(|name| name.ends_with("_invoice")), "{receiver:?}: {names:?}");
    }
    for wanted in ["read_order", "get_invoice", "list_mail", "view_export", "count_invoices"] {
        let (names, message) = suggested(&shop(""), &any, wanted);
        let reads = |name: &String| ["get_order", "list_orders", "introspect"].contains(&name.as_str());
        assert!(names.iter().all(reads), "{wanted}: {message}");
    }
}

#[test]
fn r_req_4a_introspect_sent_to_another_tool_learns_the_right_one() {
    let catalog = shop("");
    let request = json!({ "operation": "introspect" }).as_object().unwrap().clone();
    let Ok(ParsedRequest::One(request)) = parse(request, 10) else { panic!("not a request") };
    let failure = route(&catalog, &crude(), &Receiver::Family("create".into()), request).unwrap_err();
    let reported = failure.without_details();
    let expected = "Operation 'introspect' must use READ endpoint, not CREATE: call the tool 'mcp_aql_read'";
    assert_eq!(reported.message(), expected);
}
