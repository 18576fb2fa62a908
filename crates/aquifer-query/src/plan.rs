//! The plan: a parsed query, typed, complete and free of contradictions.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use crate::collection::{Collection, FieldType};
use crate::order::compare;
use crate::value::as_whole_number;

/// A parsed query over a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Full-text search.
    pub text: Option<TextQuery>,
    /// The condition on items.
    pub filter: Option<Filter>,
    /// The sort criteria. The key is appended, so that the order is total.
    pub sort: Vec<SortKey>,
    /// The selected fields of each item.
    pub select: Vec<Path>,
    /// The aggregates, under the names the caller chose.
    pub aggregates: Vec<Aggregate>,
    /// Whether items are returned: always without aggregates, otherwise only if requested.
    pub items: bool,
    /// The requested page.
    pub page: Page,
    /// Whether each item is returned with its own cursor.
    pub edges: bool,
    /// Whether the number of all matching items is returned.
    pub total: bool,
}

impl Plan {
    /// Whether the best match comes first: a text search without sort criteria.
    pub fn is_ranked(&self) -> bool {
        self.text.is_some() && self.sort.is_empty()
    }

    /// The complete order: the sort criteria, then the missing fields of the key in the direction of the last criterion,
    /// so that one index can serve all of it. The rank of a text search precedes this order and is not part of it.
    pub fn order(&self, collection: &Collection) -> Vec<SortKey> {
        let mut order = self.sort.clone();
        let descending = self.sort.last().is_some_and(|last| last.descending);
        for name in &collection.key {
            let path = Path::from_name(name.clone());
            if order.iter().any(|key| key.path == path) {
                continue;
            }
            let of = collection.field(name).map_or(FieldType::Json, |field| field.of.clone());
            order.push(SortKey { path, of, descending, nulls_first: false });
        }
        order
    }
}

/// A path to a value of an item: a field, a computed value, or a value inside a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    /// The name of the field or computed value.
    pub name: Arc<str>,
    /// Whether it is a computed value.
    pub computed: bool,
    /// The steps into the value of the field.
    pub inside: Vec<Arc<str>>,
}

impl Path {
    /// The path of a field.
    pub fn field(name: &str) -> Self {
        Self::from_name(name.into())
    }

    /// The path of a field whose name is shared.
    pub fn from_name(name: Arc<str>) -> Self {
        Self { name, computed: false, inside: Vec::new() }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.computed {
            f.write_str("_computed.")?;
        }
        f.write_str(&self.name)?;
        for step in &self.inside {
            write!(f, ".{step}")?;
        }
        Ok(())
    }
}

/// A text search: items with any of these terms match; more terms rank higher.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextQuery {
    /// Words and quoted phrases, in lower case.
    pub terms: Vec<Term>,
}

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// One word, or the words of a phrase in order.
    pub words: Vec<String>,
}

/// A condition on items. Comparisons with a missing value are false; `ne` and `not` therefore match it.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Filter {
    /// All conditions hold.
    And(Vec<Filter>),
    /// At least one condition holds.
    Or(Vec<Filter>),
    /// The condition does not hold.
    Not(Box<Filter>),
    /// A test of one value.
    Test {
        /// The value to test.
        path: Path,
        /// Its type.
        of: FieldType,
        /// The test.
        test: Test,
    },
}

/// A test of one value.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Test {
    /// Equal.
    Eq(Value),
    /// Greater.
    Gt(Value),
    /// Greater or equal.
    Gte(Value),
    /// Less.
    Lt(Value),
    /// Less or equal.
    Lte(Value),
    /// Equal to one of the values.
    In(Vec<Value>),
    /// Text that contains this, ignoring case.
    Contains(String),
    /// Text that starts with this, ignoring case.
    StartsWith(String),
    /// Text that ends with this, ignoring case.
    EndsWith(String),
    /// A list that contains this element.
    Has(Value),
    /// Missing.
    IsNull,
}

