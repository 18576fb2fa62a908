//! Third-party descriptions from the folder that AQUIFER_TEST_DESCRIPTIONS names, with a mock of 500 rows behind each
//! list. The mock pages by the parameters that the operation has. If these are cursors, the next one is where the response
//! is described to have it, or in a `Link` header.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_protocol::category::Category;
use aquifer_protocol::schema::{Kind, sample};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::route::{Method, Pagination, Place};
use aquifer_rest::{Api, RestSettings, RestSource};
use serde_json::{Map, Value, json};

use super::{ROWS, count, query, rows};
use crate::client::server::{Reply, Server};
use crate::openapi::survey::collect;

/// The minimum number of different descriptions with lists, and of lists with paging parameters in them.
const MIN_DESCRIPTIONS: usize = 10;
const MIN_PAGED: usize = 10;

/// The maximum number of lists with paging parameters from one description.
const MAX_PAGED: usize = 5;

/// The page size of the mock if none is requested.
const PAGE_SIZE: usize = 30;

/// Finds the value with one of these names, ignoring case and separators.
fn named<'v>(query: &'v std::collections::HashMap<String, String>, names: &[&str]) -> Option<&'v str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    query.iter().find(|(name, _)| names.contains(&plain(name).as_str())).map(|(_, value)| value.as_str())
}

/// The list of a response: the path of an array in its schema.
fn list_path(api: &Api, type_name: &str) -> Option<Option<String>> {
    let schema = api.types.get(type_name)?;
    let is_rows = |kind: &Kind| match kind {
        Kind::Array(Some(row)) => matches!(row.resolve(&api.types).kind, Kind::Object(_)),
        _ => false,
    };
    match &schema.resolve(&api.types).kind {
        kind @ Kind::Array(_) => is_rows(kind).then_some(None),
        Kind::Object(shape) => {
            let mut lists = shape.fields.iter().filter(|field| is_rows(&field.schema.resolve(&api.types).kind));
            let only = lists.next().filter(|_| lists.next().is_none())?;
            Some(Some(only.original_name.as_deref().unwrap_or(&only.name).to_owned()))
        }
        _ => None,
    }
}

/// Writes a value at a path such as `meta.next`, into objects that are added.
fn write_at(body: &mut Value, path: &str, value: Value) {
    let holder = path.split('.').fold(body, |value, step| {
        if !value.is_object() {
            *value = json!({});
        }
        value.as_object_mut().unwrap().entry(step).or_insert(Value::Null)
    });
    *holder = value;
}

/// Whether the parameters of an operation say that it pages.
fn is_paged(names: &[String]) -> bool {
    names.iter().any(|name| {
        let plain = name.to_lowercase().replace(['_', '-'], "");
        ["page", "pagenumber", "pagesize", "perpage", "limit", "offset", "skip", "cursor", "after", "max"]
            .contains(&plain.as_str())
    })
}

#[tokio::test]
async fn counts_of_installed_descriptions_are_right_or_warned_about() {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files, 0);
    files.sort();
    let (mut descriptions, mut lists, mut paged, mut right) = (BTreeSet::new(), 0, 0, 0);
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json" || end == "yaml")) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if !text.contains("openapi") && !text.contains("swagger") {
            continue;
        }
        let options = ReadOptions { source: "sample".to_owned(), ..ReadOptions::default() };
        let read = openapi::parse(&text).ok().and_then(|value| openapi::read(&value, &options).ok());
        let Some(api) = read.filter(|api| !api.operations.is_empty()) else { continue };
        let candidates: Vec<_> = api
            .operations
            .iter()
            .filter(|operation| operation.category == Category::Read)
            .filter_map(|operation| {
                let route = api.routes.get(&operation.name).filter(|route| route.method == Method::Get)?;
                let path = list_path(&api, &operation.returns.type_name)?;
                let names = route.parameters.iter().filter(|one| matches!(one.place, Place::Query { .. }));
                let names: Vec<String> = names.map(|one| one.original_name.to_string()).collect();
                Some((operation.clone(), path, is_paged(&names)))
            })
            .collect();
        let mut chosen: Vec<_> = Vec::new();
        for (wants_pages, number) in [(true, MAX_PAGED), (false, 1)] {
            let wanted = candidates.iter().filter(|(_, _, is_paged)| *is_paged == wants_pages);
            chosen.extend(wanted.take(number).cloned());
        }
        if chosen.is_empty() {
            continue;
        }
        // JSON and YAML of one description are one.
        descriptions.insert(file.file_stem().unwrap_or_default().to_owned());
        for (operation, path, is_paged) in chosen {
            let is_from_zero = text.to_lowercase().contains("zero-based");
            let (next_at, has_link) = match &api.routes[&operation.name].pagination {
                Some(Pagination::Cursor { next, .. }) => (Some(next.clone()), false),
                Some(Pagination::Link { .. }) => (None, true),
                _ => (None, false),
            };
            let server = Server::start(move |request, _| {
                let query = query(request);
                let number = |names: &[&str]| named(&query, names).and_then(|text| text.parse::<usize>().ok());
                let size = number(&["pagesize", "perpage", "limit", "max"]).unwrap_or(PAGE_SIZE).min(100);
                let size = if is_paged { size } else { ROWS };
                let page = number(&["page", "pagenumber"]).map(|page| page - usize::from(!is_from_zero && page > 0));
                let cursor = number(&["cursor", "after"]);
                let skip = number(&["offset", "skip"]).or(cursor).or(page.map(|page| page * size)).unwrap_or(0);
                let mut body = match &path {
                    None => json!(rows(skip, size)),
                    Some(name) => json!({ name.as_str(): rows(skip, size) }),
                };
                let next = Some(skip + size).filter(|next| *next < ROWS);
                if let (Some(path), Some(next)) = (&next_at, next)
                    && !path.contains('-')
                {
                    write_at(&mut body, path, json!(next.to_string()));
                }
                let reply = Reply::json(200, &body.to_string());
                let path = request.target.split('?').next().unwrap_or_default();
                match next.filter(|_| has_link) {
                    Some(next) => reply.with("link", &format!("<{path}?after={next}>; rel=\"next\"")),
                    None => reply,
                }
            })
            .await;
            let mut served = Api { operations: vec![operation.clone()], ..api.clone() };
            served.base_url = server.url();
            served.auth.clear();
            served.use_one_server();
            served.use_auth(Vec::new());
            let source = RestSource::new(RestSettings::new("sample", served), |_| None).unwrap();
            let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
            let engine = Engine::builder(surface).dangerously_let_everything_pass().source(Arc::new(source)).build();
            let required = operation.parameters.iter().filter(|parameter| parameter.required);
            let params: Map<String, Value> = required
                .map(|one| (one.name.to_string(), sample(&one.schema, &api.types).unwrap_or_else(|| json!("x"))))
                .collect();
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_right = count(&engine.unwrap(), &operation.name, &Value::Object(params), &name).await;
            eprintln!("{name} {}: {}", operation.name, if is_right { "right" } else { "warned" });
            lists += 1;
            paged += usize::from(is_paged);
            right += usize::from(is_paged && is_right);
        }
    }
    let descriptions = descriptions.len();
    eprintln!(
        "{descriptions} descriptions, {lists} lists, {paged} in pages, {right} of them counted without a warning"
    );
    assert!(descriptions >= MIN_DESCRIPTIONS, "only {descriptions} descriptions have lists");
    assert!(paged >= MIN_PAGED, "only {paged} lists are paged");
    assert!(right > 0);
}
