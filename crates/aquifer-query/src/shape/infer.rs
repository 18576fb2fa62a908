//! Infers a collection from rows. It is open, because other rows may differ.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::exact_number;
use serde_json::Value;

use crate::collection::{Collection, Field, FieldType, PageLimits};
use crate::value::parse_timestamp;

/// Further fields are not described, but paths can still refer to them.
const MAX_FIELDS: usize = 1_000;

/// Fields that identify rows, the most likely first.
const KEY_FIELDS: &[&str] = &["id", "key", "uuid", "_id", "node_id", "number", "slug", "path", "name"];

/// Fields that describe a row to people.
const TITLE_FIELDS: &[&str] = &["title", "name", "summary", "subject", "label", "message", "path", "url", "value"];

/// The kinds of values of a field, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ValueKinds(u16);

impl ValueKinds {
    const NULL: ValueKinds = ValueKinds(1);
    const BOOLEAN: ValueKinds = ValueKinds(2);
    const WHOLE: ValueKinds = ValueKinds(4);
    const NUMBER: ValueKinds = ValueKinds(8);
    const TEXT: ValueKinds = ValueKinds(16);
    const TIME: ValueKinds = ValueKinds(32);
    const LIST: ValueKinds = ValueKinds(64);
    const OBJECT: ValueKinds = ValueKinds(128);

    fn add(&mut self, other: ValueKinds) {
        self.0 |= other.0;
    }

    fn from_value(value: &Value, may_be_time: bool) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_i64() => Self::WHOLE,
            Value::Number(_) => Self::NUMBER,
            Value::String(text) if exact_number::held_number(text).is_some() => Self::NUMBER,
            Value::String(text) if may_be_time && parse_timestamp(text).is_some() => Self::TIME,
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::LIST,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn without_null(self) -> Self {
        ValueKinds(self.0 & !Self::NULL.0)
    }

    /// The common type; `Json` if they differ.
    fn scalar_type(self) -> FieldType {
        match self.without_null() {
            Self::BOOLEAN => FieldType::Boolean,
            Self::WHOLE => FieldType::Integer,
            ValueKinds(bits) if bits != 0 && bits & !(Self::WHOLE.0 | Self::NUMBER.0) == 0 => FieldType::Number,
            Self::TIME => FieldType::Time,
            ValueKinds(bits) if bits != 0 && bits & !(Self::TEXT.0 | Self::TIME.0) == 0 => FieldType::Text,
            _ => FieldType::Json,
        }
    }

    /// The name of the type in an observation.
    pub(super) fn type_name(self) -> &'static str {
        match self.without_null() {
            Self::LIST => "array",
            Self::OBJECT => "object",
            ValueKinds(0) => "null",
            other => match other.scalar_type() {
                FieldType::Time => "time",
                field_type => field_type.type_name(),
            },
        }
    }
}

struct Column<'a> {
    name: &'a str,
    kinds: ValueKinds,
    elements: ValueKinds,
    rows: usize,
    may_be_time: bool,
}

/// The fields of the rows, in the order of first occurrence.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Columns<'a> {
    fn from_rows(rows: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all = Self { columns: Vec::new(), by_name: HashMap::new() };
        for row in rows {
            for (position, (name, value)) in row.as_object().into_iter().flatten().enumerate() {
                all.add(position, name, value);
            }
        }
        all
    }

    fn add(&mut self, position: usize, name: &'a str, value: &Value) {
        // Rows usually have their fields in the same order.
        let guess = self.columns.get(position).is_some_and(|column| column.name == name).then_some(position);
        let index = match guess.or_else(|| self.by_name.get(name).copied()) {
            Some(index) => index,
            None if self.columns.len() >= MAX_FIELDS => return,
            None => {
                let may_be_time = is_time_name(name);
                self.by_name.insert(name, self.columns.len());
                self.columns.push(Column {
                    name,
                    kinds: ValueKinds::default(),
                    elements: ValueKinds::default(),
                    rows: 0,
                    may_be_time,
                });
                self.columns.len() - 1
            }
        };
        let Some(column) = self.columns.get_mut(index) else { return };
        column.rows += 1;
        // A field with other text is not a time field.
        let may_be_time = column.may_be_time && column.kinds.0 & ValueKinds::TEXT.0 == 0;
        column.kinds.add(ValueKinds::from_value(value, may_be_time));
        if let Value::Array(elements) = value {
            elements.iter().for_each(|element| column.elements.add(ValueKinds::from_value(element, false)));
        }
    }
}

/// Parsing every text as a time would be expensive, and surprising for a title that happens to look like one.
fn is_time_name(name: &str) -> bool {
    const SUFFIXES: &[&str] = &["_at", "_on", "At", "_time", "Time", "_date", "Date", "date", "time", "timestamp"];
    const WORDS: &[&str] = &["created", "updated", "modified", "published", "due", "start", "end"];
    SUFFIXES.iter().any(|end| name.ends_with(end)) || WORDS.contains(&name)
}

/// The collection of these rows. It is open: other rows may have other fields.
pub fn infer_collection(rows: &[Value], pages: PageLimits) -> Collection {
    let columns = Columns::from_rows(rows).columns;
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field {
            name: column.name.into(),
            field_type: match column.kinds.without_null() {
                ValueKinds::LIST => match column.elements.scalar_type() {
                    // Lists of objects and mixed lists: paths refer to values inside.
                    FieldType::Json => FieldType::Json,
                    scalar => FieldType::List(Some(Box::new(scalar))),
                },
                kinds => kinds.scalar_type(),
            },
            nullable: column.rows < rows.len() || column.kinds.0 & ValueKinds::NULL.0 != 0,
            description: None,
        })
        .collect();
    let first = |names: &[&str]| -> Vec<Arc<str>> {
        let first_field = names.iter().find_map(|name| fields.iter().find(|field| &*field.name == *name));
        first_field.map(|field| field.name.clone()).into_iter().collect()
    };
    let (key, text) = (first(KEY_FIELDS), first(TITLE_FIELDS));
    Collection { name: "rows".into(), key, text, fields, pages, open: true, ..Collection::default() }
}

/// Names and types of the fields of the rows, and of the fields of nested objects.
pub(super) fn describe_fields(rows: &[&Value], max_fields: usize) -> Vec<(String, &'static str)> {
    let mut fields = Vec::new();
    for column in Columns::from_rows(rows.iter().copied()).columns {
        if column.kinds.without_null() == ValueKinds::OBJECT {
            let inner = rows.iter().filter_map(|row| row.get(column.name));
            let inner = Columns::from_rows(inner).columns;
            fields.extend(
                inner.iter().map(|inside| (format!("{}.{}", column.name, inside.name), inside.kinds.type_name())),
            );
        } else {
            fields.push((column.name.to_owned(), column.kinds.type_name()));
        }
        if fields.len() >= max_fields {
            fields.truncate(max_fields);
            break;
        }
    }
    fields
}
