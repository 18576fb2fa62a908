//! What is known about the results of an operation before it is called. It decides which controls are offered
//! (R-DIS-8a).

use aquifer_protocol::operation::RowPlace;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};
use serde_json::{Map, Value};

use super::row_location;

/// What is known about the results of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResultShape {
    /// Nothing.
    #[default]
    Unknown,
    /// Text, or an object around a text.
    Text,
    /// A number or a truth value.
    Scalar,
    /// An object that is not known to contain rows, or contains several lists of which none is named as the rows.
    Structured,
    /// Rows.
    Rows(RowPlace),
}

/// How deep a declared type is examined. Rows are not searched for below.
const MAX_DEPTH: usize = 5;

/// How many values of a declared type are examined.
const MAX_VALUES: usize = 2_000;

impl ResultShape {
    /// What a declared type says. Rows are located in an example of the type by the same search as in a result, so that
    /// both agree. A list of values inside an object is not taken for rows.
    pub fn declared(schema: &Schema, types: &Types) -> Self {
        Self::declared_within(schema, types, 0)
    }

    fn declared_within(schema: &Schema, types: &Types, depth: usize) -> Self {
        let schema = schema.resolve(types);
        match &schema.kind {
            Kind::String => ResultShape::Text,
            Kind::Integer | Kind::Number | Kind::Boolean | Kind::Null => ResultShape::Scalar,
            Kind::Any | Kind::Named(_) => ResultShape::Unknown,
            Kind::Array(_) => ResultShape::Rows(RowPlace::known("$")),
            Kind::Object(shape) if is_text(&shape.fields, types) => ResultShape::Text,
            Kind::Object(shape) if has_content_blocks(&shape.fields, types) => ResultShape::Unknown,
            Kind::Object(_) => {
                let mut left = MAX_VALUES;
                Self::located(&example(schema, types, 0, &mut left))
            }
            Kind::Union(members) => match only_member(members) {
                // A type may refer to itself.
                Some(only) if depth < MAX_DEPTH => Self::declared_within(only, types, depth + 1),
                _ => ResultShape::Unknown,
            },
        }
    }

    fn located(example: &Value) -> Self {
        match row_location::search(example).filter(|location| location.has_objects) {
            Some(location) => ResultShape::Rows(location.place(example)),
            None => ResultShape::Structured,
        }
    }

    /// The same, if it says where rows are; else what an earlier result says. The operator's path comes first.
    #[must_use]
    pub fn with(self, configured: Option<&str>, observed: Option<&ResultShape>) -> Self {
        match (configured, &self, observed) {
            (Some(path), _, _) => ResultShape::Rows(RowPlace::configured(path)),
            (None, ResultShape::Rows(_), _) => self,
            (None, _, Some(rows @ ResultShape::Rows(_))) => rows.clone(),
            (None, ResultShape::Unknown, Some(observed)) => observed.clone(),
            (None, _, _) => self,
        }
    }

    /// Where the rows are.
    pub fn rows(&self) -> RowPlace {
        match self {
            ResultShape::Rows(place) => place.clone(),
            ResultShape::Unknown | ResultShape::Text | ResultShape::Scalar | ResultShape::Structured => {
                RowPlace::Unknown
            }
        }
    }
}

/// The name of the type of the rows, if they have one.
pub(super) fn row_type<'a>(schema: &'a Schema, types: &'a Types, place: &RowPlace) -> Option<&'a str> {
    let RowPlace::Path { path, .. } = place else { return None };
    let location = row_location::RowLocation::parse(path);
    let step = |schema: &'a Schema, name: &str| -> Option<&'a Schema> {
        let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
        shape.fields.iter().find(|field| own_name(field) == name).map(|field| &field.schema)
    };
    let list = location.list_path.iter().try_fold(schema, |schema, name| step(schema, name))?;
    let Kind::Array(Some(row)) = &list.resolve(types).kind else { return None };
    let row = location.row_path.iter().try_fold(&**row, |schema, name| step(schema, name))?;
    match &row.kind {
        Kind::Named(name) => Some(name),
        _ => None,
    }
}

fn own_name(field: &Parameter) -> &str {
    field.original_name.as_deref().unwrap_or(&field.name)
}

/// Whether an object has one field, which is text: many servers declare their text results so.
fn is_text(fields: &[Parameter], types: &Types) -> bool {
    matches!(fields, [only] if only.schema.resolve(types).kind == Kind::String)
}

/// Whether an object has content blocks of MCP: an image or a text is not a row.
fn has_content_blocks(fields: &[Parameter], types: &Types) -> bool {
    let Some(content) = fields.iter().find(|field| own_name(field) == "content") else { return false };
    let Kind::Array(Some(block)) = &content.schema.resolve(types).kind else { return false };
    let Kind::Object(block) = &block.resolve(types).kind else { return false };
    let has = |name: &str| block.fields.iter().any(|field| own_name(field) == name);
    has("type") && (has("text") || (has("data") && has("mimeType")))
}

/// The only alternative besides null.
fn only_member(members: &[Schema]) -> Option<&Schema> {
    let mut members = members.iter().filter(|member| member.kind != Kind::Null);
    members.next().filter(|_| members.next().is_none())
}

/// A value of a declared type in which rows can be located: its objects and lists.
fn example(schema: &Schema, types: &Types, depth: usize, left: &mut usize) -> Value {
    let Some(fewer) = left.checked_sub(1).filter(|_| depth < MAX_DEPTH) else { return Value::Null };
    *left = fewer;
    match &schema.resolve(types).kind {
        Kind::Object(shape) => {
            let member =
                |field: &Parameter| (own_name(field).to_owned(), example(&field.schema, types, depth + 1, left));
            Value::Object(shape.fields.iter().map(member).collect())
        }
        // An element says whether the list contains objects. What is inside is of no interest.
        Kind::Array(Some(element)) if is_object(element, types) => Value::Array(vec![Value::Object(Map::new())]),
        Kind::Array(_) => Value::Array(vec![Value::Null]),
        Kind::Union(members) => match only_member(members) {
            Some(only) => example(only, types, depth + 1, left),
            None => Value::Null,
        },
        _ => Value::Null,
    }
}

fn is_object(schema: &Schema, types: &Types) -> bool {
    match &schema.resolve(types).kind {
        Kind::Object(_) => true,
        Kind::Union(members) => members
            .iter()
            .filter(|member| member.kind != Kind::Null)
            .all(|member| matches!(member.resolve(types).kind, Kind::Object(_))),
        _ => false,
    }
}
