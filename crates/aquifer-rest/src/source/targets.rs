//! Finds the operation that a URL of the API belongs to.
//!
//! An API may redirect a call, or name the URL of the next page of a list. Where that leads is judged like a call of
//! the operation that it is: a link must not reach what its caller may not call.

use std::sync::Arc;

use aquifer_engine::TargetCheck;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::percent;
use aquifer_protocol::schema::{Kind, Types};
use reqwest::Url;
use serde_json::{Map, Value};

use crate::api::Api;
use crate::client::LinkCheck;
use crate::route::{Method, Place, Route, check_base_url, is_override, is_same_origin};

/// All requests of the description, served or not.
#[derive(Debug)]
pub(super) struct Targets {
    requests: Vec<KnownRequest>,
}

#[derive(Debug)]
struct KnownRequest {
    /// The method, or `None` for all.
    method: Option<Method>,
    base: Url,
    /// The segments of the path template.
    template: Vec<String>,
    /// The operation, or `None` if it is not served.
    operation: Option<Arc<str>>,
    /// The parameters in the path and in the query.
    parameters: Vec<LinkParameter>,
}

/// A parameter that a URL can contain.
#[derive(Debug)]
struct LinkParameter {
    name: Arc<str>,
    original_name: Arc<str>,
    is_in_path: bool,
    kind: TextKind,
}

/// How the text of a parameter in a URL is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Number,
    Boolean,
    List,
}

/// An operation that a URL may belong to.
#[derive(Debug, PartialEq)]
struct Target<'t> {
    /// `None` if it is not served.
    operation: Option<&'t Arc<str>>,
    params: Map<String, Value>,
}

/// How the path of a URL is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As it is written.
    Exact,
    /// As a lenient server may read it: encoded slashes and dots, empty segments, path parameters and letter case are
    /// resolved, and a last placeholder takes everything that follows.
    Lenient,
}

impl Targets {
    /// The requests of an API with this base URL.
    pub(super) fn new(api: &Api, base_url: &str) -> Self {
        let mut requests = Vec::new();
        let Ok(api_base) = check_base_url(base_url) else { return Self { requests } };
        for operation in &api.operations {
            let Some(route) = api.routes.get(&operation.name) else { continue };
            let base = route.base_url.as_deref().and_then(|base| check_base_url(base).ok());
            requests.push(KnownRequest {
                method: Some(route.method),
                base: base.unwrap_or_else(|| api_base.clone()),
                template: template(&route.path),
                operation: Some(operation.name.clone()),
                parameters: link_parameters(operation, route, &api.types),
            });
        }
        requests.extend(api.unserved.iter().map(|unserved| KnownRequest {
            method: unserved.method,
            base: api_base.clone(),
            template: template(&unserved.path),
            operation: None,
            parameters: Vec::new(),
        }));
        Self { requests }
    }

    /// Whether a URL belongs to this operation and to no other.
    pub(super) fn leads_to(&self, method: Method, url: &Url, operation: &str) -> bool {
        let found = self.find(method, url);
        !found.is_empty() && found.iter().all(|target| target.operation.is_some_and(|name| **name == *operation))
    }

    /// The operations that a URL may belong to, depending on how strictly the server reads it. Empty if the description
    /// contains none.
    fn find(&self, method: Method, url: &Url) -> Vec<Target<'_>> {
        let mut found = self.find_as(Reading::Exact, method, url);
        for target in self.find_as(Reading::Lenient, method, url) {
            if !found.contains(&target) {
                found.push(target);
            }
        }
        found
    }

    fn find_as(&self, reading: Reading, method: Method, url: &Url) -> Vec<Target<'_>> {
        let path = segments(url.path(), reading);
        let candidates = self
            .requests
            .iter()
            .filter(|request| request.method.is_none_or(|known| known == method) && is_same_origin(&request.base, url));
        let mut found: Vec<(usize, Target<'_>)> = Vec::new();
        for request in candidates {
            let base = segments(request.base.path(), reading);
            let Some(rest) = path.strip_prefix(base.as_slice()) else { continue };
            let Some((rank, values)) = match_path(&request.template, rest, reading) else { continue };
            let params = request.params(&values, url);
            found.push((rank, Target { operation: request.operation.as_ref(), params }));
        }
        // The most specific path decides, as in OpenAPI.
        let best = found.iter().map(|(rank, _)| *rank).min();
        found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, target)| target).collect()
    }
}

