//! The pinned definitions of an upstream's tools (R-DIS-7a).
//!
//! A tool is pinned when it is first served: the digest of its definition, and the name, category and danger of its
//! operation. Any later difference is a change that a person has to accept. Pins of removed tools are kept, so that
//! removing a tool and adding it again changes nothing. Pure: a book is serialized as one record, which the caller
//! stores.

use std::collections::{BTreeMap, HashMap, HashSet};

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::digest::{DefinitionPart, Pin, differing_parts};
use crate::name::EstablishedNames;

/// State stores accept records of up to 1 MiB. This leaves room for the fields around the tools.
const MAX_BYTES: usize = 1_000_000;

/// Longer tool names are stored as a digest.
const MAX_KEY: usize = 64;

/// The first character of a key that is a digest. No plain name begins with it.
const DIGEST_MARK: char = '#';

/// Number of hexadecimal digits stored of a definition's digest: 128 bits.
const DIGEST_DIGITS: usize = 32;

/// Number of hexadecimal digits stored for each part of it, which only show which part changed.
const PART_DIGITS: usize = 16;

const VERSION: u32 = 1;

/// The pinned definitions of one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinBook {
    version: u32,
    tools: BTreeMap<String, PinnedTool>,
    /// The approximate size of the record in bytes.
    #[serde(skip)]
    bytes: usize,
}

/// One pinned definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// The digest of the complete definition.
    #[serde(rename = "d")]
    digest: String,
    /// The digests of its parts: description, input schema, output schema, annotations.
    #[serde(rename = "p")]
    parts: [String; 4],
    /// The digest of its schemas without descriptions. Records of earlier versions do not have it.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    /// The name of its operation.
    #[serde(rename = "o")]
    pub operation: String,
    /// The category of the operation when the definition was pinned.
    #[serde(rename = "c")]
    pub category: Category,
    /// The danger of the operation when the definition was pinned.
    #[serde(rename = "g")]
    pub danger: Danger,
    /// When it was first pinned, in milliseconds since the epoch. Accepting a change does not reset it.
    #[serde(rename = "t")]
    pub since: u64,
}

/// How a definition compares with the pinned one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinComparison {
    /// It equals the pinned one.
    Same,
    /// It differs from the pinned one in these parts.
    Changed(Vec<DefinitionPart>),
    /// No tool with this name was ever pinned.
    New,
}

/// The record is not a pin book.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record of pinned definitions cannot be read")]
pub struct PinBookReadError;

/// The book has no room for another tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no more tools of this source can be pinned")]
pub struct PinBookFullError;

impl Default for PinBook {
    fn default() -> Self {
        Self { version: VERSION, tools: BTreeMap::new(), bytes: 0 }
    }
}

impl PinBook {
    /// Parses a record.
    pub fn read(record: &[u8]) -> Result<Self, PinBookReadError> {
        let mut book: Self = serde_json::from_slice(record).map_err(|_| PinBookReadError)?;
        if book.version != VERSION {
            return Err(PinBookReadError);
        }
        book.bytes = book.tools.iter().map(|(key, tool)| tool.bytes(key)).sum();
        Ok(book)
    }

