//! The schemas of a description. Each is read once and shared by all operations.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::schema::{Kind, Schema, SchemaReader, Types};
use serde_json::Value;

use super::document::Document;
use super::sanitize::Cleaner;
use super::type_names::{MissingReferences, TakenNames, TypeNames};

/// The maximum number of schemas that are read. A description of a thousand operations has about a hundred thousand.
const MAX_STEPS: usize = 2_000_000;

/// The maximum number of result types of the same name that are compared with a new one.
const MAX_COMPARED: usize = 16;

/// A type and its name.
type NamedType = (Arc<str>, Arc<Schema>);

/// Reads the schemas of a description.
pub(super) struct Schemas<'d> {
    reader: SchemaReader<'d>,
    missing: MissingReferences,
    taken: TakenNames,
    pub(super) cleaner: Cleaner,
    /// Types that are created here for results, each with its preferred name.
    made: HashMap<String, Vec<NamedType>>,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(document: &'d Document<'d>) -> Self {
        let missing = MissingReferences::default();
        let taken = TakenNames::default();
        let names = TypeNames::new(document, taken.clone(), missing.clone());
        Self {
            reader: SchemaReader::with_definitions(names, MAX_STEPS),
            missing,
            taken,
            cleaner: Cleaner::default(),
            made: HashMap::new(),
        }
    }

    /// Reads a schema and cleans it.
    pub(super) fn read(&mut self, json: &Value) -> Schema {
        let mut schema = self.reader.read(json);
        self.cleaner.schema(&mut schema);
        schema
    }

    /// Reads a schema without cleaning it, for callers that use parts of it.
    pub(super) fn read_raw(&mut self, json: &Value) -> Schema {
        self.reader.read(json)
    }

    /// The types read so far, not yet cleaned.
    pub(super) fn types(&self) -> &Types {
        self.reader.types()
    }

    /// The type name for a result. Lists and objects get a name of their own. `None` if nothing is known about the
    /// result.
    pub(super) fn name_result(&mut self, schema: Schema, fallback: &str) -> Option<Arc<str>> {
        let wanted = match &schema.kind {
            Kind::Named(name) => return Some(name.clone()),
            Kind::Array(Some(items)) => match &items.kind {
                Kind::Named(item) => format!("{item}List"),
                _ => fallback.to_owned(),
            },
            Kind::Array(None) | Kind::Object(_) | Kind::Union(_) => fallback.to_owned(),
            _ => return None,
        };
        let made = self.made.entry(wanted.clone()).or_default();
        if let Some((name, _)) = made.iter().take(MAX_COMPARED).find(|(_, known)| known.is_same(&schema)) {
            return Some(name.clone());
        }
        let name = self.taken.claim(&wanted);
        made.push((name.clone(), Arc::new(schema)));
        Some(name)
    }

    /// Notes for the operator about the schemas.
    pub(super) fn notes(&self) -> Vec<String> {
        let missing = self.missing.borrow();
        let mut notes = Vec::new();
        if let Some((_, reason)) = missing.first_key_value() {
            let more = match missing.len() - 1 {
                0 => String::new(),
                1 => " (and 1 more)".to_owned(),
                more => format!(" (and {more} more)"),
            };
            notes.push(format!("A schema accepts anything where a reference cannot be followed: {reason}{more}."));
        }
        if !self.reader.is_complete() {
            notes.push("The description has too many schemas; the remaining ones accept anything.".to_owned());
        }
        notes
    }

    /// All types, cleaned.
    pub(super) fn into_types(self) -> Types {
        let mut cleaner = self.cleaner;
        let mut types = self.reader.into_types();
        types.values_mut().for_each(|schema| cleaner.schema(Arc::make_mut(schema)));
        types.extend(self.made.into_values().flatten());
        types
    }
}
