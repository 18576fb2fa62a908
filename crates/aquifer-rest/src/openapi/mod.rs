//! Reads descriptions of APIs: OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0, in JSON or YAML.
//!
//! Performs no I/O: other documents come from the caller ([`ReadOptions::loader`]). Reading is lenient: an operation
//! that cannot be understood is omitted with a reason, and all others are served. A description is untrusted: every
//! loop over references is bounded, and every text that is shown is cleaned.

mod body;
mod body_requirements;
mod danger;
mod digest;
mod document;
mod error;
mod media;
mod names;
mod notes;
mod operation;
mod options;
pub mod overlay;
mod pagination;
mod parameters;
mod parse;
mod query_string;
mod requirements;
mod response;
mod sanitize;
mod schemas;
mod security;
mod servers;
mod swagger;
mod text;
mod type_names;

use std::sync::Arc;

use aquifer_discovery::classify::SharedPrefixes;
use serde_json::Value;

pub use digest::digests;
pub use error::DescriptionError;
pub use options::{Loader, ReadOptions};
pub use parse::{MAX_BYTES, parse};

use crate::api::{Api, OmittedOperation, UnservedRequest};
use crate::route::{Method, Security};
use document::Document;
use names::Candidate;
use notes::Notes;
use operation::{Cache, Entry, OperationReader, route_name};
use options::Selection;
use schemas::Schemas;
use security::SchemeUses;

/// The maximum number of operations.
const MAX_OPERATIONS: usize = 20_000;

/// The maximum length of the title and of the version.
const MAX_TITLE_CHARS: usize = 120;

const METHODS: &[(&str, Method)] = &[
    ("get", Method::Get),
    ("head", Method::Head),
    ("options", Method::Options),
    ("trace", Method::Trace),
    ("query", Method::Query),
    ("post", Method::Post),
    ("put", Method::Put),
    ("patch", Method::Patch),
    ("delete", Method::Delete),
];

/// Reads a description.
pub fn read(description: &Value, options: &ReadOptions<'_>) -> Result<Api, DescriptionError> {
    let selection = Selection::new(options)?;
    match version(description)? {
        Version::OpenApi => Ok(read_openapi(description, options, &selection)),
        Version::Swagger => Ok(read_openapi(&swagger::convert(description), options, &selection)),
    }
}

/// Checks that a document is a supported description.
pub fn check_version(description: &Value) -> Result<(), DescriptionError> {
    version(description).map(|_| ())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    OpenApi,
    Swagger,
}

fn version(description: &Value) -> Result<Version, DescriptionError> {
    let Some(object) = description.as_object() else {
        return Err(DescriptionError::NoDescription("the document is not an object".to_owned()));
    };
    // YAML parses an unquoted version as a number.
    let written = |key: &str| match object.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match (written("openapi"), written("swagger")) {
        (Some(version), _) if version.starts_with('3') => Ok(Version::OpenApi),
        (_, Some(version)) if version.starts_with('2') => Ok(Version::Swagger),
        (Some(version), _) | (None, Some(version)) => Err(DescriptionError::NoDescription(format!(
            "version {} is not supported; 2.0, 3.0, 3.1 and 3.2 are",
            text::quote(&version)
        ))),
        (None, None) => {
            Err(DescriptionError::NoDescription("it has neither 'openapi' nor 'swagger' with a version".to_owned()))
        }
    }
}