    /// Serializes the record.
    pub fn write(&self) -> Vec<u8> {
        // Serializing strings and numbers cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The pinned definition of a tool.
    pub fn get(&self, tool: &str) -> Option<&PinnedTool> {
        self.tools.get(&*key(tool))
    }

    /// Compares a definition with the pinned one.
    pub fn compare(&self, pin: &Pin) -> PinComparison {
        let Some(pinned) = self.get(&pin.tool) else { return PinComparison::New };
        if pinned.digest == digits(&pin.digest, DIGEST_DIGITS) {
            return PinComparison::Same;
        }
        PinComparison::Changed(differing_parts((pinned.parts.clone(), pinned.shape.clone()), (parts(pin), shape(pin))))
    }

    /// Pins a definition. A tool that was pinned before keeps its `since`.
    pub fn pin(
        &mut self,
        pin: &Pin,
        operation: &str,
        category: Category,
        danger: Danger,
        now: u64,
    ) -> Result<(), PinBookFullError> {
        let key = key(&pin.tool).into_owned();
        let before = self.tools.get(&key);
        let pinned = PinnedTool {
            digest: digits(&pin.digest, DIGEST_DIGITS),
            parts: parts(pin),
            shape: shape(pin),
            operation: operation.to_owned(),
            category,
            danger,
            since: before.map_or(now, |before| before.since),
        };
        let bytes = self.bytes.saturating_sub(before.map_or(0, |before| before.bytes(&key))) + pinned.bytes(&key);
        if bytes > MAX_BYTES {
            return Err(PinBookFullError);
        }
        self.bytes = bytes;
        self.tools.insert(key, pinned);
        Ok(())
    }

    /// Merges another book into this one, as far as there is room. If both pin a tool, the newer pin is kept.
    pub fn inherit(&mut self, other: Self) {
        for (key, tool) in other.tools {
            let before = self.tools.get(&key);
            if before.is_some_and(|before| before.since >= tool.since) {
                continue;
            }
            let bytes = self.bytes.saturating_sub(before.map_or(0, |before| before.bytes(&key))) + tool.bytes(&key);
            if bytes <= MAX_BYTES {
                self.bytes = bytes;
                self.tools.insert(key, tool);
            }
        }
    }

    /// Removes pins of tools that are not listed, oldest first, until the book is half full.
    pub fn make_room<'a>(&mut self, listed: impl IntoIterator<Item = &'a str>) {
        let listed: HashSet<_> = listed.into_iter().map(key).collect();
        let mut gone: Vec<(u64, String)> = self
            .tools
            .iter()
            .filter(|(key, _)| !listed.contains(key.as_str()))
            .map(|(key, tool)| (tool.since, key.clone()))
            .collect();
        gone.sort_unstable();
        for (_, key) in gone {
            if self.bytes <= MAX_BYTES / 2 {
                return;
            }
            if let Some(tool) = self.tools.remove(&key) {
                self.bytes = self.bytes.saturating_sub(tool.bytes(&key));
            }
        }
    }

    /// The pinned tools that are not listed, with their names. `None` if only the digest of the name is stored.
    pub fn missing<'a>(
        &self,
        listed: impl IntoIterator<Item = &'a str>,
    ) -> impl Iterator<Item = (Option<&str>, &PinnedTool)> {
        let listed: HashSet<_> = listed.into_iter().map(|tool| key(tool).into_owned()).collect();
        let missing = self.tools.iter().filter(move |(key, _)| !listed.contains(key.as_str()));
        missing.map(|(key, tool)| (Some(key.as_str()).filter(|key| !key.starts_with(DIGEST_MARK)), tool))
    }

    /// The established operation names of listed and unlisted tools. A name that the operator chose for a tool belongs
    /// to that tool, whichever tool had it before.
    pub fn established<'a>(
        &self,
        listed: impl IntoIterator<Item = &'a str>,
        chosen: &HashMap<&str, &str>,
    ) -> EstablishedNames {
        let mut established = EstablishedNames::default();
        self.tools.values().for_each(|tool| established.reserve(&tool.operation));
        let mut taken: HashSet<&str> = chosen.values().copied().collect();
        for tool in listed {
            // Merged books may contain a name twice.
            let pinned = self.get(tool).map(|pinned| &*pinned.operation).filter(|_| !chosen.contains_key(tool));
            if let Some(name) = chosen.get(tool).copied().or(pinned.filter(|name| taken.insert(name))) {
                established.keep(tool, name);
            }
        }
        established
    }
}

impl PinnedTool {
    /// Whether this is the definition that is pinned.
    pub fn matches(&self, pin: &Pin) -> bool {
        self.digest == digits(&pin.digest, DIGEST_DIGITS)
    }

    fn bytes(&self, key: &str) -> usize {
        key.len() + self.operation.len() + DIGEST_DIGITS + 5 * PART_DIGITS + 117
    }
}

/// The parts of a definition, shortened.
fn parts(pin: &Pin) -> [String; 4] {
    pin.parts().map(|digest| digits(digest, PART_DIGITS))
}

fn shape(pin: &Pin) -> Option<String> {
    pin.shape.as_ref().map(|digest| digits(digest, PART_DIGITS))
}

fn digits(digest: &str, count: usize) -> String {
    digest.strip_prefix("sha256:").unwrap_or(digest).chars().take(count).collect()
}

/// The key of a tool: its name if that is short and plain, otherwise a digest.
fn key(tool: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/@".contains(c);
    if tool.len() <= MAX_KEY && tool.chars().all(is_plain) {
        return tool.into();
    }
    let digest: String = hex(&Sha256::digest(tool.as_bytes())).chars().take(DIGEST_DIGITS).collect();
    format!("{DIGEST_MARK}{digest}").into()
}
