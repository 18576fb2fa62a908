//! Review and acceptance of quarantined definitions (R-DIS-7a).
//!
//! A reviewer accepts the definition that was shown, by its digest. The server is asked again immediately before the
//! pin is written, and shown digests are stored: a definition that changes between review and acceptance is not
//! accepted.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aquifer_discovery::digest::{DefinitionPart, Pin};
use aquifer_discovery::tool::Tool;
use aquifer_discovery::{Bundle, PinBook};
use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{StoreError, milliseconds};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;

use super::accepted_definitions;
use super::pins::{PinLedger, PinStore, WriteOutcome};
use crate::catalog::capture::{Capture, Origin};
use crate::catalog::draft::SnapshotDraft;
use crate::catalog::quarantine::QuarantineReason;
use crate::client::interrogation::interrogate;
use crate::sanitize::Sanitizer;
use crate::settings::{QuarantinePolicy, Settings};

/// How long shown digests are stored.
const SHOWN_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Tools of one upstream whose shown digests are stored.
const MAX_SHOWN_TOOLS: usize = 4_000;

/// Maximum number of attempts to write pins, because other processes write them as well.
const MAX_WRITE_ATTEMPTS: u32 = 5;

/// Why definitions could not be reviewed or accepted.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The server is unavailable.
    #[error("{}", .0.message())]
    Unreachable(Failure),
    /// The state store failed.
    #[error("{0}")]
    Store(String),
    /// A definition differs from the one that was shown.
    #[error("the definition of '{tool}' changed after it was shown. Look at it again before accepting it")]
    Changed {
        /// The tool.
        tool: String,
    },
    /// Accepting needs a store that the serving process reads as well.
    #[error(
        "with state.store = \"memory\" accepted definitions exist only in the serving process: restart it to accept what its \
         servers say now"
    )]
    NotShared,
}

impl From<StoreError> for ReviewError {
    fn from(error: StoreError) -> Self {
        ReviewError::Store(error.to_string())
    }
}

/// A definition that waits for acceptance.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The exact name of the tool.
    pub tool: String,
    /// The name of its operation.
    pub operation: String,
    /// The parts that changed. Empty for a new tool.
    pub changed: Vec<DefinitionPart>,
    /// The accepted definition, if it is still known in full.
    pub accepted: Option<Tool>,
    /// The current definition.
    pub current: Tool,
    /// Its digest.
    pub digest: String,
    /// Whether the last review showed a different definition.
    pub differs_from_shown: bool,
    /// Whether the last review showed exactly this definition.
    pub was_shown: bool,
}

/// The result of examining one upstream.
pub struct Examination {
    /// What the server reports, without overrides.
    pub bundle: Bundle,
    /// The quarantined definitions.
    pub findings: Vec<Finding>,
    /// Pinned tools that the server no longer lists.
    pub missing: usize,
    /// Notes for the operator.
    pub notes: Vec<String>,
    settings: Settings,
    pin_store: PinStore,
    clock: SharedClock,
    capture: Capture,
}

/// Asks a server for its definitions and compares them with the pins. Nothing is pinned.
pub async fn examine(settings: Settings, pin_store: PinStore, clock: SharedClock) -> Result<Examination, ReviewError> {
    let interrogation = interrogate(&settings).await.map_err(ReviewError::Unreachable)?;
    let capture = Capture::new(interrogation, Origin::Server, clock.now());
    let found = PinLedger::new(pin_store.clone(), &settings).find(&settings).await?;
    // An unreadable record counts as empty.
    let (book, is_unreadable) = match found.map(|found| found.book) {
        None => (None, false),
        Some(Ok(book)) => (Some(book), false),
        Some(Err(_)) => (Some(PinBook::default()), true),
    };
    let mut effective_settings = settings.clone();
    if is_unreadable {
        effective_settings.quarantine = QuarantinePolicy::New;
    }
    let draft = SnapshotDraft::new(&effective_settings, &Sanitizer::new(&settings), &capture, book.as_ref());
    let judgement = draft.evaluate(Ok(book.as_ref()), false, milliseconds(clock.now()));
    let accepted = book.as_ref().map(|book| accepted_definitions::read(&settings, book)).unwrap_or_default();
    let reviewed = reviewed_with_adapter(&settings);
    let shown = load_shown(&pin_store, &settings).await;
    let operations: HashMap<&str, &Operation> =
        draft.operations().iter().filter_map(|one| Some((one.origin.backing.tool()?, one))).collect();
    let pins: HashMap<&str, &Pin> = capture.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
    let mut findings: Vec<Finding> = capture
        .listing
        .tools
        .iter()
        .filter_map(|tool| {
            let reason = judgement.quarantined.get(&tool.name)?;
            let digest = &pins.get(tool.name.as_str())?.digest;
            let changed = match reason {
                QuarantineReason::Changed(parts) => parts.clone(),
                _ => Vec::new(),
            };
            let before = accepted.get(&tool.name).or_else(|| reviewed.get(&tool.name)).cloned();
            Some(Finding {
                tool: tool.name.clone(),
                operation: operations.get(tool.name.as_str())?.name.to_string(),
                changed,
                accepted: before,
                current: tool.clone(),
                was_shown: shown.get(&tool.name) == Some(digest),
                differs_from_shown: shown.get(&tool.name).is_some_and(|seen| seen != digest),
                digest: digest.clone(),
            })
        })
        .collect();
    findings.sort_by(|one, other| one.tool.cmp(&other.tool));
    let missing = book.as_ref().map_or(0, |book| book.missing(pins.keys().copied()).count());
    let notes = draft.notes();
    let bundle = capture.bundle(&Settings { overrides: None, ..settings.clone() }, book.as_ref());
    drop(draft);
    Ok(Examination { bundle, findings, missing, notes, settings, pin_store, clock, capture })
}

