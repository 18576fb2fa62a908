//! The catalog of an upstream at one moment. It is immutable and replaced as a whole.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aquifer_discovery::adapter::{KnownEvidence, MapsTo};
use aquifer_discovery::classify::OwnPrefix;
use aquifer_discovery::{Call, Offer, OmittedTools};
use aquifer_engine::Offering;
use aquifer_engine::shape::{self, ResultShape};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::capture::Origin;
use super::observed_results::ObservedResults;
use super::quarantine::QuarantineReason;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// What an upstream offers.
pub(crate) struct CatalogSnapshot {
    pub(crate) offering: Offering,
    pub(super) tools: BTreeMap<Arc<str>, Arc<ServedTool>>,
    /// Quarantined operations, which cannot be called.
    pub(super) quarantined: BTreeMap<Arc<str>, QuarantinedOperation>,
    /// Operations whose tools no longer exist: those of an adapter file, and those pinned earlier.
    pub(super) removed: Arc<HashMap<Arc<str>, Operation>>,
    pub(crate) origin: Origin,
    /// The server's version.
    pub(crate) version: Option<Arc<str>>,
    /// When the server listed its tools.
    pub(crate) listed_at: Option<Timestamp>,
    pub(crate) left_out: OmittedTools,
    /// Notes for the operator.
    pub(crate) notes: Vec<String>,
    /// Why the upstream is unavailable, if it could not be reached.
    pub(crate) failure: Option<Arc<str>>,
    /// Whether the tools are known.
    pub(crate) is_known: bool,
}

/// A quarantined operation and the definition behind it.
#[derive(Debug, Clone)]
pub(crate) struct QuarantinedOperation {
    pub(crate) tool: Arc<str>,
    pub(crate) digest: String,
    pub(crate) reason: QuarantineReason,
}

/// An operation's tool and how to call it.
pub(crate) struct ServedTool {
    pub(crate) name: Arc<str>,
    pub(crate) call: Call,
    pub(crate) category: Category,
    pub(crate) danger: Danger,
    /// The endpoint that it is called through, if it is an operation of an MCP-AQL server.
    pub(crate) endpoint: Option<Arc<str>>,
}

impl CatalogSnapshot {
    /// The snapshot before the server was contacted: empty, or from an adapter file.
    pub(crate) fn unknown(settings: &Settings, sanitizer: &Sanitizer) -> Self {
        let Some(adapter) = &settings.adapter else {
            let nothing = Self::from_offer(settings, Offer::default(), BTreeMap::new());
            return Self { is_known: false, origin: Origin::Nothing, ..nothing };
        };
        let decisions = settings.overrides.as_ref().map(|overrides| overrides.by_tool());
        let names = adapter.operations.iter().filter_map(|operation| match &operation.maps_to {
            MapsTo::Tool(tool) => Some(tool.as_str()),
            MapsTo::Route { .. } => None,
        });
        let prefix = OwnPrefix::of_server(&settings.name, None, names);
        let known = KnownEvidence {
            live: None,
            prefix: Some(&prefix),
            decisions: decisions.as_ref(),
            is_settled: settings.is_adapter_settled,
        };
        let mut offer = Offer::from_adapter_with_evidence(adapter, &settings.name, &known);
        apply_overrides(settings, &mut offer);
        offer.sanitize(&|text| sanitizer.without_secrets(text.to_owned()));
        Self { origin: Origin::File, ..Self::from_offer(settings, offer, BTreeMap::new()) }
    }

    pub(super) fn from_offer(
        settings: &Settings,
        offer: Offer,
        quarantined: BTreeMap<Arc<str>, QuarantinedOperation>,
    ) -> Self {
        let Offer { mut operations, mut types, mut calls, ignored } = offer;
        let mut tools = BTreeMap::new();
        for operation in &operations {
            let Some(call) = calls.remove(&operation.name) else { continue };
            let MapsTo::Tool(tool) = &call.maps_to else { continue };
            let tool = ServedTool {
                name: tool.as_str().into(),
                category: operation.category,
                danger: operation.safety.danger,
                endpoint: None,
                call,
            };
            tools.insert(operation.name.clone(), Arc::new(tool));
        }
        operations.retain(|one| tools.contains_key(&one.name) || quarantined.contains_key(&one.name));
        for operation in operations.iter_mut().filter(|operation| tools.contains_key(&operation.name)) {
            let rows = settings.rows.get(&*operation.name).map(String::as_str);
            let controls = settings.controls_of(&operation.name);
            let declared = types.get(&operation.returns.type_name);
            let declared = declared.map(|schema| ResultShape::declared(schema, &types)).unwrap_or_default();
            shape::add_controls(operation, &declared.with(rows, None), controls);
            shape::declare_pages(operation, &mut types);
            if let Some(tool) = tools.get(&operation.name) {
                shape::set_default_fields(operation, &tool.call.default_fields);
            }
        }
        Self {
            offering: Offering { operations, types, indirect: Vec::new() },
            tools,
            quarantined,
            removed: Arc::default(),
            origin: Origin::Server,
            version: None,
            listed_at: None,
            left_out: OmittedTools::default(),
            notes: ignored,
            failure: None,
            is_known: true,
        }
    }

