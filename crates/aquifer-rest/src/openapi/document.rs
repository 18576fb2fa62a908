//! A description and the other documents that it refers to. Parsed values borrow from here.
//!
//! References are followed a limited number of times, so cycles are detected and reported.

use std::collections::{BTreeMap, BTreeSet};

use aquifer_protocol::percent;
use reqwest::Url;
use serde_json::Value;

use super::options::{Loader, ReadOptions};
use super::text::quote;

/// The maximum number of other documents.
const MAX_DOCUMENTS: usize = 256;

/// The maximum depth at which references to other documents are searched for.
const MAX_DEPTH: usize = 256;

/// The maximum length of a chain of references.
const MAX_CHAIN: usize = 32;

/// A description and the documents it refers to.
pub(super) struct Document<'a> {
    root: &'a Value,
    url: Option<&'a str>,
    others: BTreeMap<String, Value>,
}

impl<'a> Document<'a> {
    /// Loads all documents that the description refers to.
    pub(super) fn load(root: &'a Value, options: &'a ReadOptions<'_>) -> Self {
        let mut document = Self { root, url: options.url.as_deref(), others: BTreeMap::new() };
        if let Some(loader) = options.loader {
            document.load_others(loader);
        }
        document
    }

    fn load_others(&mut self, loader: Loader<'_>) {
        let mut waiting = BTreeSet::new();
        collect_urls(self.root, self.url, &mut waiting, 0);
        let mut tried = BTreeSet::new();
        while let Some(url) = waiting.pop_first() {
            if tried.len() >= MAX_DOCUMENTS || Some(url.as_str()) == self.url || !tried.insert(url.clone()) {
                continue;
            }
            let Some(mut value) = loader(&url) else { continue };
            qualify(&mut value, &url, 0);
            collect_urls(&value, None, &mut waiting, 0);
            self.others.insert(url, value);
        }
    }

    /// The description itself.
    pub(super) fn root(&self) -> &Value {
        self.root
    }

    /// The target of a reference, or the reason why there is none.
    pub(super) fn find(&self, reference: &str) -> Result<&Value, String> {
        let (place, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let document = match place {
            "" => self.root,
            place => {
                let url = resolve_url(self.url, place);
                match self.others.get(&url) {
                    Some(other) => other,
                    None if Some(url.as_str()) == self.url => self.root,
                    None => {
                        return Err(format!("it refers to another document, {}, which was not loaded", quote(place)));
                    }
                }
            }
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("the reference {} is no JSON pointer", quote(reference)));
        }
        let found = document.pointer(pointer).or_else(|| document.pointer(&percent::decode(pointer)?));
        found.ok_or_else(|| format!("the reference {} leads nowhere", quote(reference)))
    }

    /// The value itself, or the end of its chain of references.
    pub(super) fn resolve<'d>(&'d self, value: &'d Value) -> Result<&'d Value, String> {
        let mut value = value;
        for _ in 0..MAX_CHAIN {
            match value.get("$ref").and_then(Value::as_str) {
                Some(reference) => value = self.find(reference)?,
                None => return Ok(value),
            }
        }
        Err("its references run in a circle".to_owned())
    }
}

/// The absolute URL of a reference, as far as the base is known.
fn resolve_url(base: Option<&str>, place: &str) -> String {
    let base = base.and_then(|base| Url::parse(base).ok());
    match base.and_then(|base| base.join(place).ok()) {
        Some(url) => url.to_string(),
        None => place.to_owned(),
    }
}

/// The documents that a value refers to.
fn collect_urls(value: &Value, base: Option<&str>, found: &mut BTreeSet<String>, depth: usize) {
    if depth > MAX_DEPTH || found.len() > MAX_DOCUMENTS {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_urls(item, base, found, depth + 1)),
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let place = reference.split('#').next().unwrap_or_default();
                if !place.is_empty() {
                    found.insert(resolve_url(base, place));
                }
            }
            members.values().for_each(|member| collect_urls(member, base, found, depth + 1));
        }
        _ => {}
    }
}

/// Makes the references of another document absolute, because they are resolved from anywhere.
fn qualify(value: &mut Value, url: &str, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| qualify(item, url, depth + 1)),
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                let (place, pointer) = reference.split_once('#').unwrap_or((reference, ""));
                let place = if place.is_empty() { url.to_owned() } else { resolve_url(Some(url), place) };
                *reference = format!("{place}#{pointer}");
            }
            members.values_mut().for_each(|member| qualify(member, url, depth + 1));
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(url: Option<&str>) -> ReadOptions<'static> {
        ReadOptions { url: url.map(str::to_owned), ..ReadOptions::default() }
    }

    #[test]
    fn pointers_may_be_escaped() {
        let root = json!({ "paths": { "/a/{id}": { "x~y": 1 } } });
        let options = options(None);
        let document = Document::load(&root, &options);
        for reference in ["#/paths/~1a~1{id}/x~0y", "#/paths/~1a~1%7Bid%7D/x~0y"] {
            assert_eq!(document.find(reference).unwrap(), &json!(1), "{reference}");
        }
        assert!(document.find("#/paths/~1b").unwrap_err().contains("leads nowhere"));
        assert!(document.find("#anchor").unwrap_err().contains("no JSON pointer"));
        assert!(document.find("other.yaml#/a").unwrap_err().contains("another document"));
    }

    #[test]
    fn circles_end() {
        let root = json!({ "a": { "$ref": "#/b" }, "b": { "$ref": "#/a" }, "c": { "$ref": "#/c" }, "d": { "$ref": "#/e" }, "e": 5 });
        let options = options(None);
        let document = Document::load(&root, &options);
        for name in ["a", "c"] {
            assert!(document.resolve(&root[name]).unwrap_err().contains("circle"));
        }
        assert_eq!(document.resolve(&root["d"]).unwrap(), &json!(5));
    }

    #[test]
    fn other_documents_are_loaded_once_and_may_refer_back() {
        let root = json!({ "a": { "$ref": "schemas/pet.yaml#/Pet" }, "b": { "found": true } });
        let load = |url: &str| match url {
            "https://example.com/v1/schemas/pet.yaml" => {
                Some(json!({ "Pet": { "$ref": "#/Dog" }, "Dog": { "$ref": "../api.yaml#/b" } }))
            }
            _ => None,
        };
        let options = ReadOptions { loader: Some(&load), ..options(Some("https://example.com/v1/api.yaml")) };
        let document = Document::load(&root, &options);
        assert_eq!(document.resolve(&root["a"]).unwrap(), &json!({ "found": true }));
    }
}
