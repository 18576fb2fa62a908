//! A collection described from its rows: good enough for the language, and open, because other rows may differ.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::collection::{Collection, Field, FieldType, Pages};
use crate::value::moment;

/// More fields than this are not described; paths reach them still.
const MAX_COUNT: usize = 1_000;

/// Fields that tell rows apart, the likeliest first.
const KEYS: &[&str] = &["id", "key", "uuid", "_id", "node_id", "number", "slug", "path", "name"];

/// Fields that tell people what a row is.
const TELLING: &[&str] = &["title", "name", "summary", "subject", "label", "message", "path", "url", "value"];

/// What values of a field have been seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen(u16);

impl Seen {
    const NULL: Seen = Seen(1);
    const BOOLEAN: Seen = Seen(2);
    const WHOLE: Seen = Seen(4);
    const NUMBER: Seen = Seen(8);
    const TEXT: Seen = Seen(16);
    const TIME: Seen = Seen(32);
    const LIST: Seen = Seen(64);
    const OBJECT: Seen = Seen(128);

    fn add(&mut self, other: Seen) {
        self.0 |= other.0;
    }

    fn of(value: &Value, may_be_time: bool) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_i64() => Self::WHOLE,
            Value::Number(_) => Self::NUMBER,
            Value::String(text) if may_be_time && moment(text).is_some() => Self::TIME,
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::LIST,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn without_null(self) -> Self {
        Seen(self.0 & !Self::NULL.0)
    }

    /// The type that all of them have; anything where they differ.
    fn scalar(self) -> FieldType {
        match self.without_null() {
            Self::BOOLEAN => FieldType::Boolean,
            Self::WHOLE => FieldType::Integer,
            Seen(bits) if bits != 0 && bits & !(Self::WHOLE.0 | Self::NUMBER.0) == 0 => FieldType::Number,
            Self::TIME => FieldType::Time,
            Seen(bits) if bits != 0 && bits & !(Self::TEXT.0 | Self::TIME.0) == 0 => FieldType::Text,
            _ => FieldType::Json,
        }
    }

    /// In words, as an observation shows them.
    pub(super) fn words(self) -> &'static str {
        match self.without_null() {
            Self::LIST => "array",
            Self::OBJECT => "object",
            Seen(0) => "null",
            other => match other.scalar() {
                FieldType::Time => "time",
                of => of.words(),
            },
        }
    }
}

struct Column<'a> {
    name: &'a str,
    seen: Seen,
    elements: Seen,
    rows: usize,
    may_be_time: bool,
}

/// What values each field has, in the order the fields are met in.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Columns<'a> {
    fn of(rows: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all = Self { columns: Vec::new(), by_name: HashMap::new() };
        for row in rows {
            for (position, (name, value)) in row.as_object().into_iter().flatten().enumerate() {
                all.add(position, name, value);
            }
        }
        all
    }

    fn add(&mut self, position: usize, name: &'a str, value: &Value) {
        // Rows mostly have their fields in the same order.
        let guess = self.columns.get(position).is_some_and(|column| column.name == name).then_some(position);
        let index = match guess.or_else(|| self.by_name.get(name).copied()) {
            Some(index) => index,
            None if self.columns.len() >= MAX_COUNT => return,
            None => {
                let may_be_time = sounds_like_time(name);
                self.by_name.insert(name, self.columns.len());
                self.columns.push(Column {
                    name,
                    seen: Seen::default(),
                    elements: Seen::default(),
                    rows: 0,
                    may_be_time,
                });
                self.columns.len() - 1
            }
        };
        let Some(column) = self.columns.get_mut(index) else { return };
        column.rows += 1;
        // What is known not to be a time all along is not read as one.
        let may_be_time = column.may_be_time && column.seen.0 & Seen::TEXT.0 == 0;
        column.seen.add(Seen::of(value, may_be_time));
        if let Value::Array(elements) = value {
            elements.iter().for_each(|element| column.elements.add(Seen::of(element, false)));
        }
    }
}

/// Reading every text as a time would be dear, and would surprise where a title happens to be one.
fn sounds_like_time(name: &str) -> bool {
    const ENDS: &[&str] = &["_at", "_on", "At", "_time", "Time", "_date", "Date", "date", "time", "timestamp"];
    const WORDS: &[&str] = &["created", "updated", "modified", "published", "due", "start", "end"];
    ENDS.iter().any(|end| name.ends_with(end)) || WORDS.contains(&name)
}

/// The collection that these rows are of. It is open: other rows may have other fields.
pub fn collection(rows: &[Value], pages: Pages) -> Collection {
    let columns = Columns::of(rows).columns;
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field {
            name: column.name.into(),
            of: match column.seen.without_null() {
                Seen::LIST => match column.elements.scalar() {
                    // Lists of objects and mixed ones: paths reach inside.
                    FieldType::Json => FieldType::Json,
                    scalar => FieldType::List(Some(Box::new(scalar))),
                },
                seen => seen.scalar(),
            },
            nullable: column.rows < rows.len() || column.seen.0 & Seen::NULL.0 != 0,
            description: None,
        })
        .collect();
    let first = |names: &[&str]| -> Vec<Arc<str>> {
        let found = names.iter().find_map(|name| fields.iter().find(|field| &*field.name == *name));
        found.map(|field| field.name.clone()).into_iter().collect()
    };
    let (key, text) = (first(KEYS), first(TELLING));
    Collection { name: "rows".into(), key, text, fields, pages, open: true, ..Collection::default() }
}

/// Names and types of these rows' fields, and of those inside their objects.
pub(super) fn observed(rows: &[&Value], most: usize) -> Vec<(String, &'static str)> {
    let mut fields = Vec::new();
    for column in Columns::of(rows.iter().copied()).columns {
        if column.seen.without_null() == Seen::OBJECT {
            let inner = rows.iter().filter_map(|row| row.get(column.name));
            let inner = Columns::of(inner).columns;
            fields.extend(inner.iter().map(|inside| (format!("{}.{}", column.name, inside.name), inside.seen.words())));
        } else {
            fields.push((column.name.to_owned(), column.seen.words()));
        }
        if fields.len() >= most {
            fields.truncate(most);
            break;
        }
    }
    fields
}
