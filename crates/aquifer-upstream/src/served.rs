//! What an upstream offers at one moment: immutable, made from what it said or from a reviewed adapter, replaced whole.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use aquifer_discovery::adapter::{Known, MapsTo};
use aquifer_discovery::digest::{Pin, pin};
use aquifer_discovery::text::presentable;
use aquifer_discovery::tool::Tool as Definition;
use aquifer_discovery::{Bundle, Call, LeftOut, Listing, Offer, PinBook, normalize_beside};
use aquifer_engine::Offering;
use aquifer_engine::shape;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::{Backing, Operation};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::arguments::ArgumentValidator;
use crate::interrogate::Interrogation;
use crate::quarantine::{Candidate, Judgement, QuarantineReason};
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// Characters of a server's version that are shown.
const MAX_VERSION_CHARS: usize = 64;

/// Where an offer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing is known.
    Nothing,
    /// From an adapter's file; the server has not been asked.
    File,
    /// From an earlier run.
    Cache,
    /// From the server, in this run.
    Server,
}

/// What an upstream said, read and measured once.
pub(crate) struct Capture {
    pub(crate) interrogation: Interrogation,
    pub(crate) listing: Listing,
    /// The digests of the listed definitions, in their order.
    pub(crate) pins: Vec<Pin>,
    pub(crate) origin: Origin,
    /// When the server said it.
    pub(crate) captured_at: Timestamp,
}

impl Capture {
    pub(crate) fn new(interrogation: Interrogation, origin: Origin, captured_at: Timestamp) -> Self {
        let (listing, pins) = run_blocking(|| {
            let listing = Listing::of(&interrogation.capture);
            let pins = listing.tools.iter().map(pin).collect();
            (listing, pins)
        });
        Self { interrogation, listing, pins, origin, captured_at }
    }

    /// The bundle, beside the names that operations have already and with the operator's decisions in it.
    pub(crate) fn bundle(&self, settings: &Settings, book: Option<&PinBook>) -> Bundle {
        let chosen = settings.overrides.as_ref().map(|overrides| overrides.names()).unwrap_or_default();
        let listed = self.listing.tools.iter().map(|tool| tool.name.as_str());
        let nothing = PinBook::default();
        let established = book.unwrap_or(&nothing).established(listed, &chosen);
        let source = settings.source(self.captured_at, Some(self.interrogation.server.clone()));
        let mut bundle = normalize_beside(source, self.interrogation.capture.clone(), &self.listing, &established);
        if let Some(overrides) = &settings.overrides {
            overrides.apply_among(&mut bundle, &self.listing.tools);
        }
        bundle
    }
}

/// What a capture comes to, before it is judged.
pub(crate) struct SnapshotDraft<'a> {
    settings: &'a Settings,
    capture: &'a Capture,
    offer: Offer,
    /// The version that the server says it has, as it may be shown.
    version: Option<Arc<str>>,
}

