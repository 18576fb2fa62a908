//! Turns a capture into a snapshot: builds the operations of every tool and compares their definitions with the pins.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aquifer_discovery::adapter::KnownEvidence;
use aquifer_discovery::classify::OwnPrefix;
use aquifer_discovery::digest::Pin;
use aquifer_discovery::text::presentable;
use aquifer_discovery::tool::Tool as Definition;
use aquifer_discovery::{Offer, PinBook};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation};

use super::capture::{Capture, Origin, run_blocking};
use super::quarantine::{Candidate, Judgement, QuarantineReason};
use super::snapshot::{CatalogSnapshot, QuarantinedOperation, apply_overrides};
use crate::client::aql;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// Maximum number of characters shown of a server's version.
const MAX_VERSION_CHARS: usize = 64;

/// The operations of a capture before quarantine is decided.
pub(crate) struct SnapshotDraft<'a> {
    settings: &'a Settings,
    capture: &'a Capture,
    offer: Offer,
    /// The server's version, sanitized.
    version: Option<Arc<str>>,
}

impl<'a> SnapshotDraft<'a> {
    /// Builds the operations of every tool, accepted or not. Nothing is shown to callers yet.
    pub(crate) fn new(
        settings: &'a Settings,
        sanitizer: &Sanitizer,
        capture: &'a Capture,
        book: Option<&PinBook>,
    ) -> Self {
        run_blocking(|| Self::build(settings, sanitizer, capture, book))
    }

    fn build(settings: &'a Settings, sanitizer: &Sanitizer, capture: &'a Capture, book: Option<&PinBook>) -> Self {
        let tools = &capture.listing.tools;
        let mut offer = match &settings.adapter {
            Some(adapter) => {
                let live: HashMap<&str, &Definition> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
                let decisions = settings.overrides.as_ref().map(|overrides| overrides.by_tool());
                let server_name = capture.interrogation.server.name.as_deref();
                let names = tools.iter().map(|tool| tool.name.as_str());
                let prefix = OwnPrefix::of_server(&settings.name, server_name, names);
                let known = KnownEvidence {
                    live: Some(&live),
                    prefix: Some(&prefix),
                    decisions: decisions.as_ref(),
                    is_settled: settings.is_adapter_settled,
                };
                Offer::from_adapter_with_evidence(adapter, &settings.name, &known)
            }
            None => Offer::from_listing(&capture.bundle(settings, book), tools, &settings.name, |_| true),
        };
        apply_overrides(settings, &mut offer);
        offer.sanitize(&|text| sanitizer.without_secrets(text.to_owned()));
        let version = capture.interrogation.server.version.as_deref();
        let shown =
            |version: &str| sanitizer.without_secrets(presentable(version)).chars().take(MAX_VERSION_CHARS).collect();
        let version = version.map(|version| Arc::from(String::into_boxed_str(shown(version))));
        Self { settings, capture, offer, version }
    }

    /// All operations, accepted or not.
    pub(crate) fn operations(&self) -> &[Operation] {
        &self.offer.operations
    }

