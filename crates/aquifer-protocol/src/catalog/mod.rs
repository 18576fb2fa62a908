//! The catalog: every operation and type of one moment, immutable, found by name in constant time.

pub mod category;
mod claims;
pub mod danger;
pub mod operation;
pub mod trust;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::introspect;
use crate::operation::{Example, MAX_CHOSEN_NAME, Operation, RESERVED, is_snake_case};
use crate::protocol_types;
use crate::schema::{Kind, Parameter, Rest, Schema, Types, sample_params};
use crate::surface::Surface;
use crate::validate::accepts;

/// Every operation and type of one moment.
#[derive(Debug)]
pub struct Catalog {
    operations: Vec<Arc<Operation>>,
    by_name: HashMap<Arc<str>, usize, foldhash::fast::RandomState>,
    types: Arc<Types>,
    sources: Vec<Arc<str>>,
    digest: u64,
}

/// Why a catalog cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The name is not snake_case, or too long.
    #[error("operation name '{0}' is not valid: use lower-case snake_case of at most {MAX_CHOSEN_NAME} characters")]
    InvalidName(String),
    /// The protocol keeps the name for itself.
    #[error("operation name '{0}' is reserved by the protocol")]
    ReservedName(String),
    /// Two operations share the name.
    #[error("operation '{0}' is defined twice")]
    DuplicateOperation(String),
    /// A parameter's name is not snake_case or occurs twice.
    #[error("parameter '{1}' of operation '{0}' is not valid: parameters are snake_case and unique")]
    InvalidParameter(String, String),
    /// An UPDATE of a native source has no `input` object.
    #[error("operation '{0}' is an UPDATE: it needs a required object parameter 'input' with the fields to change")]
    UpdateWithoutInput(String),
    /// What finds a resource stands among what can be changed.
    #[error("operation '{0}' has '{1}' beside 'input' and inside it: an identifier cannot be changed")]
    IdentifierInInput(String, String),
    /// Two different types share a name.
    #[error("two different types are called '{0}': rename one of them")]
    DuplicateType(String),
}

impl Catalog {
    /// Builds the catalog of these operations and types, with `introspect` among them.
    pub fn build(
        operations: impl IntoIterator<Item = Operation>,
        types: Types,
        surface: &Surface,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self::from_parts(operations, types)?;
        let introspect = introspect::definition(&catalog, surface);
        catalog.operations.push(Arc::new(introspect));
        catalog.index(surface);
        Ok(catalog)
    }

    /// Builds a catalog without introspection, for operations that exist but are not shown to callers.
    pub fn unlisted(
        operations: impl IntoIterator<Item = Operation>,
        types: Types,
        surface: &Surface,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self::from_parts(operations, types)?;
        catalog.index(surface);
        Ok(catalog)
    }

    /// Checks whether an operation is valid in a catalog with these types.
    pub fn check(operation: &Operation, types: &Types) -> Result<(), CatalogError> {
        check(operation, types)
    }

    fn from_parts(operations: impl IntoIterator<Item = Operation>, types: Types) -> Result<Self, CatalogError> {
        let mut catalog = Self {
            operations: Vec::new(),
            by_name: HashMap::default(),
            types: Arc::new(protocol_types::all()),
            sources: Vec::new(),
            digest: 0,
        };
        for (name, schema) in types {
            if catalog.types.get(&name).is_some_and(|known| !known.is_same(&schema)) {
                return Err(CatalogError::DuplicateType(name.to_string()));
            }
            Arc::make_mut(&mut catalog.types).insert(name, schema);
        }
        let mut names = TypeNames::default();
        for operation in operations {
            check(&operation, &catalog.types)?;
            let mut operation = catalog.name_nested_objects(operation, &mut names);
            if operation.examples.is_empty() {
                let params = sample_params(&operation.parameters, &catalog.types);
                let example = params.map(|params| Example { description: None, params });
                // A made-up example that its own operation would refuse is worse than none.
                let works = |example: &Example| accepts(&operation, &catalog.types, example.params.clone());
                operation.examples.extend(example.filter(works));
            }
            catalog.add(operation)?;
        }
        catalog.operations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(catalog)
    }

    fn index(&mut self, surface: &Surface) {
        self.by_name = self.operations.iter().enumerate().map(|(index, op)| (op.name.clone(), index)).collect();
        self.digest = digest(self, surface);
    }

