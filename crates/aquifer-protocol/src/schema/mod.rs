//! Schemas: the part of JSON Schema that callers need.
//!
//! Validation, introspection and tool descriptions all read the same [`Schema`], so they cannot disagree. Recursive and
//! shared shapes are [`Kind::Named`] and stored in the catalog's [`Types`].

mod definitions;
mod format;
mod from_json;
mod info;
mod intersect;
mod pattern;
mod pattern_sample;
mod sample;
mod size;
mod to_json;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use definitions::{Definition, Definitions};
pub use format::Format;
pub use from_json::SchemaReader;
pub(crate) use info::ParameterInfo;
pub(crate) use info::number;
pub(crate) use info::type_of;
pub use info::type_words;
pub use pattern::{Pattern, PatternBudget};
pub(crate) use sample::certain_params;
pub(crate) use sample::sample_params;
pub(crate) use sample::without_examples;
pub use sample::{Extent, sample, sample_arguments};
pub(crate) use to_json::json_schema;

/// The named shapes of a catalog.
pub type Types = BTreeMap<Arc<str>, Arc<Schema>>;

/// The shape of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// The kind of value.
    pub kind: Kind,
    /// Whether `null` is accepted in addition.
    pub nullable: bool,
    /// The description.
    pub description: Option<Arc<str>>,
    /// The default for an omitted value.
    pub default: Option<Value>,
    /// Whether the source itself applies the default. The default is then documented but not added to requests, because
    /// it may have changed.
    pub is_source_default: bool,
    /// The author's example, which may be invalid.
    pub example: Option<Value>,
    /// The list of accepted values, if there is one.
    pub allowed: Option<Arc<[Value]>>,
    /// Bounds on numbers.
    pub range: Range,
    /// Bounds on the number of characters of a string.
    pub length: Span,
    /// Bounds on the number of elements of an array.
    pub items: Span,
    /// Whether the elements of an array must differ.
    pub unique_items: bool,
    /// A pattern that a string must match.
    pub pattern: Option<Pattern>,
    /// A format that a string must have.
    pub format: Option<Format>,
    /// Set by the source, never by a caller.
    pub read_only: bool,
    /// How the source compares texts.
    pub comparison: Comparison,
}

/// How a source compares two texts. Policy has to compare as the source does: a rule about `admin` must also apply to
/// `ADMIN` if the database considers them equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Character by character.
    #[default]
    Exact,
    /// Ignoring case.
    IgnoreCase,
    /// Ignoring trailing blanks.
    IgnoreTrailingBlanks,
    /// As UUIDs: case, braces and hyphens do not matter.
    Uuid,
    /// By rules that only the source knows, such as a collation that ignores accents.
    Unknown,
    /// By a meaning that only the source knows, such as that of an interval or a network address. Any two texts may be
    /// equal.
    Opaque,
}

/// The kinds of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Kind {
    /// Any JSON value.
    #[default]
    Any,
    /// Only `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// Text.
    String,
    /// A list, with its element type if known.
    Array(Option<Box<Schema>>),
    /// An object with this shape.
    Object(Shape),
    /// The type with this name in the catalog.
    Named(Arc<str>),
    /// One of several alternatives.
    Union(Vec<Schema>),
}

/// The fields of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// The fields that are known.
    pub fields: Vec<Parameter>,
    /// Which other fields are allowed.
    pub rest: Rest,
}

/// Which undeclared fields an object may have.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Rest {
    /// None.
    Refused,
    /// Any fields.
    #[default]
    Free,
    /// Fields with values of this shape.
    Of(Box<Schema>),
    /// Any fields. The declared ones are only documented here: the parser that reads the object checks all of them, and
    /// knows in which place a name is a keyword.
    Documented,
}

/// A named value: a parameter of an operation or a field of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameter {
    /// Its canonical name.
    pub name: Arc<str>,
    /// The source's own name, if it differs. Accepted from callers in exactly this spelling.
    pub original_name: Option<Arc<str>>,
    /// Whether it is required.
    pub required: bool,
    /// Its shape.
    pub schema: Schema,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// Whether its text may contain NUL.
    pub allow_nul: bool,
    /// Set if it should no longer be used.
    pub deprecated: Option<Deprecation>,
    /// Whether it belongs to the query language or the protocol, so that it means the same in every operation.
    /// Signatures explain it once.
    pub is_shared: bool,
}