fn read_openapi(description: &Value, options: &ReadOptions<'_>, selection: &Selection) -> Api {
    let document = Document::load(description, options);
    let mut api = Api::default();
    let mut notes = Notes::default();
    let info =
        |key: &str| description.pointer(key).and_then(Value::as_str).map(|text| text::line(text, MAX_TITLE_CHARS));
    api.title = info("/info/title").unwrap_or_default();
    api.version = info("/info/version").filter(|version| !version.is_empty());
    match servers::base_url(description.get("servers"), options) {
        Ok(url) => api.base_url = url,
        Err(reason) => notes.add(format!("There is no base URL: {reason}.")),
    }
    let entries = entries(&document, &mut api, &mut notes);
    let mut uses = SchemeUses::new();
    entries.iter().filter_map(|entry| entry.json.get("security")).for_each(|all| security::count(all, &mut uses));
    let mut schemes =
        security::read(&document, options.variable_prefix.as_deref().unwrap_or(&options.source), &api.base_url, &uses);
    let securities = requirements::read(description, &entries, &mut schemes);
    let (auth, security_notes) = schemes.finish();
    api.auth = auth;
    security_notes.into_iter().for_each(|note| notes.add(note));
    let mut schemas = Schemas::new(&document);
    let (base_url, auth) = (api.base_url.clone(), api.auth.clone());
    let mut reader = OperationReader {
        document: &document,
        options,
        schemas: &mut schemas,
        base_url: &base_url,
        auth: &auth,
        shared_prefixes: SharedPrefixes::find(entries.iter().filter_map(Entry::id)),
        cache: Cache::default(),
    };
    read_operations(&mut reader, &entries, securities, selection, &mut api, &mut notes);
    notes.add_unsupported(description, &entries);
    schemas.notes().into_iter().for_each(|note| notes.add(note));
    api.types = schemas.into_types();
    api.notes = notes.into_lines();
    api
}

/// Collects all operations of a description.
fn entries<'d>(document: &'d Document<'_>, api: &mut Api, notes: &mut Notes) -> Vec<Entry<'d>> {
    let mut found = Vec::new();
    let paths = document.root().get("paths").and_then(Value::as_object);
    if paths.is_none() {
        notes.add("The description has no paths.".to_owned());
    }
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(reason) => {
                api.omitted.push(OmittedOperation { route: route_name("*", path), reason });
                api.unserved.push(UnservedRequest { method: None, path: path.as_str().into() });
                continue;
            }
        };
        for (key, method) in METHODS {
            if let Some(json) = item.get(key) {
                found.push(Entry { method: *method, path, item, json });
            }
        }
        for (name, json) in item.get("additionalOperations").and_then(Value::as_object).into_iter().flatten() {
            match METHODS.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)) {
                Some((_, method)) => found.push(Entry { method: *method, path, item, json }),
                None => api.omitted.push(OmittedOperation {
                    route: route_name(name, path),
                    reason: "its method is not supported".to_owned(),
                }),
            }
        }
        if found.len() > MAX_OPERATIONS {
            notes.add(format!("The description has more than {MAX_OPERATIONS} operations; the others are not served."));
            found.truncate(MAX_OPERATIONS);
            break;
        }
    }
    found
}

fn read_operations(
    reader: &mut OperationReader<'_, '_>,
    entries: &[Entry<'_>],
    securities: Vec<Security>,
    selection: &Selection,
    api: &mut Api,
    notes: &mut Notes,
) {
    let candidates: Vec<Candidate<'_>> =
        entries.iter().map(|entry| Candidate { method: entry.method, path: entry.path, id: entry.id() }).collect();
    for ((entry, security), name) in entries.iter().zip(securities).zip(names::assign(&candidates)) {
        let route = entry.route();
        let unserved = || UnservedRequest { method: Some(entry.method), path: entry.path.into() };
        if !selection.admits(&name.name, entry.method.as_str(), entry.path, &entry.tags()) {
            notes.excluded_count += 1;
            api.unserved.push(unserved());
            continue;
        }
        match reader.read(entry, &name) {
            Ok(mut read) => {
                read.route.security = security;
                if let Some(doubt) = read.doubt {
                    notes.add_doubt(&route, &doubt);
                }
                api.described_at.insert(read.operation.name.clone(), entry.key().into());
                api.routes.insert(read.operation.name.clone(), Arc::new(read.route));
                api.operations.push(read.operation);
            }
            Err(reason) => {
                api.omitted.push(OmittedOperation { route, reason });
                api.unserved.push(unserved());
            }
        }
    }
}