impl KnownRequest {
    fn params(&self, path_values: &[(&str, String)], url: &Url) -> Map<String, Value> {
        let mut params = Map::new();
        for parameter in &self.parameters {
            let texts: Vec<String> = if parameter.is_in_path {
                let named = path_values.iter().filter(|(name, _)| *name == &*parameter.original_name);
                named.map(|(_, value)| value.clone()).collect()
            } else {
                let named = url.query_pairs().filter(|(name, _)| *name == *parameter.original_name);
                named.map(|(_, value)| value.into_owned()).collect()
            };
            if let Some(value) = parameter.kind.value(texts) {
                params.insert(parameter.name.to_string(), value);
            }
        }
        params
    }
}

impl TextKind {
    fn value(self, mut texts: Vec<String>) -> Option<Value> {
        if self == TextKind::List {
            let parts = texts.iter().flat_map(|text| text.split(','));
            return (!texts.is_empty()).then(|| parts.map(Value::from).collect());
        }
        let text = texts.pop()?;
        let typed = match self {
            TextKind::Number => serde_json::from_str(&text).ok().filter(Value::is_number),
            TextKind::Boolean => text.parse::<bool>().ok().map(Value::from),
            TextKind::Text | TextKind::List => None,
        };
        Some(typed.unwrap_or(Value::String(text)))
    }
}

fn link_parameters(operation: &Operation, route: &Route, types: &Types) -> Vec<LinkParameter> {
    let kind = |name: &str| match operation.parameter(name).map(|one| &one.schema.resolve(types).kind) {
        Some(Kind::Integer | Kind::Number) => TextKind::Number,
        Some(Kind::Boolean) => TextKind::Boolean,
        Some(Kind::Array(_)) => TextKind::List,
        _ => TextKind::Text,
    };
    let in_url = route.parameters.iter().filter(|one| matches!(one.place, Place::Path(_) | Place::Query { .. }));
    in_url
        .map(|one| LinkParameter {
            name: one.name.clone(),
            original_name: one.original_name.clone(),
            is_in_path: matches!(one.place, Place::Path(_)),
            kind: kind(&one.name),
        })
        .collect()
}

fn template(path: &str) -> Vec<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split('/').filter(|segment| !segment.is_empty()).map(percent::decode_lossy).collect()
}

/// The segments of a path.
fn segments(path: &str, reading: Reading) -> Vec<String> {
    const MAX_DECODINGS: usize = 3;
    if reading == Reading::Exact {
        return path.split('/').filter(|segment| !segment.is_empty()).map(percent::decode_lossy).collect();
    }
    let decoded = (0..MAX_DECODINGS).fold(path.to_owned(), |path, _| percent::decode_lossy(&path));
    let mut segments: Vec<String> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default().trim() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment.to_lowercase()),
        }
    }
    segments
}