/// A sort criterion.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct SortKey {
    /// The value to sort by.
    pub path: Path,
    /// Its type.
    pub of: FieldType,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Whether missing values come first. By default they come last in both directions.
    pub nulls_first: bool,
}

impl SortKey {
    /// Compares two values by this criterion.
    pub(crate) fn compare(&self, a: &Value, b: &Value) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if self.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if self.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) if self.descending => compare(&self.of, b, a),
            (false, false) => compare(&self.of, a, b),
        }
    }
}

/// A named aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The name the caller chose.
    pub name: Arc<str>,
    /// The values to group by.
    pub group_by: Vec<(Path, FieldType)>,
    /// The functions, in the order requested.
    pub functions: Vec<Function>,
}

/// An aggregate function.
#[derive(Debug, Clone, PartialEq)]
pub enum Function {
    /// The number of items.
    Count,
    /// The sum.
    Sum(Path, FieldType),
    /// The mean.
    Avg(Path, FieldType),
    /// The smallest value.
    Min(Path, FieldType),
    /// The greatest value.
    Max(Path, FieldType),
}

impl Function {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum(..) => "sum",
            Function::Avg(..) => "avg",
            Function::Min(..) => "min",
            Function::Max(..) => "max",
        }
    }

    /// The value it is computed from.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Function::Count => None,
            Function::Sum(path, _) | Function::Avg(path, _) | Function::Min(path, _) | Function::Max(path, _) => {
                Some(path)
            }
        }
    }
}

impl Aggregate {
    /// The names of the results: the names of the functions, with the path appended to duplicates.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(self.functions.len());
        for function in &self.functions {
            let short = function.name().to_owned();
            names.push(match function.path() {
                Some(path) if names.contains(&short) => format!("{short}_{path}"),
                _ => short,
            });
        }
        names
    }
}

/// The maximum number of groups in a result.
pub const MAX_GROUPS: usize = 1_000;

/// The name of a group in the result, made from its value. A missing value is `null`. Text that reads like another kind
/// of value keeps its quotes. Untyped lists share one label, and so do untyped objects.
pub fn group_label(of: &FieldType, value: &Value) -> String {
    const LISTS: &str = "[…]";
    const OBJECTS: &str = "{…}";
    let untyped = *of == FieldType::Json;
    match value {
        Value::String(text) => {
            let scalar = || serde_json::from_str::<Value>(text).is_ok_and(|read| !read.is_array() && !read.is_object());
            let taken = text == "null" || (untyped && (text == LISTS || text == OBJECTS || scalar()));
            if taken { value.to_string() } else { text.clone() }
        }
        Value::Array(_) if untyped => LISTS.to_owned(),
        Value::Object(_) if untyped => OBJECTS.to_owned(),
        // 10 and 10.0 are the same group.
        Value::Number(number) => {
            number.as_f64().and_then(as_whole_number).map_or_else(|| value.to_string(), |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// The requested page.
#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    /// The items after a position, or from the start.
    Forward {
        /// The page size.
        size: usize,
        /// The values of the sort keys and of the key at that position.
        after: Option<Vec<Value>>,
    },
    /// The items before a position, or up to the end.
    Backward {
        /// The page size.
        size: usize,
        /// The values of the sort keys and of the key at that position.
        before: Option<Vec<Value>>,
    },
    /// The items after an offset.
    Offset {
        /// The page size.
        limit: usize,
        /// The number of items to skip.
        offset: usize,
    },
    /// A page by number.
    Numbered {
        /// The page number, from 1.
        page: usize,
        /// The page size.
        size: usize,
    },
}

impl Page {
    /// The maximum number of items.
    pub fn size(&self) -> usize {
        match self {
            Page::Forward { size, .. } | Page::Backward { size, .. } | Page::Numbered { size, .. } => *size,
            Page::Offset { limit, .. } => *limit,
        }
    }
}
