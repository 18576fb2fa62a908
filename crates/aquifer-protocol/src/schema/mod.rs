//! Schemas: the part of JSON Schema that callers need.
//!
//! One [`Schema`] is read by the validator, by introspection and by the tool texts, so none of them can disagree.
//! Recursive and shared shapes are [`Kind::Named`] and live in the catalog's [`Types`].

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
pub(crate) use info::type_of;
pub use info::type_words;
pub use pattern::{CompiledPattern, Pattern, PatternBudget, PatternError};
pub(crate) use sample::sample_params;
pub(crate) use sample::without_examples;
pub use sample::{Extent, sample, sample_arguments};
pub(crate) use to_json::json_schema;

/// The named shapes of a catalog.
pub type Types = BTreeMap<Arc<str>, Arc<Schema>>;

/// The shape of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// What kind of value it is.
    pub kind: Kind,
    /// Whether `null` is accepted besides.
    pub nullable: bool,
    /// What it means.
    pub description: Option<Arc<str>>,
    /// The default for an omitted value.
    pub default: Option<Value>,
    /// Whether the source itself fills in the default. It is then shown, and not added to requests: it may have changed.
    pub is_source_default: bool,
    /// A value that its author gives as an example. It may not fit.
    pub example: Option<Value>,
    /// The only values accepted, where there is such a list.
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
    /// How the source compares two values of this text.
    pub comparison: Comparison,
}

/// How a source compares two texts. Policy has to compare as the source does: a rule about `admin` must also hold for
/// `ADMIN` where the database takes both for the same row.
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
    /// In a way only the source knows, such as a collation that ignores accents.
    Unknown,
    /// By what the text means in a syntax of the source's own, such as an interval or a network address: any two texts may
    /// stand for the same value.
    Opaque,
}

/// The kinds of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Kind {
    /// Any JSON value.
    #[default]
    Any,
    /// `null` alone.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// Text.
    String,
    /// A list; of what, if known.
    Array(Option<Box<Schema>>),
    /// An object of this shape.
    Object(Shape),
    /// The type of this name in the catalog.
    Named(Arc<str>),
    /// Any one of these.
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

/// Which fields an object may have besides its known ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Rest {
    /// Nothing.
    Refused,
    /// Anything.
    #[default]
    Free,
    /// Values of this shape.
    Of(Box<Schema>),
}

/// A named value: a parameter of an operation or a field of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameter {
    /// Its canonical name.
    pub name: Arc<str>,
    /// What the source itself calls it, where that differs. Accepted from callers, letter by letter.
    pub original_name: Option<Arc<str>>,
    /// Whether it must be given.
    pub required: bool,
    /// Its shape.
    pub schema: Schema,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// Whether its text may contain NUL.
    pub allow_nul: bool,
    /// Why not to use it any more and what instead.
    pub deprecated: Option<Arc<str>>,
    /// Whether it is part of the query language or of the protocol, and means the same in every operation that has it.
    /// Signatures explain it once.
    pub is_shared: bool,
}

/// Bounds on numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    /// Smallest accepted.
    pub minimum: Option<f64>,
    /// Largest accepted.
    pub maximum: Option<f64>,
    /// Must be larger than this.
    pub above: Option<f64>,
    /// Must be smaller than this.
    pub below: Option<f64>,
    /// Must be a multiple of this.
    pub multiple_of: Option<f64>,
}

/// Bounds on a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Fewest accepted.
    pub min: Option<u64>,
    /// Most accepted.
    pub max: Option<u64>,
}

impl Schema {
    /// A value of this kind without constraints.
    pub fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Text.
    pub fn string() -> Self {
        Self::new(Kind::String)
    }

    /// A whole number between two bounds, both included.
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

    /// An object of these fields and no others.
    pub fn object(fields: Vec<Parameter>) -> Self {
        Self::new(Kind::Object(Shape { fields, rest: Rest::Refused }))
    }

    /// The type of this name in the catalog.
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

    /// The schema itself, or the named type it refers to. Bounded, because names may refer to names.
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
    /// A parameter that must be given.
    pub fn required(name: &str, schema: Schema) -> Self {
        Self { name: name.into(), required: true, schema, ..Self::default() }
    }

    /// A parameter that may be left out.
    pub fn optional(name: &str, schema: Schema) -> Self {
        Self { name: name.into(), schema, ..Self::default() }
    }

    /// The same parameter as part of the query language or of the protocol.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }
}

impl Schema {
    /// Adds the names of the types that the schema itself refers to. Those have references of their own.
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