impl<'a> SnapshotDraft<'a> {
    /// The operations of every tool, accepted or not. Nothing here is shown to anybody yet.
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
                let known =
                    Known { live: Some(&live), decisions: decisions.as_ref(), is_settled: settings.is_adapter_settled };
                Offer::of_adapter_knowing(adapter, &settings.name, &known)
            }
            None => Offer::of_listing(&capture.bundle(settings, book), tools, &settings.name, |_| true),
        };
        apply_configured_danger(settings, &mut offer);
        offer.sanitize(&|text| sanitizer.without_secrets(text.to_owned()));
        let version = capture.interrogation.server.version.as_deref();
        let shown =
            |version: &str| sanitizer.without_secrets(presentable(version)).chars().take(MAX_VERSION_CHARS).collect();
        let version = version.map(|version| Arc::from(String::into_boxed_str(shown(version))));
        Self { settings, capture, offer, version }
    }

    /// The operations, accepted or not.
    pub(crate) fn operations(&self) -> &[Operation] {
        &self.offer.operations
    }

    /// What the operator should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = self.capture.interrogation.left_out.message(&self.settings.limits);
        let unusable = self.capture.listing.unusable();
        let unusable = (unusable > 0).then(|| format!("Entries of its tool list that cannot be used: {unusable}"));
        self.offer.ignored.iter().cloned().chain(left_out).chain(unusable).collect()
    }

    /// Judges the definitions behind the operations.
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
                    pin: pins.get(operation.backing.tool()?).copied()?,
                    operation: &operation.name,
                    category: operation.category,
                    danger: operation.danger,
                    reviewed: reviewed.get(&*operation.name).copied(),
                })
            })
            .collect();
        let may_pin = may_pin && self.capture.origin == Origin::Server;
        Judgement::evaluate(&candidates, book, self.settings.quarantine, may_pin, now)
    }

    /// What is offered: accepted operations as they are, the others by name alone. A tool that an adapter names and the
    /// server does not list is gone: nothing says what would be called.
    pub(crate) fn finish(self, judgement: &Judgement, book: Option<&PinBook>) -> CatalogSnapshot {
        let notes = self.notes();
        let Self { settings, capture, mut offer, version } = self;
        let listed: HashMap<&str, &Pin> = capture.pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
        let is_listed = |one: &Operation| one.backing.tool().is_some_and(|tool| listed.contains_key(tool));
        let (present, absent): (Vec<Operation>, Vec<Operation>) = offer.operations.into_iter().partition(is_listed);
        offer.operations = present;
        let mut removed: HashMap<Arc<str>, Operation> = HashMap::new();
        for (tool, pinned) in book.into_iter().flat_map(|book| book.missing(listed.keys().copied())) {
            // Without its tool's name nobody could tell whether policy hides it.
            let Some(tool) = tool else { continue };
            let backing = Backing::Tool(tool.into());
            let operation = removed_operation(&pinned.operation, pinned.category, pinned.danger, backing);
            removed.insert(operation.name.clone(), operation);
        }
        for named in absent {
            let stub = removed_operation(&named.name, named.category, named.danger, named.backing);
            removed.insert(named.name, stub);
        }
        // A name that another tool has by now is that one's.
        offer.operations.iter().for_each(|one| drop(removed.remove(&one.name)));
        let mut quarantined = BTreeMap::new();
        for operation in &mut offer.operations {
            let Backing::Tool(tool) = &operation.backing else { continue };
            operation.established_at = judgement.since.get(&**tool).copied();
            operation.is_established = operation.established_at.is_some();
            if let Some(reason) = judgement.quarantined.get(&**tool) {
                let accepted = book.and_then(|book| book.get(tool));
                let withheld = QuarantinedOperation {
                    tool: tool.clone(),
                    digest: listed.get(&**tool).map(|pin| pin.digest.clone()).unwrap_or_default(),
                    reason: reason.clone(),
                };
                let category = accepted.map_or(operation.category, |accepted| accepted.category);
                let danger = accepted.map_or(operation.danger, |accepted| accepted.danger.max(operation.danger));
                *operation = quarantined_stub(operation, category, danger, reason);
                offer.calls.remove(&operation.name);
                quarantined.insert(operation.name.clone(), withheld);
            }
        }
        if !quarantined.is_empty() {
            offer.types = used_types(&offer);
        }
        let left_out = capture.interrogation.left_out;
        let snapshot = CatalogSnapshot::from_offer(settings, offer, quarantined);
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

/// Runs what may take long without keeping a worker from other tasks: definitions come from outside and may be large.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// The operator's last word on the danger of single operations.
fn apply_configured_danger(settings: &Settings, offer: &mut Offer) {
    for operation in &mut offer.operations {
        if let Some(danger) = settings.operation_dangers.get(&*operation.name) {
            operation.danger = *danger;
            operation.danger_evidence = Some("the configuration says so".into());
        }
    }
}

/// An operation by name alone: nothing that the upstream says now reaches anybody.
fn quarantined_stub(operation: &Operation, category: Category, danger: Danger, reason: &QuarantineReason) -> Operation {
    let mut shown = Operation::new(&operation.name, category, &reason.message());
    shown.danger = danger;
    shown.source = operation.source.clone();
    shown.trust = operation.trust;
    shown.backing = operation.backing.clone();
    shown.native = false;
    shown.quarantine = Some(reason.cause().into());
    shown.is_established = operation.is_established;
    shown.established_at = operation.established_at;
    shown
}

/// An operation whose tool is gone, with the reason as its description.
fn removed_operation(name: &str, category: Category, danger: Danger, backing: Backing) -> Operation {
    let mut operation = Operation::new(name, category, "the server behind it no longer lists its tool");
    operation.danger = danger;
    operation.backing = backing;
    operation.native = false;
    operation
}

/// The types that operations still refer to: those of quarantined ones are the upstream's words, too.
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

/// What an upstream offers.
pub(crate) struct CatalogSnapshot {
    pub(crate) offering: Offering,
    tools: BTreeMap<Arc<str>, Arc<ServedTool>>,
    /// Operations that cannot be called.
    quarantined: BTreeMap<Arc<str>, QuarantinedOperation>,
    /// Operations whose tools are gone: those of an adapter's file, and those that were pinned before.
    removed: Arc<HashMap<Arc<str>, Operation>>,
    pub(crate) origin: Origin,
    /// The version that the server says it has.
    pub(crate) version: Option<Arc<str>>,
    /// When the server said it.
    pub(crate) listed_at: Option<Timestamp>,
    pub(crate) left_out: LeftOut,
    /// What the operator should know.
    pub(crate) notes: Vec<String>,
    /// Why the upstream is not there, if it could not be reached.
    pub(crate) failure: Option<Arc<str>>,
    /// Whether it is known what there is.
    pub(crate) is_known: bool,
}

/// An operation that cannot be called, and the definition behind it.
#[derive(Debug, Clone)]
pub(crate) struct QuarantinedOperation {
    pub(crate) tool: Arc<str>,
    pub(crate) digest: String,
    pub(crate) reason: QuarantineReason,
}

/// One operation and the tool behind it.
pub(crate) struct ServedTool {
    pub(crate) name: Arc<str>,
    pub(crate) call: Call,
    pub(crate) category: Category,
    pub(crate) danger: Danger,
    schema: OnceLock<Option<ArgumentValidator>>,
}

impl CatalogSnapshot {
    /// Nothing is known yet but what an adapter's file says.
    pub(crate) fn unknown(settings: &Settings, sanitizer: &Sanitizer) -> Self {
        let Some(adapter) = &settings.adapter else {
            let nothing = Self::from_offer(settings, Offer::default(), BTreeMap::new());
            return Self { is_known: false, origin: Origin::Nothing, ..nothing };
        };
        let decisions = settings.overrides.as_ref().map(|overrides| overrides.by_tool());
        let known = Known { live: None, decisions: decisions.as_ref(), is_settled: settings.is_adapter_settled };
        let mut offer = Offer::of_adapter_knowing(adapter, &settings.name, &known);
        apply_configured_danger(settings, &mut offer);
        offer.sanitize(&|text| sanitizer.without_secrets(text.to_owned()));
        Self { origin: Origin::File, ..Self::from_offer(settings, offer, BTreeMap::new()) }
    }

    fn from_offer(settings: &Settings, offer: Offer, quarantined: BTreeMap<Arc<str>, QuarantinedOperation>) -> Self {
        let Offer { mut operations, types, mut calls, ignored } = offer;
        let mut tools = BTreeMap::new();
        for operation in &operations {
            let Some(call) = calls.remove(&operation.name) else { continue };
            let MapsTo::Tool(tool) = &call.maps_to else { continue };
            let tool = ServedTool {
                name: tool.as_str().into(),
                category: operation.category,
                danger: operation.danger,
                schema: OnceLock::new(),
                call,
            };
            tools.insert(operation.name.clone(), Arc::new(tool));
        }
        operations.retain(|one| tools.contains_key(&one.name) || quarantined.contains_key(&one.name));
        for operation in operations.iter_mut().filter(|operation| tools.contains_key(&operation.name)) {
            let rows = settings.rows.get(&*operation.name).map(String::as_str);
            let controls = settings.operation_controls.get(&*operation.name).copied().unwrap_or(settings.controls);
            shape::offer(operation, rows, controls);
        }
        Self {
            offering: Offering { operations, types, indirect: Vec::new() },
            tools,
            quarantined,
            removed: Arc::default(),
            origin: Origin::Server,
            version: None,
            listed_at: None,
            left_out: LeftOut::default(),
            notes: ignored,
            failure: None,
            is_known: true,
        }
    }

    /// The same with an operation that tells how the upstream is, because it is not well.
    pub(crate) fn with_status(mut self, reason: &str) -> Self {
        let mut name = "upstream_status".to_owned();
        while self.tools.contains_key(name.as_str()) || self.quarantined.contains_key(name.as_str()) {
            name.push('_');
        }
        let description = format!("This MCP server is not there now: {reason}. Calling this tries again.");
        let mut operation = Operation::new(&name, Category::Read, &description);
        operation.native = false;
        self.offering.operations.push(operation);
        self
    }

    /// The same of an upstream that could not be reached.
    pub(crate) fn with_failure(self, reason: &str) -> Self {
        Self { failure: Some(reason.into()), ..self.with_status(reason) }
    }

    /// The same offer again, without a status.
    pub(crate) fn without_status(&self) -> Self {
        let mut offering = self.offering.clone();
        offering
            .operations
            .retain(|one| self.tools.contains_key(&one.name) || self.quarantined.contains_key(&one.name));
        Self {
            offering,
            tools: self.tools.clone(),
            quarantined: self.quarantined.clone(),
            removed: self.removed.clone(),
            version: self.version.clone(),
            notes: self.notes.clone(),
            failure: None,
            ..*self
        }
    }

    /// The same offer again, which the server has confirmed.
    pub(crate) fn confirmed(&self, captured_at: Timestamp) -> Self {
        Self { origin: Origin::Server, listed_at: Some(captured_at), ..self.without_status() }
    }

    /// The tool behind an operation.
    pub(crate) fn tool(&self, operation: &str) -> Option<&ServedTool> {
        self.tools.get(operation).map(|tool| &**tool)
    }

    /// Operations that cannot be called.
    pub(crate) fn quarantined(&self) -> &BTreeMap<Arc<str>, QuarantinedOperation> {
        &self.quarantined
    }

    /// An operation whose tool is gone.
    pub(crate) fn removed(&self, operation: &str) -> Option<&Operation> {
        self.removed.get(operation)
    }

    /// Refuses an operation that waits for somebody to accept its definition. The gate refuses it, too.
    pub(crate) fn check_quarantine(&self, operation: &str) -> Result<(), Failure> {
        match self.quarantined.get(operation) {
            None => Ok(()),
            Some(quarantined) => {
                Err(Failure::new(Code::PermissionDenied, &*quarantined.reason.message()).detail("operation", operation))
            }
        }
    }

    /// How many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }
}

impl ServedTool {
    /// Refuses what the tool's own schema refuses.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), Failure> {
        let compile = || run_blocking(|| self.call.input_schema.as_ref().and_then(ArgumentValidator::compile));
        let compiled = self.schema.get_or_init(compile);
        match compiled {
            Some(check) => check.check(arguments, &self.call),
            None => Ok(()),
        }
    }

    /// Arguments under our names again.
    pub(crate) fn params(&self, arguments: Value) -> Map<String, Value> {
        let Value::Object(arguments) = arguments else { return Map::new() };
        self.call.params(arguments)
    }

    /// Whether it changes nothing, beyond doubt.
    pub(crate) fn only_reads(&self) -> bool {
        self.category == Category::Read && self.danger < Danger::Destructive
    }
}
