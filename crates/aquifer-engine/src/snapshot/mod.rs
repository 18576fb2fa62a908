//! A snapshot: the catalog with everything derived from it. It is immutable, shared, and replaced as a whole.

mod mount;
mod names;
mod prefix;
mod target;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use aquifer_protocol::catalog::{Catalog, CatalogError};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::{Answers, Facts};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::JsonText;
use aquifer_protocol::schema::{Kind, Parameter, Types};
use aquifer_protocol::surface::{Surface, Tool};
use aquifer_query::budget;
use aquifer_search::{Document, DocumentParameter, SearchIndex};
use serde_json::{Map, Value};

use crate::call::configuration::Configuration;
use crate::gate::Gate;
use crate::source::{CatalogState, Source, starting_failure};
use names::EstablishedNames;
use prefix::RetiredPrefixes;

pub use mount::{Evidence, Mount};

/// The catalog, its sources and the gate. They are replaced together, so that old rules never apply to a new source.
pub struct Snapshot {
    mounts: Arc<[Mount]>,
    gate: Arc<dyn Gate>,
    configuration: Configuration,
    catalog: Catalog,
    /// Operations that callers do not see: those that policy always denies, and those behind generic operations.
    unlisted: Catalog,
    surface: Arc<Surface>,
    tools: Arc<[Tool]>,
    facts: Facts,
    routes: HashMap<Arc<str>, Route, foldhash::fast::RandomState>,
    established: EstablishedNames,
    retired: RetiredPrefixes,
    sole_source: Option<SoleSource>,
    /// The reports of the sources whose current operations were tested, by source.
    validations: HashMap<Arc<str>, Map<String, Value>>,
    index: OnceLock<SearchIndex>,
    pub(crate) cache: AnswerCache,
}

/// The source of an operation and its own name there.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) name: Arc<str>,
    /// Whether policy always denies it, so that it is concealed from callers.
    pub(crate) is_denied: bool,
    /// Whether its source has to resolve a request before policy evaluates it.
    pub(crate) is_resolved: bool,
    /// The prefix of the source's URIs for callers, if there are several sources.
    pub(crate) uri_prefix: Option<Arc<str>>,
}

/// Cached introspection answers. Filled on first use, because a catalog may be replaced before it is queried.
#[derive(Default)]
pub(crate) struct AnswerCache {
    pub(crate) list: OnceLock<JsonText>,
    pub(crate) types: OnceLock<JsonText>,
    pub(crate) details: Vec<OnceLock<JsonText>>,
}

