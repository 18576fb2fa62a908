//! One moment of the catalog with everything derived from it: immutable, shared, replaced whole.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aquifer_protocol::catalog::{Catalog, CatalogError, pascal_case};
use aquifer_protocol::introspect::{Answers, Facts};
use aquifer_protocol::operation::{LONGEST_NAME, Operation};
use aquifer_protocol::response::JsonText;
use aquifer_protocol::schema::{Schema, Types};
use aquifer_protocol::surface::{Surface, Tool};
use aquifer_protocol::trust::Trust;

use crate::gate::Gate;
use crate::search::{Document, SearchIndex};
use crate::source::{Offering, Source};

/// One moment of the catalog.
pub struct Snapshot {
    catalog: Catalog,
    surface: Arc<Surface>,
    tools: Arc<[Tool]>,
    facts: Facts,
    routes: HashMap<Arc<str>, Route, foldhash::fast::RandomState>,
    index: OnceLock<SearchIndex>,
    pub(crate) cache: Cache,
}

/// Which source answers an operation, and under which name.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) name: Arc<str>,
}

/// Introspection answers already made. Filled on first use: a catalog may be replaced before anybody asks.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) list: OnceLock<JsonText>,
    pub(crate) types: OnceLock<JsonText>,
    pub(crate) details: Vec<OnceLock<JsonText>>,
}

/// A source and the prefix its operations get.
#[derive(Clone)]
pub struct Mount {
    /// The source.
    pub source: Arc<dyn Source>,
    /// What its operations begin with. Without one that is the source's name, unless it is the only source.
    pub prefix: Option<String>,
    /// How far the operator trusts it. Unless they say so, what its operations say counts.
    pub trust: Option<Trust>,
    /// What stands behind the source's name: which database or server, without secrets. What is confirmed for one place
    /// is not confirmed for another that is called the same.
    pub place: Arc<str>,
}

impl Mount {
    /// The source under its own name, trusted as far as its operations say.
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source, prefix: None, trust: None, place: "".into() }
    }

    /// How far the source itself may be trusted: no further than the least of its operations.
    pub(crate) fn trust(&self, catalog: &Catalog) -> Trust {
        let of_operations = || {
            let own = catalog.operations().iter().filter(|operation| &*operation.source == self.source.name());
            own.map(|operation| operation.trust).min()
        };
        self.trust.or_else(of_operations).unwrap_or(Trust::Validated)
    }
}

impl Snapshot {
    pub(crate) fn build(
        mounted: &[Mount],
        surface: Arc<Surface>,
        gate: &dyn Gate,
        facts: Facts,
    ) -> Result<Self, CatalogError> {
        let alone = mounted.len() == 1;
        let mut operations: Vec<Operation> = Vec::new();
        let mut types = Types::new();
        let mut routes = HashMap::default();
        for mount in mounted {
            let name: Arc<str> = mount.source.name().into();
            let prefix = match (&mount.prefix, alone) {
                (Some(prefix), _) => prefix.clone(),
                (None, true) => String::new(),
                (None, false) => format!("{name}_"),
            };
            let offering = prefixed(mount.source.offering(), &prefix);
            for (name, schema) in offering.types {
                if types.get(&name).is_some_and(|known: &Arc<Schema>| !known.is_same(&schema)) {
                    return Err(CatalogError::DuplicateType(name.to_string()));
                }
                types.insert(name, schema);
            }
            for (own_name, mut operation) in offering.operations {
                operation.source = name.clone();
                operation.place = mount.place.clone();
                operation.trust = mount.trust.unwrap_or(operation.trust);
                // Nobody chose what an upstream calls its tools: a name too long or already there must not keep the
                // others from being served.
                let is_free = |name: &str| operation.native || !routes.contains_key(name);
                if operation.name.len() > LONGEST_NAME || !is_free(&operation.name) {
                    operation.name = marked(&operation.name, is_free).into();
                }
                if gate.may_confirm(&operation) {
                    operation.take_token();
                }
                routes.insert(operation.name.clone(), Route { source: mount.source.clone(), name: own_name });
                operations.push(operation);
            }
        }
        let catalog = Catalog::build(operations, types, &surface)?;
        let tools = surface.tools(&catalog).into();
        let details = catalog.operations().iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            catalog,
            surface,
            tools,
            facts,
            routes,
            index: OnceLock::new(),
            cache: Cache { details, ..Cache::default() },
        })
    }

    /// The operations and types.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Which tools a client sees.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The tools themselves.
    pub fn tools(&self) -> &Arc<[Tool]> {
        &self.tools
    }

    pub(crate) fn answers(&self) -> Answers<'_> {
        Answers { catalog: &self.catalog, surface: &self.surface, facts: &self.facts }
    }

    pub(crate) fn route(&self, operation: &str) -> Option<&Route> {
        self.routes.get(operation)
    }

    /// The search index, made when first needed.
    pub(crate) fn index(&self) -> &SearchIndex {
        self.index.get_or_init(|| {
            SearchIndex::build(self.catalog.operations().iter().map(|operation| {
                Document {
                    name: &operation.name,
                    category: operation.category.as_str(),
                    description: &operation.description,
                    parameters: operation
                        .parameters
                        .iter()
                        .map(|parameter| {
                            (&*parameter.name, parameter.schema.description.as_deref().unwrap_or_default())
                        })
                        .collect(),
                }
            }))
        })
    }
}

/// The name, cut where it is too long, with a mark of the whole so that two of them stay apart.
fn marked(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    const MARK: usize = 6;
    let kept: String = name.chars().take(LONGEST_NAME - MARK).collect();
    let mut made = String::new();
    for round in 0..1_000_u64 {
        // FNV-1a: the same on every machine and in every version.
        let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ round, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        made = format!("{}_{:05x}", kept.trim_end_matches('_'), (digest >> 20) & 0xf_ffff);
        if is_free(&made) {
            break;
        }
    }
    made
}

struct Prefixed {
    operations: Vec<(Arc<str>, Operation)>,
    types: Types,
}

/// The offering under a prefix: types too, because two sources may each have a `Task`.
fn prefixed(offering: Offering, prefix: &str) -> Prefixed {
    if prefix.is_empty() {
        let operations = offering.operations.into_iter().map(|operation| (operation.name.clone(), operation)).collect();
        return Prefixed { operations, types: offering.types };
    }
    let type_prefix = pascal_case(prefix);
    let own: Vec<Arc<str>> = offering.types.keys().cloned().collect();
    let rename = |name: &str| -> Arc<str> {
        if own.iter().any(|known| &**known == name) { format!("{type_prefix}{name}").into() } else { name.into() }
    };
    let types = offering
        .types
        .iter()
        .map(|(name, schema)| {
            let mut schema = Schema::clone(schema);
            schema.rename_types(&rename);
            (rename(name), Arc::new(schema))
        })
        .collect();
    let operations = offering
        .operations
        .into_iter()
        .map(|mut operation| {
            let own_name = std::mem::replace(&mut operation.name, Arc::from(""));
            operation.name = format!("{prefix}{own_name}").into();
            operation.returns.type_name = rename(&operation.returns.type_name);
            operation.parameters.iter_mut().for_each(|parameter| parameter.schema.rename_types(&rename));
            (own_name, operation)
        })
        .collect();
    Prefixed { operations, types }
}