impl Examination {
    /// Whether shown digests can be stored.
    pub fn is_remembered(&self) -> bool {
        self.pin_store.outlives_process()
    }

    /// Stores what was shown, so that only this can be accepted later.
    pub async fn remember_shown(&self) -> Result<(), ReviewError> {
        if self.findings.is_empty() || !self.is_remembered() {
            return Ok(());
        }
        // Earlier digests are kept. Otherwise a server could erase them by changing its definitions back for one
        // review.
        let mut shown = load_shown(&self.pin_store, &self.settings).await;
        if shown.len() > MAX_SHOWN_TOOLS {
            shown.clear();
        }
        shown.extend(self.findings.iter().map(|found| (found.tool.clone(), found.digest.clone())));
        let value = serde_json::to_vec(&shown).unwrap_or_default();
        let key = shown_key(&self.settings);
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let version = self.pin_store.store().get(&key).await?.map(|record| record.version);
            if self.pin_store.store().compare_and_set(&key, version, value.clone(), SHOWN_TTL).await? {
                break;
            }
        }
        Ok(())
    }

    /// Accepts the definitions of these tools, exactly as they were found.
    pub async fn accept(&self, tools: &[&str]) -> Result<(), ReviewError> {
        if !self.pin_store.outlives_process() {
            return Err(ReviewError::NotShared);
        }
        let accepted: Vec<&Finding> =
            self.findings.iter().filter(|found| tools.contains(&found.tool.as_str())).collect();
        let now = interrogate(&self.settings).await.map_err(ReviewError::Unreachable)?;
        let now = Capture::new(now, Origin::Server, self.clock.now());
        let live: HashMap<&str, &Pin> = now.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
        for found in &accepted {
            if live.get(found.tool.as_str()).is_none_or(|pin| pin.digest != found.digest) {
                return Err(ReviewError::Changed { tool: found.tool.clone() });
            }
        }
        let ledger = PinLedger::new(self.pin_store.clone(), &self.settings);
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let found = ledger.find(&self.settings).await?;
            let version = found.as_ref().and_then(|found| found.version);
            let mut book = found.and_then(|found| found.book.ok()).unwrap_or_default();
            self.pin(&accepted, &mut book)?;
            match ledger.write(&book, version).await {
                WriteOutcome::Done => {
                    accepted_definitions::save(&self.settings, &book, self.capture.listing.tools.iter());
                    return Ok(());
                }
                WriteOutcome::Conflict => {}
                WriteOutcome::Failed => return Err(ReviewError::Store("the state store refused the write".to_owned())),
            }
        }
        Err(ReviewError::Store("other processes keep changing the pins of this source".to_owned()))
    }

    fn pin(&self, accepted: &[&Finding], book: &mut PinBook) -> Result<(), ReviewError> {
        let draft = SnapshotDraft::new(&self.settings, &Sanitizer::new(&self.settings), &self.capture, Some(book));
        let operations: HashMap<&str, &Operation> =
            draft.operations().iter().filter_map(|one| Some((one.origin.backing.tool()?, one))).collect();
        let pins: HashMap<&str, &Pin> = self.capture.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
        let now = milliseconds(self.clock.now());
        for found in accepted {
            let tool = found.tool.as_str();
            let (Some(pin), Some(made)) = (pins.get(tool), operations.get(tool)) else { continue };
            if book.pin(pin, &made.name, made.category, made.safety.danger, now).is_ok() {
                continue;
            }
            book.make_room(pins.keys().copied());
            book.pin(pin, &made.name, made.category, made.safety.danger, now)
                .map_err(|error| ReviewError::Store(error.to_string()))?;
        }
        Ok(())
    }
}

/// The definitions that an adapter file was reviewed with, as far as it contains them.
fn reviewed_with_adapter(settings: &Settings) -> HashMap<String, Tool> {
    let operations = settings.adapter.iter().flat_map(|adapter| &adapter.operations);
    operations.filter_map(|operation| operation.reviewed_tool()).map(|tool| (tool.name.clone(), tool)).collect()
}

fn shown_key(settings: &Settings) -> String {
    PinLedger::key(settings).replacen("pins/", "review/", 1)
}

/// The digests that earlier reviews showed, by tool.
async fn load_shown(pin_store: &PinStore, settings: &Settings) -> BTreeMap<String, String> {
    let record = pin_store.store().get(&shown_key(settings)).await.ok().flatten();
    record.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default()
}
