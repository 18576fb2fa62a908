//! Lists in three ways to page: numbered pages, cursors in the body, and links in a header. Each has 25 rows.

use axum::http::header;
use axum::response::Response;
use serde_json::{Value, json};

use super::{Received, json_answer};

const COUNT: usize = 25;
const MAX_PAGE: usize = 10;

fn rows(skipped: usize, size: usize) -> Vec<Value> {
    let last = COUNT.min(skipped + size);
    (skipped + 1..=last).map(|id| json!({ "id": id, "amount": id * 2, "is_odd": id % 2 == 1 })).collect()
}

/// One page of the list that the path names.
pub(super) fn page(request: &Received) -> Response {
    let size = |name: &str| request.number(name).unwrap_or(5).clamp(1, MAX_PAGE);
    let page = request.number("page").unwrap_or(1).max(1);
    match request.path.as_str() {
        "/orders" => {
            let size = size("per_page");
            json_answer(200, &json!(rows((page - 1) * size, size)))
        }
        "/events" => {
            let size = size("limit");
            let skipped = request.query.get("cursor").and_then(|cursor| cursor.strip_prefix("after-")?.parse().ok());
            let skipped = skipped.unwrap_or(0);
            let next = (skipped + size < COUNT).then(|| format!("after-{}", skipped + size));
            json_answer(200, &json!({ "data": rows(skipped, size), "meta": { "next_cursor": next } }))
        }
        _ => {
            let size = size("per_page");
            let mut answer = json_answer(200, &json!(rows((page - 1) * size, size)));
            if page * size < COUNT {
                let link =
                    format!("</reviews?page={}&per_page={size}>; rel=\"next\", </reviews>; rel=\"first\"", page + 1);
                answer.headers_mut().insert(header::LINK, link.parse().unwrap());
            }
            answer
        }
    }
}
