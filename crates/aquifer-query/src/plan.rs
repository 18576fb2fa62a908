//! A plan: what was asked, typed, complete and free of contradictions.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use crate::collection::{Collection, FieldType};
use crate::order::compare;
use crate::value::whole;

/// What was asked of a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Text to look for.
    pub text: Option<TextQuery>,
    /// Which items.
    pub filter: Option<Filter>,
    /// In which order. The key follows by itself, so the order is total.
    pub sort: Vec<SortKey>,
    /// Which parts of each item.
    pub select: Vec<Path>,
    /// Which sums, under the names the caller chose.
    pub aggregates: Vec<Aggregate>,
    /// Whether items are wanted: always without sums, with sums only if asked for.
    pub items: bool,
    /// Which page.
    pub page: Page,
    /// Whether each item comes with its own cursor.
    pub edges: bool,
    /// Whether the number of all matching items is wanted.
    pub total: bool,
}

impl Plan {
    /// Whether the best match comes first: text is looked for and nothing else was said about the order.
    pub fn is_ranked(&self) -> bool {
        self.text.is_some() && self.sort.is_empty()
    }

    /// The whole order: what was asked for, then the parts of the key that are not in it yet, in the direction of the
    /// last criterion, so that one index can serve all of it. The rank of a search stands before everything and is not
    /// in here.
    pub fn order(&self, collection: &Collection) -> Vec<SortKey> {
        let mut order = self.sort.clone();
        let descending = self.sort.last().is_some_and(|last| last.descending);
        for name in &collection.key {
            let path = Path::named(name.clone());
            if order.iter().any(|key| key.path == path) {
                continue;
            }
            let of = collection.field(name).map_or(FieldType::Json, |field| field.of.clone());
            order.push(SortKey { path, of, descending, nulls_first: false });
        }
        order
    }
}

/// A place in an item: a field, a computed value, or something inside a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    /// The field's or computed value's name.
    pub name: Arc<str>,
    /// Whether it is a computed value.
    pub computed: bool,
    /// The way into the field's value.
    pub inside: Vec<Arc<str>>,
}

impl Path {
    /// A field itself.
    pub fn field(name: &str) -> Self {
        Self::named(name.into())
    }

    /// A field itself, whose name is shared.
    pub fn named(name: Arc<str>) -> Self {
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

/// Text to look for: any of these words or phrases, the more the better.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextQuery {
    /// Words and quoted phrases, in lower case.
    pub terms: Vec<Term>,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// Its words: one, or the words of a phrase in order.
    pub words: Vec<String>,
}

/// A condition on items. Two-valued: what is missing is equal to nothing, less than nothing and greater than nothing.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Filter {
    /// All of these.
    And(Vec<Filter>),
    /// Any of these.
    Or(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
    /// A test of one value.
    Test {
        /// The value.
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
    /// Equal to this.
    Eq(Value),
    /// Greater than this.
    Gt(Value),
    /// Greater than or equal to this.
    Gte(Value),
    /// Less than this.
    Lt(Value),
    /// Less than or equal to this.
    Lte(Value),
    /// Equal to one of these.
    In(Vec<Value>),
    /// Text that holds this, in any case.
    Contains(String),
    /// Text that begins with this, in any case.
    StartsWith(String),
    /// Text that ends with this, in any case.
    EndsWith(String),
    /// A list with this among its elements.
    Has(Value),
    /// Missing.
    IsNull,
}

/// One criterion of an order.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct SortKey {
    /// By which value.
    pub path: Path,
    /// Its type.
    pub of: FieldType,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether missing values come first. They come last in both directions unless the caller asks for this.
    pub nulls_first: bool,
}

impl SortKey {
    /// The order of two values by this criterion.
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

/// Sums under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The caller's name for it.
    pub name: Arc<str>,
    /// For each combination of these.
    pub group_by: Vec<(Path, FieldType)>,
    /// What to calculate, in the order it was asked for.
    pub functions: Vec<Function>,
}

/// Something to calculate.
#[derive(Debug, Clone, PartialEq)]
pub enum Function {
    /// How many.
    Count,
    /// The sum.
    Sum(Path, FieldType),
    /// The mean.
    Avg(Path, FieldType),
    /// The least.
    Min(Path, FieldType),
    /// The greatest.
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

    /// What it calculates with.
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
    /// The names of its results: the functions' own, with the path where one stands twice.
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

/// The most groups an answer shows.
pub const MAX_GROUPS: usize = 1_000;

/// A group's value as the name of its result. What is missing is `null`, and text that reads like another kind of value
/// keeps its quotes. Lists and objects of no known type are told apart from everything else, not from each other.
pub fn group_label(of: &FieldType, value: &Value) -> String {
    const LISTS: &str = "[…]";
    const OBJECTS: &str = "{…}";
    let loose = *of == FieldType::Json;
    match value {
        Value::String(text) => {
            let scalar = || serde_json::from_str::<Value>(text).is_ok_and(|read| !read.is_array() && !read.is_object());
            let taken = text == "null" || (loose && (text == LISTS || text == OBJECTS || scalar()));
            if taken { value.to_string() } else { text.clone() }
        }
        Value::Array(_) if loose => LISTS.to_owned(),
        Value::Object(_) if loose => OBJECTS.to_owned(),
        // However it is kept: 10 and 10.0 are one group.
        Value::Number(number) => {
            number.as_f64().and_then(whole).map_or_else(|| value.to_string(), |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// Which page.
#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    /// So many after a place, or from the start.
    Forward {
        /// How many.
        size: usize,
        /// The values of the sort keys and the key there.
        after: Option<Vec<Value>>,
    },
    /// So many before a place, or up to the end.
    Backward {
        /// How many.
        size: usize,
        /// The values of the sort keys and the key there.
        before: Option<Vec<Value>>,
    },
    /// So many after skipping others.
    Offset {
        /// How many.
        limit: usize,
        /// How many to skip.
        offset: usize,
    },
    /// The n-th page of a size.
    Numbered {
        /// Which, from 1.
        page: usize,
        /// Of which size.
        size: usize,
    },
}

impl Page {
    /// How many items it holds at most.
    pub fn size(&self) -> usize {
        match self {
            Page::Forward { size, .. } | Page::Backward { size, .. } | Page::Numbered { size, .. } => *size,
            Page::Offset { limit, .. } => *limit,
        }
    }
}