/// Marks an operation or a parameter that still works but should no longer be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deprecation {
    /// What to use instead, as a sentence. `None` if the source does not say, except perhaps in a description.
    pub advice: Option<Arc<str>>,
}

/// Bounds on numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    /// The minimum.
    pub minimum: Option<f64>,
    /// The maximum.
    pub maximum: Option<f64>,
    /// The exclusive minimum.
    pub above: Option<f64>,
    /// The exclusive maximum.
    pub below: Option<f64>,
    /// The number that values must be a multiple of.
    pub multiple_of: Option<f64>,
}

/// Bounds on a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The minimum.
    pub min: Option<u64>,
    /// The maximum.
    pub max: Option<u64>,
}

impl Schema {
    /// A schema of this kind without constraints.
    pub fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Text.
    pub fn string() -> Self {
        Self::new(Kind::String)
    }

    /// A whole number between two bounds, inclusive.
    pub fn integer(minimum: f64, maximum: f64) -> Self {
        Self {
            range: Range { minimum: Some(minimum), maximum: Some(maximum), ..Range::default() },
            ..Self::new(Kind::Integer)
        }
    }

    /// One of these words.
    pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { allowed: Some(words.into_iter().map(Value::from).collect()), ..Self::string() }
    }

    /// An object with exactly these fields.
    pub fn object(fields: Vec<Parameter>) -> Self {
        Self::new(Kind::Object(Shape { fields, rest: Rest::Refused }))
    }

    /// The type with this name in the catalog.
    pub fn named(name: &str) -> Self {
        Self::new(Kind::Named(name.into()))
    }

    /// Whether two schemas are equivalent.
    pub fn is_same(&self, other: &Schema) -> bool {
        self == other
    }

    /// Adds a description.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The schema itself, or the named type it refers to. Limited in steps, because names may refer to names.
    pub fn resolve<'a>(&'a self, types: &'a Types) -> &'a Schema {
        let mut schema = self;
        for _ in 0..16 {
            match &schema.kind {
                Kind::Named(name) => match types.get(name) {
                    Some(target) => schema = target,
                    None => return schema,
                },
                _ => return schema,
            }
        }
        schema
    }
}

impl Parameter {
    /// A required parameter.
    pub fn required(name: &str, schema: Schema) -> Self {
        Self { name: name.into(), required: true, schema, ..Self::default() }
    }

    /// An optional parameter.
    pub fn optional(name: &str, schema: Schema) -> Self {
        Self { name: name.into(), schema, ..Self::default() }
    }

    /// Marks the parameter as part of the query language or the protocol.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }
}

impl Schema {
    /// Adds the names of the types that the schema refers to directly.
    pub fn references(&self, found: &mut Vec<Arc<str>>) {
        match &self.kind {
            Kind::Named(name) => found.push(name.clone()),
            Kind::Array(Some(items)) => items.references(found),
            Kind::Union(members) => members.iter().for_each(|member| member.references(found)),
            Kind::Object(shape) => {
                shape.fields.iter().for_each(|field| field.schema.references(found));
                if let Rest::Of(rest) = &shape.rest {
                    rest.references(found);
                }
            }
            _ => {}
        }
    }

    /// Renames every type the schema refers to.
    pub fn rename_types(&mut self, rename: &dyn Fn(&str) -> Arc<str>) {
        match &mut self.kind {
            Kind::Named(name) => *name = rename(name),
            Kind::Array(Some(items)) => items.rename_types(rename),
            Kind::Union(members) => members.iter_mut().for_each(|member| member.rename_types(rename)),
            Kind::Object(shape) => {
                shape.fields.iter_mut().for_each(|field| field.schema.rename_types(rename));
                if let Rest::Of(rest) = &mut shape.rest {
                    rest.rename_types(rename);
                }
            }
            _ => {}
        }
    }
}
