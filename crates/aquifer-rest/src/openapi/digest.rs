//! Digests of definitions. The digest of an operation includes everything that the operation refers to, so a change of
//! a shared schema changes the digest of every operation that uses it.

use std::collections::{BTreeMap, HashMap};

use aquifer_protocol::canonical_json;
use aquifer_protocol::hex::push_hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::document::Document;
use super::notes::Notes;
use super::options::ReadOptions;
use crate::api::Api;

/// The maximum number of references that are followed for all operations. Beyond it, everything that is shared has a
/// single digest.
const MAX_STEPS: usize = 20_000_000;

/// The maximum depth at which references are searched for.
const MAX_DEPTH: usize = 256;

type Sha = [u8; 32];

/// The digest of each operation's definition, by its location in the description: `GET /pets/{petId}`.
pub fn digests(description: &Value, options: &ReadOptions<'_>) -> BTreeMap<String, String> {
    let document = Document::load(description, options);
    let entries = super::entries(&document, &mut Api::default(), &mut Notes::default());
    let mut references = References::new(&document);
    let mut digests = BTreeMap::new();
    for entry in &entries {
        let mut digest = Sha256::new();
        let mut parts = vec![entry.json];
        // The parts that operations inherit from their path, and from the root of a Swagger description.
        let inherited = ["parameters", "servers"].into_iter().filter_map(|key| entry.item.get(key));
        parts.extend(inherited);
        parts.extend(["consumes", "produces"].into_iter().filter_map(|key| description.get(key)));
        for part in &parts {
            digest.update(sha(part));
        }
        references.add_reachable(&parts, &mut digest);
        let mut written = "sha256:".to_owned();
        push_hex(&mut written, &digest.finalize());
        digests.insert(entry.key(), written);
    }
    digests
}

fn sha(value: &Value) -> Sha {
    let mut text = Vec::new();
    canonical_json::write(value, &mut text);
    Sha256::digest(&text).into()
}

/// The target of a reference.
struct Target<'d> {
    sha: Sha,
    references: Vec<&'d str>,
}

/// The targets of references, each read once.
struct References<'d> {
    document: &'d Document<'d>,
    /// By the address of the value, because several references may have the same target.
    targets: HashMap<usize, Target<'d>>,
    steps_left: usize,
    /// The digest of the whole description, if there are too many references.
    whole: Option<Sha>,
}

impl<'d> References<'d> {
    fn new(document: &'d Document<'d>) -> Self {
        Self { document, targets: HashMap::new(), steps_left: MAX_STEPS, whole: None }
    }

    /// Adds everything reachable to a digest, in the order of the references.
    fn add_reachable(&mut self, parts: &[&'d Value], digest: &mut Sha256) {
        let mut waiting = Vec::new();
        parts.iter().for_each(|part| collect(part, &mut waiting, 0));
        let mut reached: BTreeMap<&'d str, Option<Sha>> = BTreeMap::new();
        while let Some(reference) = waiting.pop() {
            if reached.contains_key(reference) {
                continue;
            }
            let Some(left) = self.steps_left.checked_sub(1) else {
                let whole = *self.whole.get_or_insert_with(|| sha(self.document.root()));
                digest.update(whole);
                return;
            };
            let document = self.document;
            let target = document.find(reference).ok().map(|value| {
                self.targets.entry(std::ptr::from_ref(value).addr()).or_insert_with(|| {
                    let mut references = Vec::new();
                    collect(value, &mut references, 0);
                    references.sort_unstable();
                    references.dedup();
                    Target { sha: sha(value), references }
                })
            });
            let count = target.as_ref().map_or(0, |target| target.references.len());
            self.steps_left = left.saturating_sub(count);
            waiting.extend(target.iter().flat_map(|target| target.references.iter().copied()));
            reached.insert(reference, target.map(|target| target.sha));
        }
        for (reference, sha) in reached {
            digest.update(reference.as_bytes());
            digest.update([0]);
            digest.update(sha.unwrap_or_default());
        }
    }
}

fn collect<'d>(value: &'d Value, found: &mut Vec<&'d str>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found, depth + 1)),
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect(member, found, depth + 1));
        }
        _ => {}
    }
}