    /// Notes for the operator.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = self.capture.interrogation.left_out.message(&self.settings.limits);
        let unusable = self.capture.listing.unusable();
        let unusable = (unusable > 0).then(|| format!("Invalid entries in its tool list: {unusable}"));
        self.offer.ignored.iter().cloned().chain(left_out).chain(unusable).collect()
    }

    /// Compares the definitions behind the operations with the pins.
    pub(crate) fn evaluate(&self, book: Result<Option<&PinBook>, ()>, may_pin: bool, now: u64) -> Judgement {
        let pins: HashMap<&str, &Pin> = self.capture.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
        let reviewed: HashMap<&str, &Pin> = self
            .settings
            .adapter
            .iter()
            .flat_map(|adapter| &adapter.operations)
            .filter_map(|operation| Some((operation.name.as_str(), operation.pin.as_ref()?)))
            .collect();
        let candidates: Vec<Candidate<'_>> = self
            .offer
            .operations
            .iter()
            .filter_map(|operation| {
                Some(Candidate {
                    pin: pins.get(operation.origin.backing.tool()?).copied()?,
                    operation: &operation.name,
                    category: operation.category,
                    danger: operation.safety.danger,
                    reviewed: reviewed.get(&*operation.name).copied(),
                })
            })
            .collect();
        let may_pin = may_pin && self.capture.origin == Origin::Server;
        Judgement::evaluate(&candidates, book, self.settings.quarantine, may_pin, now)
    }

    /// Builds the snapshot. Accepted operations are complete; quarantined ones have only a name. A tool that an adapter
    /// names and the server does not list counts as removed.
    pub(crate) fn finish(self, judgement: &Judgement, book: Option<&PinBook>) -> CatalogSnapshot {
        let notes = self.notes();
        let Self { settings, capture, mut offer, version } = self;
        let listed: HashMap<&str, &Pin> = capture.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
        let is_listed = |one: &Operation| one.origin.backing.tool().is_some_and(|tool| listed.contains_key(tool));
        let (present, absent): (Vec<Operation>, Vec<Operation>) = offer.operations.into_iter().partition(is_listed);
        offer.operations = present;
        let mut removed: HashMap<Arc<str>, Operation> = HashMap::new();
        for (tool, pinned) in book.into_iter().flat_map(|book| book.missing(listed.keys().copied())) {
            // Without the name of the tool, policy could not decide whether to conceal the operation.
            let Some(tool) = tool else { continue };
            let backing = Backing::Tool(tool.into());
            let operation = removed_operation(&pinned.operation, pinned.category, pinned.danger, backing);
            removed.insert(operation.name.clone(), operation);
        }
        for named in absent {
            let stub = removed_operation(&named.name, named.category, named.safety.danger, named.origin.backing);
            removed.insert(named.name, stub);
        }
        // If another tool now has the name, the name belongs to that tool.
        offer.operations.iter().for_each(|one| drop(removed.remove(&one.name)));
        let mut quarantined = BTreeMap::new();
        for operation in &mut offer.operations {
            let Backing::Tool(tool) = &operation.origin.backing else { continue };
            operation.origin.established_at = judgement.since.get(&**tool).copied();
            operation.origin.is_established = operation.origin.established_at.is_some();
            if let Some(reason) = judgement.quarantined.get(&**tool) {
                let accepted = book.and_then(|book| book.get(tool));
                let withheld = QuarantinedOperation {
                    tool: tool.clone(),
                    digest: listed.get(&**tool).map(|pin| pin.digest.clone()).unwrap_or_default(),
                    reason: reason.clone(),
                };
                let category = accepted.map_or(operation.category, |accepted| accepted.category);
                let danger =
                    accepted.map_or(operation.safety.danger, |accepted| accepted.danger.max(operation.safety.danger));
                *operation = quarantined_stub(operation, category, danger, reason);
                offer.calls.remove(&operation.name);
                quarantined.insert(operation.name.clone(), withheld);
            }
        }
        if !quarantined.is_empty() {
            offer.types = used_types(&offer);
        }
        let left_out = capture.interrogation.left_out;
        let tools = capture.listing.tools.iter();
        let endpoints = tools.filter_map(|tool| Some((tool.name.as_str(), aql::endpoint(&tool.definition)?))).collect();
        let snapshot = CatalogSnapshot::from_offer(settings, offer, quarantined).with_endpoints(&endpoints);
        let removed = Arc::new(removed);
        CatalogSnapshot {
            origin: capture.origin,
            version,
            listed_at: Some(capture.captured_at),
            left_out,
            notes,
            removed,
            ..snapshot
        }
    }
}

/// An operation reduced to its name. Nothing from the current definition is shown.
fn quarantined_stub(operation: &Operation, category: Category, danger: Danger, reason: &QuarantineReason) -> Operation {
    let mut shown = Operation::new(&operation.name, category, &reason.message());
    shown.safety.danger = danger;
    shown.origin.source = operation.origin.source.clone();
    shown.origin.trust = operation.origin.trust;
    shown.origin.backing = operation.origin.backing.clone();
    shown.origin.native = false;
    shown.safety.quarantine = Some(reason.cause().into());
    shown.origin.is_established = operation.origin.is_established;
    shown.origin.established_at = operation.origin.established_at;
    shown
}

/// An operation whose tool was removed. Its description says why.
fn removed_operation(name: &str, category: Category, danger: Danger, backing: Backing) -> Operation {
    let mut operation = Operation::new(name, category, "the server no longer lists this tool");
    operation.safety.danger = danger;
    operation.origin.backing = backing;
    operation.origin.native = false;
    operation
}

/// The types that operations still refer to. Types used only by quarantined operations come from their definitions and
/// are dropped.
fn used_types(offer: &Offer) -> aquifer_protocol::schema::Types {
    let mut open = Vec::new();
    for operation in &offer.operations {
        operation.parameters.iter().for_each(|parameter| parameter.schema.references(&mut open));
        open.push(operation.returns.type_name.clone());
    }
    let mut used = aquifer_protocol::schema::Types::new();
    while let Some(name) = open.pop() {
        if let Some(schema) = offer.types.get(&name)
            && used.insert(name, schema.clone()).is_none()
        {
            schema.references(&mut open);
        }
    }
    used
}
