//! Requests that may change something are sent once, regardless of their method.

use serde_json::{Value, json};

use super::Served;
use crate::client::server::Reply;

fn paths() -> Value {
    json!({
        "/sms": { "get": { "operationId": "sendSms", "summary": "Send a message" } },
        "/users/delete": { "get": { "operationId": "deleteUser", "summary": "Delete a user" } },
        "/users": { "get": { "operationId": "listUsers", "summary": "List users" } },
        "/users/search": { "post": { "operationId": "searchUsers", "summary": "Search users" } },
        "/users/{id}": { "put": { "operationId": "putUser" }, "delete": { "operationId": "removeUser" } }
    })
}

#[tokio::test]
async fn side_effects_of_safe_methods_are_not_repeated() {
    for (operation, params, is_repeated) in [
        ("send_sms", json!({}), false),
        ("delete_user", json!({}), false),
        ("put_user", json!({ "id": "1" }), false),
        ("remove_user", json!({ "id": "1" }), false),
        ("list_users", json!({}), true),
        ("search_users", json!({}), true),
    ] {
        for status in [502, 504, 0] {
            let served = Served::start(paths(), move |_, _| match status {
                0 => Reply::Reset,
                status => Reply::json(status, "{}"),
            })
            .await;
            let failed = served.call(operation, params.clone()).await;
            assert_eq!(failed["success"], false, "{operation}: {failed}");
            assert_eq!(served.server.count(), if is_repeated { 3 } else { 1 }, "{operation} {status}");
            let is_unknown = failed.to_string().contains("unknown whether the call was executed");
            assert_eq!(is_unknown, !is_repeated, "{operation} {status}: {failed}");
        }
    }
}