impl Snapshot {
    /// Builds the catalog of these sources. Operations keep the names they had in the previous catalog.
    pub(crate) fn build(
        mounts: Arc<[Mount]>,
        surface: Arc<Surface>,
        gate: Arc<dyn Gate>,
        facts: Facts,
        before: Option<&Snapshot>,
    ) -> Result<Self, CatalogError> {
        let sole_source = SoleSource::new(&mounts, before);
        let same = before.filter(|before| Arc::ptr_eq(&before.mounts, &mounts));
        let configuration = same.map(|before| before.configuration.clone()).unwrap_or_default();
        let retired = RetiredPrefixes::new(&mounts, before);
        let mut collected = CollectedOperations::new(&mounts, &*gate, before, &retired)?;
        if collected.conceal(&mounts) {
            collected = CollectedOperations::new(&mounts, &*gate, before, &retired)?;
        }
        collected.announce_restricted(&mounts, &*gate);
        let CollectedOperations { operations, is_behind, denied, types, validations } = collected;
        let (mut listed, mut unlisted, mut concealed) = (Vec::new(), Vec::new(), HashSet::new());
        let (mut routes, mut established) = (HashMap::default(), EstablishedNames::new());
        let tokens = TokenRequirements::new(&operations, &*gate);
        let restricted = restricted_needs(&operations, &*gate);
        for ((mut operation, is_behind), is_denied) in operations.into_iter().zip(is_behind).zip(denied) {
            // An invalid tool of an upstream must not prevent the others from being served.
            if !operation.origin.native
                && let Err(error) = Catalog::check(&operation, &types)
            {
                tracing::warn!(source = &*operation.origin.source, "skipped an invalid tool: {error}");
                continue;
            }
            budget::offer(&mut operation);
            if tokens.apply_to(&operation, &*gate) {
                operation.accept_confirmation_token();
            }
            let Some(mount) = mounts.iter().find(|mount| *mount.source.name() == *operation.origin.source) else {
                continue;
            };
            let route = Route {
                source: mount.source.clone(),
                name: operation.origin.own_name.clone(),
                is_denied,
                is_resolved: operation.routing.is_indirect
                    || needs_any(&operation, &restricted)
                    || (operation.routing.generic_name.is_some() && gate.judges_parameters(&operation)),
                uri_prefix: sole_source.is_none().then(|| uri_prefix(&operation.origin.source).into()),
            };
            routes.insert(operation.name.clone(), route);
            let key = (operation.origin.source.clone(), operation.origin.own_name.clone());
            established.entry(key).or_insert_with(|| operation.name.clone());
            if is_denied {
                concealed.insert(operation.name.clone());
            }
            if is_denied || is_behind { &mut unlisted } else { &mut listed }.push(operation);
        }
        // Operations behind generic ones are not listed, but their types describe the fields.
        let (hidden, behind): (Vec<&Operation>, Vec<&Operation>) =
            unlisted.iter().partition(|operation| concealed.contains(&operation.name));
        let shown = shown_types(&types, listed.iter().chain(behind), hidden);
        let catalog = Catalog::build(listed, shown, &surface)?;
        let unlisted = Catalog::unlisted(unlisted, types, &surface)?;
        let tools = surface.tools(&catalog).into();
        let details = catalog.operations().iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            mounts,
            gate,
            configuration,
            catalog,
            unlisted,
            surface,
            tools,
            facts,
            routes,
            established,
            retired,
            sole_source,
            validations,
            index: OnceLock::new(),
            cache: AnswerCache { details, ..AnswerCache::default() },
        })
    }

    /// The operations and types that callers see.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The operations that callers do not see: for operators.
    pub fn unlisted(&self) -> &Catalog {
        &self.unlisted
    }

    /// The report of the tests that the source passed with its current operations, if there is one.
    pub(crate) fn validation(&self, source: &str) -> Option<&Map<String, Value>> {
        self.validations.get(source)
    }

    /// A digest of everything that callers or policy can observe.
    pub(crate) fn digest(&self) -> u64 {
        self.catalog.digest() ^ self.unlisted.digest().rotate_left(32)
    }

    /// Whether URIs omit the source name, because only one source was ever mounted.
    pub(crate) fn has_bare_uris(&self) -> bool {
        self.sole_source.is_some()
    }

    /// Whether a name belongs to a removed source rather than to one with this prefix.
    pub(crate) fn is_retired(&self, name: &str, prefix: &str) -> bool {
        self.retired.reserve(name, prefix)
    }

    /// The sources.
    pub fn mounts(&self) -> &Arc<[Mount]> {
        &self.mounts
    }

    /// The configuration it was built for.
    pub(crate) fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    pub(crate) fn gate(&self) -> &Arc<dyn Gate> {
        &self.gate
    }

    /// The operation of this name, listed or not, and its catalog.
    pub(crate) fn operation(&self, name: &str) -> Option<(&Arc<Operation>, &Catalog)> {
        [&self.catalog, &self.unlisted].into_iter().find_map(|catalog| Some((catalog.operation(name)?, catalog)))
    }

    /// The failure for an operation that a source no longer offers, or that a source may offer once it has started.
    pub(crate) fn missing_operation(&self, name: &str) -> Option<Failure> {
        self.removed_operation(name).or_else(|| self.starting_source(name))
    }

    /// The failure for an operation of a source whose operations are not known yet.
    pub(crate) fn starting_source(&self, name: &str) -> Option<Failure> {
        let may_offer = |mount: &&Mount| {
            name.starts_with(&*mount.prefix_among(self.mounts.len()))
                && mount.source.status().state == CatalogState::Starting
        };
        self.mounts.iter().find(may_offer).map(|mount| starting_failure(mount.source.name()))
    }

    /// The failure for an operation that a source no longer offers. An operation that policy always denies stays
    /// unknown.
    fn removed_operation(&self, name: &str) -> Option<Failure> {
        self.mounts.iter().find_map(|mount| {
            let prefix = mount.prefix_among(self.mounts.len());
            let removed = |own_name| Some((own_name, mount.source.removed_operation(own_name)?));
            let (own_name, mut removed) = prefix::own_names(&prefix, name).find_map(removed)?;
            (removed.name, removed.origin.own_name) = (name.into(), own_name.into());
            (removed.origin.source, removed.origin.place) = (mount.source.name().into(), mount.place.clone());
            removed.origin.trust = mount.trust(self);
            if self.gate.denies_always(&removed) {
                return None;
            }
            let message = format!("Operation '{name}' is gone: {}. Use introspect again", removed.description);
            let failure = Failure::new(Code::NotFoundOperation, message);
            Some(failure.detail("operation", name).detail("source", &*removed.origin.source))
        })
    }

    /// An operation by its source's own name.
    pub(crate) fn operation_of(&self, source: &Arc<str>, own_name: &Arc<str>) -> Option<(&Arc<Operation>, &Catalog)> {
        self.operation(self.established.get(&(source.clone(), own_name.clone()))?)
    }

    /// Whether the operation is concealed from callers.
    pub(crate) fn is_denied(&self, operation: &str) -> bool {
        self.routes.get(operation).is_some_and(|route| route.is_denied)
    }

    /// The surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The tools.
    pub fn tools(&self) -> &Arc<[Tool]> {
        &self.tools
    }

    /// Introspection of listed operations.
    pub(crate) fn answers(&self) -> Answers<'_> {
        Answers { catalog: &self.catalog, surface: &self.surface, facts: &self.facts }
    }

    /// Introspection of operations behind generic ones.
    pub(crate) fn unlisted_answers(&self) -> Answers<'_> {
        Answers { catalog: &self.unlisted, ..self.answers() }
    }

    pub(crate) fn route(&self, operation: &str) -> Option<&Route> {
        self.routes.get(operation)
    }

    /// The operations that match the words of a task, best first, as `introspect` ranks them.
    pub fn search(&self, words: &str, limit: usize) -> Vec<&Arc<Operation>> {
        let operations = self.catalog.operations();
        let hits = self.index().search_filtered(words, limit, |_| true);
        hits.into_iter().filter_map(|hit| operations.get(hit.position)).collect()
    }

    /// The search index, built on first use.
    pub(crate) fn index(&self) -> &SearchIndex {
        self.index.get_or_init(|| {
            SearchIndex::build(self.catalog.operations().iter().map(|operation| Document {
                name: &operation.name,
                category: operation.category.as_str(),
                description: &operation.description,
                parameters: operation.parameters.iter().map(search_parameter).collect(),
                source: &operation.origin.source,
            }))
        })
    }
}

