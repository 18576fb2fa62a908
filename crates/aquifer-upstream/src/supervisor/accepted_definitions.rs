//! The full text of accepted definitions, which a reviewer compares changes with.
//!
//! It is stored beside the cached catalog. The pin in the state store decides; a definition that does not match its pin
//! is not displayed. If the store has lost its pins, they are derived from this file: a source whose definitions were
//! accepted before is not new.

use std::collections::BTreeMap;
use std::path::PathBuf;

use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_discovery::digest::pin;
use aquifer_discovery::pins::PinBookReadError;
use aquifer_discovery::tool::Tool;
use aquifer_discovery::{OmittedTools, PinBook};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::capture::{Capture, Origin};
use crate::catalog::draft::SnapshotDraft;
use crate::client::interrogation::Interrogation;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;
use crate::state_file;

const FORMAT_VERSION: u32 = 1;

const FILE_EXTENSION: &str = "accepted.json";

#[derive(Serialize, Deserialize)]
struct AcceptedFile {
    version: u32,
    tools: BTreeMap<String, Map<String, Value>>,
}

/// The stored definitions that match their pins.
pub(crate) fn read(settings: &Settings, book: &PinBook) -> BTreeMap<String, Tool> {
    // Earlier versions named the file after the settings.
    let paths = path(settings).into_iter().chain(state_file::catalog_path(settings, FILE_EXTENSION));
    let known = paths.filter_map(|path| state_file::read_bounded(&path)).find_map(|text| parse(&text));
    let verified = known.unwrap_or_default().into_values().filter_map(|definition| {
        let tool = Tool::from_value(Value::Object(definition)).ok()?;
        book.get(&tool.name).filter(|pinned| pinned.matches(&pin(&tool)))?;
        Some((tool.name.clone(), tool))
    });
    verified.collect()
}

/// Adds those of these definitions that are pinned to the stored ones. The file is written only if it changes.
pub(crate) fn save<'a>(settings: &Settings, book: &PinBook, tools: impl Iterator<Item = &'a Tool>) {
    let Some(path) = path(settings) else { return };
    let mut saved = read(settings, book);
    let mut is_changed = false;
    for tool in tools {
        let is_pinned = || book.get(&tool.name).is_some_and(|pinned| pinned.matches(&pin(tool)));
        if !saved.contains_key(&tool.name) && is_pinned() {
            saved.insert(tool.name.clone(), tool.clone());
            is_changed = true;
        }
    }
    if !is_changed {
        return;
    }
    let file = AcceptedFile {
        version: FORMAT_VERSION,
        tools: saved.into_iter().map(|(name, tool)| (name, tool.definition)).collect(),
    };
    if let Err(cause) =
        serde_json::to_vec(&file).map_err(Into::into).and_then(|text| state_file::write_atomically(&path, &text))
    {
        tracing::debug!(source = settings.name, %cause, "the accepted definitions cannot be stored");
    }
}

/// The pins of the stored definitions, for a source whose pins the store does not have. `None` if there is no file, so
/// that the source is new.
pub(crate) fn recover(settings: &Settings) -> Option<Result<PinBook, PinBookReadError>> {
    let path = path(settings).filter(|path| path.exists())?;
    let definitions = state_file::read_bounded(&path).and_then(|text| parse(&text));
    Some(definitions.and_then(|definitions| pin_all(settings, definitions)).ok_or(PinBookReadError))
}

/// Pins definitions under the names, categories and dangers that they had.
fn pin_all(settings: &Settings, definitions: BTreeMap<String, Map<String, Value>>) -> Option<PinBook> {
    let tools: Vec<Map<String, Value>> = definitions.into_values().collect();
    let interrogation = Interrogation {
        capture: RawCapture::from_pages(&[&json!({ "tools": tools }).to_string()]).ok()?,
        server: ServerIdentity::default(),
        protocol: String::new(),
        instructions: None,
        capabilities: Value::Null,
        left_out: OmittedTools::default(),
    };
    let capture = Capture::new(interrogation, Origin::Cache, Timestamp::default());
    let draft = SnapshotDraft::new(settings, &Sanitizer::new(settings), &capture, None);
    let mut book = PinBook::default();
    for pin in &capture.pins {
        let operation = draft.operations().iter().find(|one| one.origin.backing.tool() == Some(pin.tool.as_str()))?;
        book.pin(pin, &operation.name, operation.category, operation.safety.danger, 0).ok()?;
    }
    Some(book)
}
fn parse(text: &str) -> Option<BTreeMap<String, Map<String, Value>>> {
    let file: AcceptedFile = serde_json::from_str(text).ok()?;
    (file.version == FORMAT_VERSION).then_some(file.tools)
}

fn path(settings: &Settings) -> Option<PathBuf> {
    state_file::identity_path(settings, FILE_EXTENSION)
}
