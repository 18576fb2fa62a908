//! Third-party descriptions from the folder that AQUIFER_TEST_DESCRIPTIONS names.
//!
//! Reads every file that is a description. The checks hold for all of them; the results are printed as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aquifer_protocol::catalog::{Catalog, CatalogError};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::requirement::{Needs, Requirement};
use aquifer_protocol::surface::Surface;
use aquifer_rest::Api;
use aquifer_rest::route::Place;
use serde_json::Map;

use super::survey::{Description, collect, kind_of, read_file};

/// The minimum percentage of operations that must be served over all descriptions.
const MIN_SERVED_PERCENT: usize = 99;

#[test]
fn installed_descriptions_are_read() {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files, 0);
    files.sort();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let (mut count, mut served, mut omitted) = (0, 0, 0);
    for file in files {
        let Some(read) = read_file(&file) else { continue };
        let name = file.display().to_string();
        let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&name, &read.api);
        served += read.api.operations.len();
        omitted += read.api.omitted.len();
        for omitted in &read.api.omitted {
            *reasons.entry(kind_of(&omitted.reason)).or_default() += 1;
        }
        print_row(&name, &read);
        count += 1;
    }
    eprintln!("{count} descriptions, {served} operations served, {omitted} omitted");
    reasons.iter().for_each(|(reason, count)| eprintln!("{count:6} {reason}"));
    eprintln!("peak memory: {}", peak_memory());
    assert!(count > 0, "there is no description in {folder}");
    assert!(served * 100 >= (served + omitted) * MIN_SERVED_PERCENT, "{omitted} operations are omitted");
}

/// Checks that hold for every description.
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
            let is_placed = |parameter: &aquifer_rest::route::RouteParameter| {
                &*parameter.original_name == original && matches!(parameter.place, Place::Path(_))
            };
            assert!(original.is_empty() || route.parameters.iter().any(is_placed), "{name}: {} {original}", route.path);
        }
        operation.requirements.iter().for_each(|requirement| check_requirement(name, operation, requirement));
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
    assert!(api.omitted.iter().all(|omitted| !omitted.reason.is_empty()));
    assert!(api.notes.len() < 50 && api.notes.iter().all(|note| note.len() < 5_000), "{name}: {:?}", api.notes);
}

/// Checks that what is required together can be given, and is missing from an empty call.
fn check_requirement(name: &str, operation: &Operation, requirement: &Requirement) {
    let place = format!("{name}: {}: {}", operation.name, requirement.sentence());
    assert!(!requirement.is_met_by_members(&Map::new()), "{place}");
    let needed: Vec<&str> = match (&requirement.within, &requirement.needs) {
        (Some(within), _) => vec![within],
        (None, Needs::OneOf(sets)) => sets.iter().flatten().map(|one| &**one).collect(),
        (None, Needs::AtLeast { names, .. }) => names.iter().map(|one| &**one).collect(),
    };
    assert!(needed.iter().all(|one| operation.parameter(one).is_some()), "{place}");
    assert!(place.len() < 2_000 && aquifer_protocol::text::is_clean(&requirement.sentence()), "{place}");
    eprintln!("{place}");
}

/// Checks that every referenced type exists.
fn check_references(name: &str, api: &Api, schema: &aquifer_protocol::schema::Schema) {
    let mut references = Vec::new();
    schema.references(&mut references);
    for reference in references {
        assert!(api.types.contains_key(&reference), "{name}: there is no type '{reference}'");
    }
}

fn print_row(name: &str, read: &Description) {
    let Description { bytes, parsing, reading, api } = read;
    let paged = api.routes.values().filter(|route| route.pagination.is_some()).count();
    let parameters: usize = api.operations.iter().map(|operation| operation.parameters.len()).sum();
    let first = api.omitted.first().map(|omitted| format!("{}: {}", omitted.route, omitted.reason)).unwrap_or_default();
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

/// The peak memory of this process, as Linux reports it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}