/// A parameter as the search sees it. The values of a list are those of its elements.
fn search_parameter(parameter: &Parameter) -> DocumentParameter<'_> {
    let schema = &parameter.schema;
    let items = if let Kind::Array(Some(items)) = &schema.kind { items.allowed.as_ref() } else { None };
    let values = schema.allowed.iter().chain(items).flat_map(|values| values.iter()).filter_map(|value| value.as_str());
    DocumentParameter {
        name: &parameter.name,
        description: schema.description.as_deref().unwrap_or_default(),
        values: values.collect(),
    }
}

/// The operations of all sources, under their names for callers.
struct CollectedOperations {
    operations: Vec<Operation>,
    /// For each operation, whether it is behind a generic one.
    is_behind: Vec<bool>,
    /// For each operation, whether policy always denies it.
    denied: Vec<bool>,
    types: Types,
    validations: HashMap<Arc<str>, Map<String, Value>>,
}

impl CollectedOperations {
    fn new(
        mounts: &[Mount],
        gate: &dyn Gate,
        before: Option<&Snapshot>,
        retired: &RetiredPrefixes,
    ) -> Result<Self, CatalogError> {
        let mut all = Vec::new();
        let (mut types, mut validations) = (Types::new(), HashMap::new());
        let prefixes: Vec<(Arc<str>, String)> =
            mounts.iter().map(|mount| (mount.source.name().into(), mount.prefix_among(mounts.len()))).collect();
        for (mount, (source, prefix)) in mounts.iter().zip(&prefixes) {
            let offering = mount.source.offering();
            let validation = mount.validation(&offering);
            let trust = mount.trust_with(validation.is_some());
            validations.extend(validation.map(|report| (source.clone(), report)));
            let offering = prefix::apply(offering, prefix, &types);
            types.extend(offering.types);
            let indirect = offering.indirect.into_iter().map(|operation| (operation, true));
            let direct = offering.operations.into_iter().map(|operation| (operation, false));
            all.extend(direct.chain(indirect).map(|(mut operation, is_indirect)| {
                operation.origin.source = source.clone();
                operation.origin.place = mount.place.clone();
                operation.origin.trust = trust.unwrap_or(operation.origin.trust);
                (operation, is_indirect)
            }));
        }
        let (mut operations, is_behind): (Vec<Operation>, Vec<bool>) = all.into_iter().unzip();
        check_duplicates(&operations)?;
        let none = EstablishedNames::new();
        let established = before.map_or(&none, |before| &before.established);
        for (wanted, assigned) in names::assign(&mut operations, established, &prefixes, retired) {
            tracing::warn!("operation '{wanted}' is served as '{assigned}': the name is taken, reserved or too long");
        }
        let denied = denied(&operations, &is_behind, gate);
        Ok(Self { operations, is_behind, denied, types, validations })
    }