/// The values of the placeholders, and a rank that is lower for more specific templates.
fn match_path<'t>(
    template: &'t [String],
    path: &[String],
    reading: Reading,
) -> Option<(usize, Vec<(&'t str, String)>)> {
    let mut values = Vec::new();
    let takes_rest = reading == Reading::Lenient
        && path.len() > template.len()
        && template.last().is_some_and(|last| last.starts_with('{') && last.ends_with('}'));
    if path.len() != template.len() && !takes_rest {
        return None;
    }
    for (index, pattern) in template.iter().enumerate() {
        let text = match takes_rest && index + 1 == template.len() {
            true => path.get(index..)?.join("/"),
            false => path.get(index)?.clone(),
        };
        match_segment(pattern, &text, reading, &mut values)?;
    }
    let rest_rank = if takes_rest { 1_000 - template.len().min(999) } else { 0 };
    Some((rest_rank * 1_000 + values.len().min(999), values))
}

fn match_segment<'t>(
    pattern: &'t str,
    text: &str,
    reading: Reading,
    values: &mut Vec<(&'t str, String)>,
) -> Option<()> {
    let literal = |literal: &str| if reading == Reading::Lenient { literal.to_lowercase() } else { literal.to_owned() };
    let Some((before, rest)) = pattern.split_once('{') else { return (literal(pattern) == text).then_some(()) };
    let text = text.strip_prefix(literal(before).as_str())?;
    let (name, after) = rest.split_once('}')?;
    let next = literal(after.split('{').next().unwrap_or_default());
    // A placeholder stands for some text.
    let first = text.chars().next()?.len_utf8();
    let end = match next.is_empty() {
        true => text.len(),
        false => first + text.get(first..)?.find(next.as_str())?,
    };
    values.push((name, text.get(..end)?.to_owned()));
    match_segment(after, text.get(end..)?, reading, values)
}

/// Judges the links that one call is led to.
#[derive(Debug)]
pub(super) struct CallLinks {
    pub(super) targets: Arc<Targets>,
    pub(super) check: TargetCheck,
    /// The operation that was called, and its parameters.
    pub(super) called: Arc<str>,
    pub(super) params: Map<String, Value>,
}

impl LinkCheck for CallLinks {
    fn allows(&self, method: &reqwest::Method, url: &Url) -> bool {
        let Some(method) = Method::from_name(method.as_str()) else { return false };
        if url.query_pairs().any(|(name, _)| is_override(&name)) {
            return false;
        }
        self.targets.find(method, url).into_iter().all(|Target { operation, params }| {
            let Some(operation) = operation else { return false };
            // What a URL does not contain, such as headers, stays the same.
            let params = match *operation == self.called {
                true => self.params.clone().into_iter().chain(params).collect(),
                false => params,
            };
            self.check.judge(operation, &params).is_ok()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::UnservedRequest;

    fn targets() -> Targets {
        let text = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place == "path", "schema": { "type": "string" } });
        let description = json!({
            "openapi": "3.1.0", "info": {}, "servers": [{ "url": "https://a.example/v1" }],
            "paths": {
                "/pets": { "get": { "operationId": "listPets", "parameters": [{ "name": "page", "in": "query", "schema": { "type": "integer" } }] } },
                "/pets/{id}": { "get": { "operationId": "getPet", "parameters": [text("id", "path")] } },
                "/pets/mine": { "get": { "operationId": "getMine" }, "post": { "operationId": "feedMine" } },
                "/files/{path}.json": { "get": { "operationId": "getFile", "parameters": [text("path", "path")] } },
                "/admin/{path}": { "get": { "operationId": "getAdmin", "parameters": [text("path", "path")] } },
            }
        });
        let mut api = crate::openapi::read(&description, &crate::openapi::ReadOptions::default()).unwrap();
        api.unserved.push(UnservedRequest { method: None, path: "/secrets".into() });
        Targets::new(&api, &api.base_url)
    }

    #[test]
    fn urls_belong_to_operations() {
        let targets = targets();
        for (path, expected) in [
            ("/v1/pets?page=2", &[(Some("list_pets"), json!({ "page": 2 }))][..]),
            ("/v1/pets/", &[(Some("list_pets"), json!({}))]),
            ("/v1//pets", &[(Some("list_pets"), json!({}))]),
            ("/v1/pets/7", &[(Some("get_pet"), json!({ "id": "7" }))]),
            ("/v1/pets/mine", &[(Some("get_mine"), json!({}))]),
            ("/v1/pets/%6dine", &[(Some("get_mine"), json!({}))]),
            ("/v1/pets/MINE", &[(Some("get_pet"), json!({ "id": "MINE" })), (Some("get_mine"), json!({}))]),
            ("/v1/pets/mine;x=1", &[(Some("get_pet"), json!({ "id": "mine;x=1" })), (Some("get_mine"), json!({}))]),
            ("/v1/pets/..%2Fsecrets", &[(Some("get_pet"), json!({ "id": "../secrets" })), (None, json!({}))]),
            ("/v1/pets/..%252Fsecrets", &[(Some("get_pet"), json!({ "id": "..%2Fsecrets" })), (None, json!({}))]),
            ("/v1/Secrets", &[(None, json!({}))]),
            ("/v1/files/a.json", &[(Some("get_file"), json!({ "path": "a" }))]),
            ("/v1/admin/a/b", &[(Some("get_admin"), json!({ "path": "a/b" }))]),
            ("/v2/pets", &[]),
            ("/v1/other", &[]),
        ] {
            let url = Url::parse(&format!("https://a.example{path}")).unwrap();
            let found = targets.find(Method::Get, &url);
            let found: Vec<_> = found
                .into_iter()
                .map(|target| (target.operation.map(|name| &**name), Value::Object(target.params)))
                .collect();
            assert_eq!(found, expected, "{path}");
        }
        let elsewhere = Url::parse("https://b.example/v1/pets").unwrap();
        assert_eq!(targets.find(Method::Get, &elsewhere), []);
        assert!(targets.leads_to(Method::Get, &Url::parse("https://a.example/v1/pets?x=1").unwrap(), "list_pets"));
        assert!(!targets.leads_to(Method::Get, &Url::parse("https://a.example/v1/pets/MINE").unwrap(), "get_pet"));
    }
}
