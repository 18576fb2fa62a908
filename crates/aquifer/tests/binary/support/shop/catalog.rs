//! Things with versions: read, create, replace, change and delete.

use std::collections::BTreeMap;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::{Received, json_answer, problem};

/// The smallest PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// The most that a page has.
const MAX_PAGE: usize = 10;

pub(super) struct Products {
    stored: BTreeMap<u64, (Value, u64)>,
    /// A product that changes after each reading.
    pub(super) restless: Option<u64>,
}

impl Default for Products {
    fn default() -> Self {
        let product = |id: u64| {
            let category = if id.is_multiple_of(5) { "lamp" } else { "chair" };
            json!({ "id": id, "name": format!("Product {id}"), "category": category, "price": id * 10, "stock": 3 })
        };
        Self { stored: (1..=25).map(|id| (id, (product(id), 1))).collect(), restless: None }
    }
}

impl Products {
    pub(super) fn get(&self, id: u64) -> Option<&Value> {
        self.stored.get(&id).map(|(product, _)| product)
    }

    pub(super) fn count(&self) -> usize {
        self.stored.len()
    }

    /// Changes the fields that are given (RFC 7396).
    pub(super) fn merge(&mut self, id: u64, changes: &Value) -> Option<Value> {
        let (product, version) = self.stored.get_mut(&id)?;
        for (name, value) in changes.as_object()? {
            product[name] = value.clone();
        }
        *version += 1;
        Some(product.clone())
    }

    pub(super) fn answer(&mut self, request: &Received, steps: &[&str]) -> Response {
        let id = steps.first().and_then(|step| step.parse::<u64>().ok());
        match (request.method.as_str(), id, steps) {
            ("GET", None, []) => self.list(request),
            ("POST", None, []) => self.create(&request.json()),
            ("POST", None, ["search"]) => self.search(&request.json()),
            ("GET", Some(_), [_, "image"]) => ([(header::CONTENT_TYPE, "image/png")], PNG).into_response(),
            (_, Some(id), [_]) if self.stored.contains_key(&id) => self.one(request, id),
            _ => problem(404, "There is no such product."),
        }
    }

    fn list(&self, request: &Received) -> Response {
        let (skipped, size) = (request.number("offset").unwrap_or(0), request.number("limit").unwrap_or(5));
        let category = request.query.get("category");
        let all: Vec<&Value> = self
            .stored
            .values()
            .map(|(product, _)| product)
            .filter(|product| category.is_none_or(|wanted| product["category"] == wanted.as_str()))
            .collect();
        let page: Vec<&Value> = all.iter().skip(skipped).take(size.min(MAX_PAGE)).copied().collect();
        json_answer(200, &json!({ "items": page, "total": all.len() }))
    }

    fn create(&mut self, body: &Value) -> Response {
        let Some(name) = body["name"].as_str() else { return problem(422, "A product has a name.") };
        let id = self.stored.keys().last().copied().unwrap_or(0) + 1;
        let product =
            json!({ "id": id, "name": name, "category": body["category"], "price": body["price"], "stock": 0 });
        self.stored.insert(id, (product.clone(), 1));
        json_answer(201, &product)
    }

    fn search(&self, body: &Value) -> Response {
        let (text, most) = (body["text"].as_str().unwrap_or_default(), body["max_price"].as_u64().unwrap_or(u64::MAX));
        let is_found = |product: &&Value| {
            product["category"].as_str().is_some_and(|category| category.contains(text))
                && product["price"].as_u64().is_some_and(|price| price <= most)
        };
        let found: Vec<&Value> = self.stored.values().map(|(product, _)| product).filter(is_found).collect();
        json_answer(200, &json!({ "results": found }))
    }

    fn one(&mut self, request: &Received, id: u64) -> Response {
        let version = self.stored.get(&id).map(|(_, version)| *version).unwrap_or_default();
        let tag = |version: u64| format!("\"{id}-{version}\"");
        if request.header("if-match").is_some_and(|expected| expected != tag(version)) {
            return problem(412, "It has changed.");
        }
        match request.method.as_str() {
            "GET" => {
                let product = self.get(id).cloned().unwrap_or_default();
                if self.restless == Some(id) {
                    self.merge(id, &json!({ "stock": version }));
                }
                let mut answer = json_answer(200, &product);
                answer.headers_mut().insert(header::ETAG, tag(version).parse().unwrap());
                answer
            }
            "PUT" => {
                let Value::Object(fields) = request.json() else { return problem(400, "This is no object.") };
                if fields.contains_key("id") {
                    return problem(422, "The id cannot be written.");
                }
                let product: Map<String, Value> = [("id".to_owned(), json!(id))].into_iter().chain(fields).collect();
                self.stored.insert(id, (Value::Object(product.clone()), version + 1));
                json_answer(200, &Value::Object(product))
            }
            "PATCH" => json_answer(200, &self.merge(id, &request.json()).unwrap_or_default()),
            "DELETE" => {
                self.stored.remove(&id);
                axum::http::StatusCode::NO_CONTENT.into_response()
            }
            _ => problem(405, "That is not possible."),
        }
    }
}