    /// Lets every source conceal its denied operations. Returns whether an offering changed.
    fn conceal(&self, mounts: &[Mount]) -> bool {
        let all = self.operations.iter().zip(&self.denied);
        mounts.iter().fold(false, |is_changed, mount| {
            let denied = all.clone().filter(|(operation, is_denied)| {
                **is_denied && !operation.routing.is_indirect && *operation.origin.source == *mount.source.name()
            });
            let denied = denied.map(|(operation, _)| operation.origin.own_name.clone()).collect();
            mount.source.conceal(&denied) | is_changed
        })
    }

    /// Tells every source which of its operations policy restricts.
    fn announce_restricted(&self, mounts: &[Mount], gate: &dyn Gate) {
        for mount in mounts {
            let own = self.operations.iter().filter(|operation| *operation.origin.source == *mount.source.name());
            let restricted = own.filter(|operation| gate.restricts(operation));
            mount.source.set_restricted(restricted.map(|operation| operation.origin.own_name.clone()).collect());
        }
    }
}

/// The scheme of URIs that name their source.
pub(crate) const URI_SCHEME: &str = "aquifer://";

/// The source whose URIs do not name it, if no other source was ever mounted. After a second source was mounted, every
/// URI names its source, so that a URI of a removed source never reaches another one.
#[derive(Clone, PartialEq, Eq)]
struct SoleSource {
    source: Arc<str>,
    place: Arc<str>,
}

impl SoleSource {
    fn new(mounts: &[Mount], before: Option<&Snapshot>) -> Option<Self> {
        let [mount] = mounts else { return None };
        let sole_source = Self { source: mount.source.name().into(), place: mount.place.clone() };
        before.is_none_or(|before| before.sole_source.as_ref() == Some(&sole_source)).then_some(sole_source)
    }
}

/// The prefix of a source's URIs for callers, if there are several sources.
pub(crate) fn uri_prefix(source: &str) -> String {
    format!("{URI_SCHEME}{source}/")
}

/// The operations that are always denied: those that the gate denies, and generic ones if it denies everything behind
/// them.
fn denied(operations: &[Operation], is_behind: &[bool], gate: &dyn Gate) -> Vec<bool> {
    let by_gate: Vec<bool> = operations.iter().map(|operation| gate.denies_always(operation)).collect();
    // For each source and category, whether any operation behind generic ones is allowed.
    let mut is_left: HashMap<(&str, Category), bool> = HashMap::new();
    for ((operation, _), is_denied) in
        operations.iter().zip(is_behind).zip(&by_gate).filter(|((_, behind), _)| **behind)
    {
        *is_left.entry((&operation.origin.source, operation.category)).or_default() |= !is_denied;
    }
    let all = operations.iter().zip(&by_gate);
    all.map(|(operation, is_denied)| {
        let nothing_left = || is_left.get(&(&*operation.origin.source, operation.category)) == Some(&false);
        *is_denied || (operation.routing.is_indirect && nothing_left())
    })
    .collect()
}

/// The operations that take a confirmation token: those that may require confirmation, and generic ones if any
/// operation behind them may.
struct TokenRequirements {
    /// The sources and categories of operations behind generic ones.
    behind: Vec<(Arc<str>, Category)>,
    /// The operations that others need and that may require confirmation.
    needed: HashSet<OwnName>,
}

/// A source and its own name of an operation.
type OwnName = (Arc<str>, Arc<str>);