    /// What is offered, with the controls that follow from observed results. They are not part of the snapshot, because
    /// calls must not replace it: only the supervisor does.
    pub(crate) fn observed_offering(&self, settings: &Settings, observed: &ObservedResults) -> Offering {
        let mut offering = self.offering.clone();
        for operation in &mut offering.operations {
            let Some(tool) = self.tools.get(&operation.name) else { continue };
            let Some(shape) = observed.shape(&tool.name) else { continue };
            let controls = settings.controls_of(&operation.name);
            shape::add_observed_controls(operation, &mut offering.types, &shape, controls);
            shape::set_default_fields(operation, &tool.call.default_fields);
        }
        offering
    }

    /// Adds an operation that waits for an upstream that is starting.
    pub(crate) fn with_starting(self) -> Self {
        self.with_status_operation("This MCP server is starting. Call this operation to wait for it.")
    }

    /// Adds an operation that reports why the upstream is unavailable.
    fn with_status(self, reason: &str) -> Self {
        self.with_status_operation(&format!(
            "This MCP server is unavailable: {reason}. Call this operation to try again."
        ))
    }

    fn with_status_operation(mut self, description: &str) -> Self {
        let mut name = "upstream_status".to_owned();
        while self.tools.contains_key(name.as_str()) || self.quarantined.contains_key(name.as_str()) {
            name.push('_');
        }
        let mut operation = Operation::new(&name, Category::Read, description);
        operation.origin.native = false;
        self.offering.operations.push(operation);
        self
    }

    /// Marks the upstream as unreachable.
    pub(crate) fn with_failure(self, reason: &str) -> Self {
        Self { failure: Some(reason.into()), ..self.with_status(reason) }
    }

    /// The same catalog without the operation that reports unavailability.
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

    /// Sets the endpoints of the tools that have one, by the names of the tools.
    pub(super) fn with_endpoints(mut self, endpoints: &HashMap<&str, &str>) -> Self {
        for tool in self.tools.values_mut() {
            if let (Some(endpoint), Some(tool)) = (endpoints.get(&*tool.name), Arc::get_mut(tool)) {
                tool.endpoint = Some((*endpoint).into());
            }
        }
        self
    }

    /// The same catalog, confirmed by the server.
    pub(crate) fn confirmed(&self, captured_at: Timestamp) -> Self {
        Self { origin: Origin::Server, listed_at: Some(captured_at), ..self.without_status() }
    }

    /// The tool behind an operation.
    pub(crate) fn tool(&self, operation: &str) -> Option<&ServedTool> {
        self.tools.get(operation).map(|tool| &**tool)
    }

    /// Quarantined operations.
    pub(crate) fn quarantined(&self) -> &BTreeMap<Arc<str>, QuarantinedOperation> {
        &self.quarantined
    }

    /// An operation whose tool was removed.
    pub(crate) fn removed(&self, operation: &str) -> Option<&Operation> {
        self.removed.get(operation)
    }

    /// Refuses a quarantined operation. The gate refuses it as well.
    pub(crate) fn check_quarantine(&self, operation: &str) -> Result<(), Failure> {
        match self.quarantined.get(operation) {
            None => Ok(()),
            Some(quarantined) => {
                Err(Failure::new(Code::PermissionDenied, &*quarantined.reason.message()).detail("operation", operation))
            }
        }
    }

    /// The number of operations that can be called.
    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }
}

impl ServedTool {
    /// Translates arguments back to our parameter names.
    pub(crate) fn params(&self, arguments: Value) -> Map<String, Value> {
        let Value::Object(arguments) = arguments else { return Map::new() };
        self.call.params(arguments)
    }

    /// Whether the tool is known to change nothing.
    pub(crate) fn only_reads(&self) -> bool {
        self.category == Category::Read && self.danger < Danger::Destructive
    }
}

/// Applies what the configuration says about safety, which overrides everything else.
pub(super) fn apply_overrides(settings: &Settings, offer: &mut Offer) {
    for operation in &mut offer.operations {
        let Some(said) = settings.safety_overrides.get(&*operation.name) else { continue };
        let unknown = said.apply(operation);
        if !unknown.is_empty() {
            let operation = &*operation.name;
            tracing::warn!(
                operation,
                ?unknown,
                "'destinations' in the configuration names no parameters of the operation"
            );
        }
    }
}
