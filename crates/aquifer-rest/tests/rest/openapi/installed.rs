//! Descriptions that nobody here wrote, from the folder that AQUIFER_TEST_DESCRIPTIONS names.
//!
//! Every file that is a description is read. What is checked holds for all of them; what was read is printed as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aquifer_protocol::catalog::{Catalog, CatalogError};
use aquifer_protocol::surface::Surface;
use aquifer_rest::Api;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::route::Place;

/// The share of operations, in percent, that must be served over all descriptions.
const MIN_SERVED_PERCENT: usize = 99;

struct Row {
    name: String,
    bytes: usize,
    parsing: Duration,
    reading: Duration,
    api: Api,
}

#[test]
fn installed_descriptions_are_read() {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files, 0);
    files.sort();
    let mut rows = Vec::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let (mut served, mut omitted) = (0, 0);
    for file in files {
        let Some(row) = read_file(&file) else { continue };
        check(&row.name, &row.api);
        served += row.api.operations.len();
        omitted += row.api.omitted.len();
        for one in &row.api.omitted {
            *reasons.entry(kind_of(&one.reason)).or_default() += 1;
        }
        print_row(&row);
        rows.push((row.name, row.parsing + row.reading));
    }
    eprintln!("{} descriptions, {served} operations served, {omitted} omitted", rows.len());
    reasons.iter().for_each(|(reason, count)| eprintln!("{count:6} {reason}"));
    eprintln!("peak memory: {}", peak_memory());
    assert!(!rows.is_empty(), "there is no description in {folder}");
    assert!(served * 100 >= (served + omitted) * MIN_SERVED_PERCENT, "{omitted} operations are omitted");
}

/// Finds files that may be descriptions. A single file may be given instead of a folder.
pub(crate) fn collect(path: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let is_text = path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known));
    if path.is_file() && is_text {
        files.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|_| depth < 12).for_each(|entry| collect(&entry.path(), files, depth + 1));
}

/// Reads a description. `None` if the file is something else.
fn read_file(file: &Path) -> Option<Row> {
    let text = std::fs::read_to_string(file).ok()?;
    if !text.contains("openapi") && !text.contains("swagger") {
        return None;
    }
    let begin = Instant::now();
    let value = openapi::parse(&text).ok()?;
    let parsing = begin.elapsed();
    let is_description =
        ["openapi", "swagger"].iter().any(|key| value.get(key).is_some()) && value.get("paths").is_some();
    if !is_description {
        return None;
    }
    let begin = Instant::now();
    let options = ReadOptions {
        source: "sample".to_owned(),
        url: Some("https://example.com/api.json".to_owned()),
        ..ReadOptions::default()
    };
    let api = openapi::read(&value, &options).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Some(Row { name: file.display().to_string(), bytes: text.len(), parsing, reading: begin.elapsed(), api })
}

/// What holds for every description.
fn check(name: &str, api: &Api) {
    let mut names = BTreeSet::new();
    for operation in &api.operations {
        assert!(names.insert(&operation.name), "{name}: '{}' stands twice", operation.name);
        Catalog::check(operation, &api.types).unwrap_or_else(|error| panic!("{name}: {error}"));
        let route =
            api.routes.get(&operation.name).unwrap_or_else(|| panic!("{name}: '{}' has no route", operation.name));
        assert_eq!(route.parameters.len(), operation.parameters.len(), "{name}: {}", operation.name);
        for (parameter, placed) in operation.parameters.iter().zip(&route.parameters) {
            assert_eq!(parameter.name, placed.name);
            let is_body = matches!(placed.place, Place::Body | Place::BodyField);
            assert!(!is_body || route.body.is_some(), "{name}: {}", operation.name);
            check_references(name, api, &parameter.schema);
        }
        for part in route.path.split('{').skip(1) {
            let original = part.split('}').next().unwrap_or_default();
            let is_placed = |one: &aquifer_rest::route::RouteParameter| {
                &*one.original_name == original && matches!(one.place, Place::Path(_))
            };
            assert!(original.is_empty() || route.parameters.iter().any(is_placed), "{name}: {} {original}", route.path);
        }
        assert!(!operation.description.is_empty() && operation.description.len() < 5_000, "{name}: {}", operation.name);
        assert!(aquifer_protocol::text::is_clean(&operation.description));
    }
    api.types.values().for_each(|schema| check_references(name, api, schema));
    // Types of the protocol may have the same names; the engine renames those of sources.
    match Catalog::build(api.operations.clone(), api.types.clone(), &Surface::default()) {
        Ok(catalog) => assert!(catalog.operations().len() > api.operations.len(), "{name}"),
        Err(CatalogError::DuplicateType(_)) => {}
        Err(error) => panic!("{name}: {error}"),
    }
    assert!(api.omitted.iter().all(|one| !one.reason.is_empty()));
    assert!(api.notes.len() < 50 && api.notes.iter().all(|note| note.len() < 5_000), "{name}: {:?}", api.notes);
}

/// Every type that is referred to exists.
fn check_references(name: &str, api: &Api, schema: &aquifer_protocol::schema::Schema) {
    let mut found = Vec::new();
    schema.references(&mut found);
    for reference in found {
        assert!(api.types.contains_key(&reference), "{name}: there is no type '{reference}'");
    }
}

/// A reason without the names in it.
fn kind_of(reason: &str) -> String {
    let parts: Vec<&str> = reason.split('\'').collect();
    parts.iter().enumerate().map(|(index, part)| if index % 2 == 0 { *part } else { "…" }).collect()
}

fn print_row(row: &Row) {
    let Row { name, bytes, parsing, reading, api } = row;
    let paged = api.routes.values().filter(|route| route.pagination.is_some()).count();
    let parameters: usize = api.operations.iter().map(|operation| operation.parameters.len()).sum();
    let first = api.omitted.first().map(|one| format!("{}: {}", one.route, one.reason)).unwrap_or_default();
    eprintln!(
        "{:6} served {:4} omitted {:5} types {parameters:6} parameters {paged:4} paged {:5} kB parse {:5} ms read {:5} ms | {name} {first}",
        api.operations.len(),
        api.omitted.len(),
        api.types.len(),
        bytes / 1024,
        parsing.as_millis(),
        reading.as_millis(),
    );
}

/// The peak memory of this process, as Linux tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}