/// The operations that others may need and for which `holds` is true.
fn needs_where(operations: &[Operation], holds: impl Fn(&Operation) -> bool) -> HashSet<OwnName> {
    let names = |operation: &Operation, names: &[Arc<str>]| -> Vec<OwnName> {
        names.iter().map(|needed| (operation.origin.source.clone(), needed.clone())).collect()
    };
    let mut needed: HashSet<OwnName> = HashSet::new();
    // Most operations share their list with others.
    let mut seen: HashSet<*const [Arc<str>]> = HashSet::new();
    for operation in operations {
        needed.extend(names(operation, &operation.routing.may_need));
        if seen.insert(Arc::as_ptr(&operation.routing.may_reach)) {
            needed.extend(names(operation, &operation.routing.may_reach));
        }
    }
    let own_name = |operation: &Operation| (operation.origin.source.clone(), operation.origin.own_name.clone());
    let matching = operations.iter().filter(|operation| needed.contains(&own_name(operation)) && holds(operation));
    matching.map(own_name).collect()
}

/// The operations that others may need and that policy restricts.
fn restricted_needs(operations: &[Operation], gate: &dyn Gate) -> HashSet<OwnName> {
    needs_where(operations, |operation| gate.restricts(operation))
}

/// Whether a request for the operation may need one of these.
fn needs_any(operation: &Operation, among: &HashSet<OwnName>) -> bool {
    !among.is_empty()
        && operation
            .routing
            .may_need
            .iter()
            .chain(&*operation.routing.may_reach)
            .any(|needed| among.contains(&(operation.origin.source.clone(), needed.clone())))
}

impl TokenRequirements {
    fn new(operations: &[Operation], gate: &dyn Gate) -> Self {
        let mut behind = Vec::new();
        if operations.iter().any(|operation| operation.routing.is_indirect) {
            for operation in operations.iter().filter(|operation| !operation.routing.is_indirect) {
                let key = (operation.origin.source.clone(), operation.category);
                if !behind.contains(&key) && gate.may_confirm(operation) {
                    behind.push(key);
                }
            }
        }
        Self { behind, needed: needs_where(operations, |operation| gate.may_confirm(operation)) }
    }

    fn apply_to(&self, operation: &Operation, gate: &dyn Gate) -> bool {
        let behind = || {
            self.behind
                .iter()
                .any(|(source, category)| *source == operation.origin.source && *category == operation.category)
        };
        gate.may_confirm(operation) || (operation.routing.is_indirect && behind()) || needs_any(operation, &self.needed)
    }
}

/// A duplicate operation of a native source is an error. A duplicate of an upstream gets another name.
fn check_duplicates(operations: &[Operation]) -> Result<(), CatalogError> {
    let mut seen = HashSet::with_capacity(operations.len());
    for operation in operations.iter().filter(|operation| operation.origin.native) {
        if !seen.insert((&operation.origin.source, &operation.origin.own_name)) {
            return Err(CatalogError::DuplicateOperation(operation.origin.own_name.to_string()));
        }
    }
    Ok(())
}

/// The types that callers see: all except those that only hidden operations use.
fn shown_types<'a>(types: &Types, shown: impl IntoIterator<Item = &'a Operation>, hidden: Vec<&'a Operation>) -> Types {
    if hidden.is_empty() {
        return types.clone();
    }
    let (shown, hidden) = (used_types(types, shown), used_types(types, hidden));
    let is_shown = |name: &Arc<str>| shown.contains(name) || !hidden.contains(name);
    types.iter().filter(|(name, _)| is_shown(name)).map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

/// The types that operations refer to, directly or through other types, including the types of their results.
fn used_types<'a>(types: &Types, operations: impl IntoIterator<Item = &'a Operation>) -> HashSet<Arc<str>> {
    let mut open = Vec::new();
    for operation in operations {
        operation.parameters.iter().for_each(|parameter| parameter.schema.references(&mut open));
        let words = operation.returns.description.split(|c: char| !c.is_alphanumeric() && c != '_');
        let named = words.chain([&*operation.returns.type_name]).filter_map(|name| types.get_key_value(name));
        open.extend(named.map(|(name, _)| name.clone()));
    }
    let mut used = HashSet::new();
    while let Some(name) = open.pop() {
        if let Some(schema) = types.get(&name)
            && used.insert(name)
        {
            schema.references(&mut open);
        }
    }
    used
}
