//! The description of a collection: everything a query can refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A collection of items with the same fields.
#[derive(Debug, Clone, Default)]
pub struct Collection {
    /// Its name, for messages.
    pub name: Arc<str>,
    /// Its fields, in the order they are shown.
    pub fields: Vec<Field>,
    /// Computed values.
    pub computed: Vec<ComputedValue>,
    /// References to other collections, which paths can follow.
    pub references: Vec<Reference>,
    /// The fields that together identify an item. Every order ends with them.
    pub key: Vec<Arc<str>>,
    /// The fields that a text search covers.
    pub text: Vec<Arc<str>>,
    /// Presets in addition to minimal, standard and full.
    pub presets: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// The page limits.
    pub pages: PageLimits,
    /// Whether the fields are not fully known. Then any path is accepted, and one that matches nothing is a warning.
    pub open: bool,
    /// Whether every item has a version, available as `_etag` (R-COL-12).
    pub versions: bool,
}

/// A field of every item.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub field_type: FieldType,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// What it means.
    pub description: Option<Arc<str>>,
}

/// A value computed for each item.
#[derive(Debug, Clone)]
pub struct ComputedValue {
    /// Its name under `_computed`.
    pub name: Arc<str>,
    /// Its type.
    pub field_type: FieldType,
    /// What it means.
    pub description: Option<Arc<str>>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

/// A reference to items of another collection. A path follows it by name: `site.title`.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Its name in paths and answers.
    pub name: Arc<str>,
    /// Other names that paths may use, such as the name of the referring field.
    pub aliases: Vec<Arc<str>>,
    /// The index of the other collection in [`Related`].
    pub to: usize,
    /// How many items it leads to.
    pub cardinality: Cardinality,
}

/// How many items a reference leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cardinality {
    /// At most one.
    One,
    /// Any number: the items of the other collection that refer to this one.
    Many,
}

/// The collections that references lead to.
pub trait Related: Send + Sync {
    /// The collection of a reference.
    fn collection(&self, index: usize) -> Option<&Collection>;
}

/// For collections without references.
struct Unrelated;

impl Related for Unrelated {
    fn collection(&self, _: usize) -> Option<&Collection> {
        None
    }
}

/// The collection that a query starts from, and those that its references lead to.
#[derive(Clone, Copy)]
pub struct QueryRoot<'a> {
    collection: &'a Collection,
    related: &'a dyn Related,
}

impl<'a> QueryRoot<'a> {
    /// A collection whose references can be followed.
    pub fn new(collection: &'a Collection, related: &'a dyn Related) -> Self {
        Self { collection, related }
    }

    /// The collection that a reference leads to, with its own references.
    pub(crate) fn follow(self, reference: &Reference) -> Option<Self> {
        Some(Self { collection: self.related.collection(reference.to)?, related: self.related })
    }

    /// The collection itself.
    pub(crate) fn collection(self) -> &'a Collection {
        self.collection
    }
}

impl<'a> From<&'a Collection> for QueryRoot<'a> {
    fn from(collection: &'a Collection) -> Self {
        Self { collection, related: &Unrelated }
    }
}

impl<'a> From<&'a Arc<Collection>> for QueryRoot<'a> {
    fn from(collection: &'a Arc<Collection>) -> Self {
        Self::from(&**collection)
    }
}

impl std::ops::Deref for QueryRoot<'_> {
    type Target = Collection;

    fn deref(&self) -> &Collection {
        self.collection
    }
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Text.
    Text,
    /// One of these strings.
    Enum(Arc<[Arc<str>]>),
    /// A whole number.
    Integer,
    /// Any number, exact or not.
    Number,
    /// A boolean.
    Boolean,
    /// A timestamp.
    Time,
    /// A date.
    Date,
    /// A UUID.
    Uuid,
    /// Bytes, in base64.
    Bytes,
    /// A list, with the element type if known.
    List(Option<Box<FieldType>>),
    /// Any JSON value; paths can refer to values inside it.
    Json,
}

/// The limits of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The page size if the caller sets none.
    pub default_size: usize,
    /// The maximum page size.
    pub max_size: usize,
    /// A page ends before it exceeds this many bytes (R-COL-7a).
    pub max_bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { default_size: 20, max_size: 100, max_bytes: 64 * 1024 }
    }
}

impl FieldType {
    /// The name of the type in introspection.
    pub fn type_name(&self) -> &'static str {
        match self {
            FieldType::Text
            | FieldType::Enum(_)
            | FieldType::Time
            | FieldType::Date
            | FieldType::Uuid
            | FieldType::Bytes => "string",
            FieldType::Integer => "integer",
            FieldType::Number => "number",
            FieldType::Boolean => "boolean",
            FieldType::List(_) => "array",
            FieldType::Json => "any",
        }
    }

    /// Whether values can be summed.
    pub fn is_numeric(&self) -> bool {
        matches!(self, FieldType::Integer | FieldType::Number)
    }

    /// Whether values are ordered.
    pub fn is_ordered(&self) -> bool {
        !matches!(self, FieldType::List(_) | FieldType::Json | FieldType::Bytes)
    }

    /// Whether paths can refer to values inside it.
    pub fn has_paths(&self) -> bool {
        matches!(self, FieldType::Json)
    }
}

impl Collection {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// The computed value of this name.
    pub fn computed(&self, name: &str) -> Option<&ComputedValue> {
        self.computed.iter().find(|computed| &*computed.name == name)
    }

    /// The reference of this name.
    pub fn reference(&self, name: &str, cardinality: Cardinality) -> Option<&Reference> {
        let mut all = self.references.iter().filter(|reference| reference.cardinality == cardinality);
        let has_alias = |reference: &&Reference| reference.aliases.iter().any(|alias| **alias == *name);
        all.clone().find(|reference| &*reference.name == name).or_else(|| all.find(has_alias))
    }

    /// The names of the fields that match.
    pub fn names(&self, fits: impl Fn(&Field) -> bool) -> Vec<&str> {
        self.fields.iter().filter(|field| fits(field)).map(|field| &*field.name).collect()
    }

    /// The fields of a preset. `minimal` is the key and the first text field; `standard` is everything except bulky fields.
    pub fn preset(&self, name: &str) -> Option<Vec<Arc<str>>> {
        if let Some(own) = self.presets.get(name) {
            return Some(own.clone());
        }
        let all = self.fields.iter().map(|field| &field.name);
        match name {
            "full" => Some(all.cloned().collect()),
            "standard" => {
                // The key stays: without it the caller could not refer to the item.
                let bulky = |field: &&Field| {
                    matches!(field.field_type, FieldType::Bytes | FieldType::Json) && !self.key.contains(&field.name)
                };
                Some(self.fields.iter().filter(|field| !bulky(field)).map(|field| field.name.clone()).collect())
            }
            "minimal" => {
                let title = self.text.first();
                Some(all.filter(|name| self.key.contains(name) || title == Some(name)).cloned().collect())
            }
            _ => None,
        }
    }

    /// The names of all presets.
    pub fn preset_names(&self) -> Vec<&str> {
        let own =
            self.presets.keys().map(|name| &**name).filter(|name| !["minimal", "standard", "full"].contains(name));
        ["minimal", "standard", "full"].into_iter().chain(own).collect()
    }
}