    /// A digest of everything that introspection shows. It is the same in every process.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    fn add(&mut self, operation: Operation) -> Result<(), CatalogError> {
        let index = self.operations.len();
        if self.by_name.insert(operation.name.clone(), index).is_some() {
            return Err(CatalogError::DuplicateOperation(operation.name.to_string()));
        }
        if !operation.source.is_empty() && !self.sources.contains(&operation.source) {
            self.sources.push(operation.source.clone());
        }
        self.operations.push(Arc::new(operation));
        Ok(())
    }

    /// Gives every nested object shape a name, so that introspection can explain it (R-INT-2).
    fn name_nested_objects(&mut self, mut operation: Operation, names: &mut TypeNames) -> Operation {
        let base = pascal_case(&operation.name);
        let types = Arc::make_mut(&mut self.types);
        for parameter in &mut operation.parameters {
            let name = format!("{base}{}", pascal_case(&parameter.name));
            names.name_objects(&mut parameter.schema, &name, types);
        }
        names.name_inside(&operation.returns.type_name, types);
        operation
    }

    /// Every operation, by name, `introspect` last.
    pub fn operations(&self) -> &[Arc<Operation>] {
        &self.operations
    }

    /// The operation of this name.
    pub fn operation(&self, name: &str) -> Option<&Arc<Operation>> {
        self.position(name).and_then(|index| self.operations.get(index))
    }

    /// The index of the operation of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The named types.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// The sources that have operations here.
    pub fn sources(&self) -> &[Arc<str>] {
        &self.sources
    }

    /// The conformance level that is claimed, where one can be granted (R-CON-2).
    pub fn conformance(&self) -> Option<&'static str> {
        claims::conformance(self.operations.iter().map(|operation| &**operation))
    }

    /// The capabilities that are claimed.
    pub fn capabilities(&self, confirmation: bool) -> serde_json::Value {
        claims::capabilities(self.operations.iter().map(|operation| &**operation), confirmation)
    }
}

fn digest(catalog: &Catalog, surface: &Surface) -> u64 {
    let mut hasher = Fnv::default();
    for operation in &catalog.operations {
        let details = introspect::operation_details(Some(operation), catalog, surface, introspect::Detail::Standard);
        // Hashing cannot fail, and neither can writing a value.
        let _ = serde_json::to_writer(&mut hasher, &details);
        // Not shown to callers, but policy depends on it, so it makes another catalog.
        let Operation { danger, trust, safeguards, own_name, generic_name, backing, quarantine, .. } = &**operation;
        let judged = format_args!("{danger}{trust}{safeguards:?}{own_name}{generic_name:?}{backing:?}{quarantine:?}");
        let _ = std::io::Write::write_fmt(&mut hasher, judged);
    }
    for name in catalog.types.keys() {
        let _ = serde_json::to_writer(&mut hasher, &introspect::type_details(name, &catalog.types));
    }
    hasher.0
}

/// FNV-1a: unlike the standard hasher it promises the same number in every process and version.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl std::io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn check(operation: &Operation, types: &Types) -> Result<(), CatalogError> {
    let name = || operation.name.to_string();
    if RESERVED.contains(&&*operation.name) {
        return Err(CatalogError::ReservedName(name()));
    }
    if !is_snake_case(&operation.name) || operation.name.len() > MAX_CHOSEN_NAME {
        return Err(CatalogError::InvalidName(name()));
    }
    let mut seen: HashSet<&str> = HashSet::with_capacity(operation.parameters.len());
    for parameter in &operation.parameters {
        if !is_snake_case(&parameter.name) || !seen.insert(&parameter.name) {
            return Err(CatalogError::InvalidParameter(name(), parameter.name.to_string()));
        }
    }
    if operation.takes_changes() {
        let input = operation.parameter("input").filter(|input| input.required);
        let Some(Kind::Object(shape)) = input.map(|input| &input.schema.resolve(types).kind) else {
            return Err(CatalogError::UpdateWithoutInput(name()));
        };
        if let Some(field) = shape.fields.iter().find(|field| seen.contains(&*field.name)) {
            return Err(CatalogError::IdentifierInInput(name(), field.name.to_string()));
        }
    }
    Ok(())
}

/// Longer names of types are cut: nested objects would otherwise carry the names of everything around them.
const MAX_TYPE_NAME: usize = 120;

