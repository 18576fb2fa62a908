//! What an upstream offers at one moment: immutable, made from what it said or from a reviewed adapter, replaced whole.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aquifer_discovery::adapter::MapsTo;
use aquifer_discovery::digest::{Changed, Drift, Part, Pin, drift};
use aquifer_discovery::{Bundle, Call, Offer};
use aquifer_engine::shape;
use aquifer_engine::{Caller, Offering};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::warning::{Severity, Warning};
use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::arguments;
use crate::settings::Settings;
use crate::words::Words;

/// Callers that are remembered as told of a change. Beyond, some hear it again.
const MOST_TOLD: usize = 1_000;

/// What an upstream offers.
pub(crate) struct Served {
    pub(crate) offering: Offering,
    tools: BTreeMap<Arc<str>, Arc<Tool>>,
    pub(crate) pins: Vec<Pin>,
    /// How the live tools differ from the reviewed ones, or from those of before.
    pub(crate) drift: Option<Drift>,
    /// Whether it is known what there is.
    pub(crate) is_known: bool,
}

/// One operation and the tool behind it.
pub(crate) struct Tool {
    pub(crate) name: Arc<str>,
    pub(crate) call: Call,
    pub(crate) category: Category,
    pub(crate) danger: Danger,
    schema: OnceLock<Option<Validator>>,
    /// What differs from what was known before.
    changed: Vec<Part>,
    told: Mutex<HashSet<Arc<str>>>,
}

impl Served {
    /// Nothing is known yet.
    pub(crate) fn unknown(settings: &Settings, words: &Words, reason: &str) -> Self {
        if settings.adapter.is_some() {
            return Self::of(settings, words, None, &[]).with_status(reason);
        }
        let nothing = Self {
            offering: Offering::default(),
            tools: BTreeMap::new(),
            pins: Vec::new(),
            drift: None,
            is_known: false,
        };
        nothing.with_status(reason)
    }

    /// What a capture and the operator's decisions come to. `before` are the definitions known until now.
    pub(crate) fn of(settings: &Settings, words: &Words, bundle: Option<&Bundle>, before: &[Pin]) -> Self {
        let pins = bundle.map(Bundle::pins).unwrap_or_default();
        let (mut offer, drift) = match (&settings.adapter, bundle) {
            (Some(adapter), _) => {
                let offer = Offer::of_adapter(adapter, &settings.name);
                let drift = bundle.map(|_| from_reviewed(&offer, &pins));
                (offer, drift)
            }
            (None, Some(bundle)) => {
                let drift = (!before.is_empty()).then(|| drift(before, &pins));
                (Offer::of_bundle(bundle, &settings.name), drift)
            }
            (None, None) => (Offer::default(), None),
        };
        let drift = drift.filter(|drift| !drift.is_empty());
        offer.sanitize(&|text| words.without_secrets(text.to_owned()));
        Self::from_offer(settings, offer, pins, drift)
    }

    fn from_offer(settings: &Settings, offer: Offer, pins: Vec<Pin>, drift: Option<Drift>) -> Self {
        let Offer { mut operations, types, calls } = offer;
        let mut tools = BTreeMap::new();
        for operation in &operations {
            let Some(call) = calls.get(&operation.name) else { continue };
            let MapsTo::Tool(tool) = &call.maps_to else { continue };
            let changed = drift.iter().flat_map(|drift| &drift.changed).find(|changed| &changed.tool == tool);
            let tool = Tool {
                name: tool.as_str().into(),
                call: call.clone(),
                category: operation.category,
                danger: operation.danger,
                schema: OnceLock::new(),
                changed: changed.map(|changed| changed.parts.clone()).unwrap_or_default(),
                told: Mutex::default(),
            };
            tools.insert(operation.name.clone(), Arc::new(tool));
        }
        operations.retain(|operation| tools.contains_key(&operation.name));
        for operation in &mut operations {
            let rows = settings.rows.get(&*operation.name).map(String::as_str);
            let controls = settings.controls_of.get(&*operation.name).copied().unwrap_or(settings.controls);
            shape::offer(operation, rows, controls);
        }
        Self { offering: Offering { operations, types, indirect: Vec::new() }, tools, pins, drift, is_known: true }
    }

    /// The same with an operation that tells how the upstream is, because it is not well.
    pub(crate) fn with_status(mut self, reason: &str) -> Self {
        let mut name = "upstream_status".to_owned();
        while self.tools.contains_key(name.as_str()) {
            name.push('_');
        }
        let words = format!("This MCP server is not there now: {reason}. Calling this tries again.");
        let mut operation = Operation::new(&name, Category::Read, &words);
        operation.native = false;
        self.offering.operations.push(operation);
        self
    }

    /// The same offer again, without a status.
    pub(crate) fn again(&self) -> Self {
        let mut offering = self.offering.clone();
        offering.operations.retain(|operation| self.tools.contains_key(&operation.name));
        let (tools, pins, drift) = (self.tools.clone(), self.pins.clone(), self.drift.clone());
        Self { offering, tools, pins, drift, is_known: self.is_known }
    }

    /// The tool behind an operation.
    pub(crate) fn tool(&self, operation: &str) -> Option<&Tool> {
        self.tools.get(operation).map(|tool| &**tool)
    }

    /// How many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }
}

impl Tool {
    /// Refuses what the tool's own schema refuses.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), Failure> {
        let compiled = self.schema.get_or_init(|| self.call.input_schema.as_ref().and_then(arguments::compile));
        match compiled {
            Some(validator) => arguments::check(validator, arguments, &self.call),
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

    /// That it is not what it was, told to everybody once.
    pub(crate) fn warning(&self, caller: &Caller) -> Option<Warning> {
        if self.changed.is_empty() {
            return None;
        }
        if let Some(owner) = caller.owner() {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < MOST_TOLD && !told.insert(owner.into()) {
                return None;
            }
        }
        let parts: Vec<Value> = self.changed.iter().filter_map(|part| serde_json::to_value(part).ok()).collect();
        let words = "The tool behind this operation is defined differently than before. Use introspect again";
        Some(Warning::new("UPSTREAM_TOOL_CHANGED", words).detail("changed", parts).severity(Severity::High))
    }
}

/// What differs between an adapter's definitions and the live ones. Only the whole of a reviewed definition is pinned,
/// so which part of it changed is not known.
fn from_reviewed(offer: &Offer, live: &[Pin]) -> Drift {
    let mut found = Drift::default();
    let mut reviewed = HashSet::new();
    for call in offer.calls.values() {
        let MapsTo::Tool(tool) = &call.maps_to else { continue };
        reviewed.insert(tool.as_str());
        match live.iter().find(|pin| &pin.tool == tool) {
            None => found.removed.push(tool.clone()),
            Some(pin) if call.digest.as_ref().is_some_and(|digest| *digest != pin.digest) => {
                found.changed.push(Changed { tool: tool.clone(), parts: vec![Part::Description, Part::InputSchema] });
            }
            Some(_) => {}
        }
    }
    found.added = live.iter().filter(|pin| !reviewed.contains(pin.tool.as_str())).map(|pin| pin.tool.clone()).collect();
    found
}