/// Names for shapes that have none. Remembers which names collided, so that a thousand shapes that want one name are
/// named in a thousand steps.
#[derive(Default)]
struct TypeNames {
    /// The next number to try behind a name that is taken.
    next: HashMap<Arc<str>, u64>,
    /// The names of shapes that could not have the name they wanted, by that name and the shape's digest.
    by_shape: HashMap<(Arc<str>, u64), Arc<str>>,
    /// The types of results whose inner objects have names.
    named_inside: HashSet<Arc<str>>,
}

impl TypeNames {
    /// Gives names to the objects inside a type of results.
    fn name_inside(&mut self, name: &Arc<str>, types: &mut Types) {
        let Some(schema) = types.get(name) else { return };
        let Kind::Object(shape) = &schema.kind else { return };
        let is_nested =
            |field: &Parameter| matches!(field.schema.kind, Kind::Object(_) | Kind::Array(_) | Kind::Union(_));
        if !shape.fields.iter().any(is_nested) || !self.named_inside.insert(name.clone()) {
            return;
        }
        let mut schema = Schema::clone(schema);
        if let Kind::Object(shape) = &mut schema.kind {
            self.name_fields(&mut shape.fields, name, types);
        }
        types.insert(name.clone(), Arc::new(schema));
    }

    fn name_objects(&mut self, schema: &mut Schema, name: &str, types: &mut Types) {
        let name = &*fitted(name);
        match &mut schema.kind {
            Kind::Object(shape) if !shape.fields.is_empty() => {
                let mut shape = std::mem::take(shape);
                self.name_fields(&mut shape.fields, name, types);
                if let Rest::Of(rest) = &mut shape.rest {
                    self.name_objects(rest, &format!("{name}Value"), types);
                }
                let named = Schema { description: schema.description.clone(), ..Schema::new(Kind::Object(shape)) };
                schema.kind = Kind::Named(self.enter(name, named, types));
            }
            Kind::Array(Some(items)) => self.name_objects(items, &format!("{name}Item"), types),
            Kind::Union(members) => {
                for (index, member) in members.iter_mut().enumerate() {
                    self.name_objects(member, &format!("{name}Option{}", index + 1), types);
                }
            }
            _ => {}
        }
    }

    fn name_fields(&mut self, fields: &mut [Parameter], base: &str, types: &mut Types) {
        for field in fields {
            let name = format!("{base}{}", pascal_case(&field.name));
            self.name_objects(&mut field.schema, &name, types);
        }
    }

    /// Enters a type under its name, or under the next free one if another type has it.
    fn enter(&mut self, name: &str, schema: Schema, types: &mut Types) -> Arc<str> {
        let wanted: Arc<str> = name.into();
        match types.get(&wanted) {
            None => {
                types.insert(wanted.clone(), Arc::new(schema));
                return wanted;
            }
            Some(known) if known.is_same(&schema) => return wanted,
            Some(_) => {}
        }
        let mut digest = Fnv::default();
        // Hashing cannot fail.
        let _ = std::io::Write::write_fmt(&mut digest, format_args!("{schema:?}"));
        let key = (wanted.clone(), digest.0);
        if let Some(given) = self.by_shape.get(&key)
            && types.get(given).is_some_and(|known| known.is_same(&schema))
        {
            return given.clone();
        }
        let next = self.next.entry(wanted).or_insert(2);
        let given: Arc<str> = loop {
            let candidate = format!("{name}{next}");
            *next += 1;
            match types.get(candidate.as_str()) {
                Some(known) if !known.is_same(&schema) => {}
                _ => break candidate.into(),
            }
        };
        types.entry(given.clone()).or_insert_with(|| Arc::new(schema));
        self.by_shape.insert(key, given.clone());
        given
    }
}

/// The name, cut where it is too long, with a digest of the whole so that two of them stay apart.
fn fitted(name: &str) -> std::borrow::Cow<'_, str> {
    if name.len() <= MAX_TYPE_NAME {
        return name.into();
    }
    let mut digest = Fnv::default();
    let _ = std::io::Write::write_all(&mut digest, name.as_bytes());
    let kept: String = name.chars().take(MAX_TYPE_NAME / 2).collect();
    format!("{kept}{:08x}", digest.0 >> 32).into()
}

/// `create_task` as `CreateTask`.
pub fn pascal_case(name: &str) -> String {
    name.split(|c: char| !c.is_alphanumeric())
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters)
        })
        .collect()
}
