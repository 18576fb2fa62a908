//! The plan: a parsed query, typed, complete and free of contradictions.

mod aggregate;
pub mod calculation;
pub(crate) mod paths;

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use self::calculation::Calculation;
use crate::collection::{Collection, FieldType};
use crate::value::order::compare;

pub use aggregate::{
    Aggregate, Function, GroupKey, GroupOrder, GroupPage, Having, MAX_GROUPS, NumericFunction, group_label,
};

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
    /// The related items shown in each item.
    pub embeds: Vec<Embed>,
    /// The aggregates, under the names the caller chose.
    pub aggregates: Vec<Aggregate>,
    /// Whether items are returned: always without aggregates, otherwise only if requested.
    pub items: bool,
    /// The requested page.
    pub page: Page,
    /// Whether items are returned as the rows of a table.
    pub table: bool,
    /// Whether each item is returned with its own cursor.
    pub edges: bool,
    /// Whether the number of all matching items is returned.
    pub total: bool,
    /// The token budget of the answer. It is not parsed from the parameters: the executor of the plan sets it.
    pub max_tokens: Option<usize>,
}

impl Plan {
    /// Whether the best match comes first: a text search without sort criteria.
    pub fn is_ranked(&self) -> bool {
        self.text.is_some() && self.sort.is_empty()
    }

    /// Whether the answer depends on every row: a page of them would not be enough to sort, count or aggregate.
    pub fn needs_all_rows(&self) -> bool {
        let is_from_end = matches!(self.page, Page::Backward { .. });
        !self.aggregates.is_empty() || self.total || (self.items && (!self.sort.is_empty() || is_from_end))
    }

    /// The complete order: the sort criteria, then the missing fields of the key in the direction of the last criterion,
    /// so that one index can serve all of it. The rank of a text search precedes this order and is not part of it.
    pub fn order(&self, collection: &Collection) -> Vec<SortKey> {
        complete_order(&self.sort, collection)
    }
}

/// Sort criteria with the missing fields of the key.
pub(crate) fn complete_order(sort: &[SortKey], collection: &Collection) -> Vec<SortKey> {
    let mut order = sort.to_vec();
    let descending = sort.last().is_some_and(|last| last.descending);
    for name in &collection.key {
        let path = Path::from_name(name.clone());
        if order.iter().any(|key| key.path == path) {
            continue;
        }
        let field_type = collection.field(name).map_or(FieldType::Json, |field| field.field_type.clone());
        order.push(SortKey { path, field_type, descending, nulls_first: false });
    }
    order
}

/// A path to a value of an item, or of an item that it refers to: a field, a computed value, or a value inside a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    /// The references to follow first.
    pub through: Vec<Arc<str>>,
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
        Self { through: Vec::new(), name, computed: false, inside: Vec::new() }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for reference in &self.through {
            write!(f, "{reference}.")?;
        }
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

/// Items that refer to an item, shown in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Embed {
    /// The references to follow first, each to one item.
    pub through: Vec<Arc<str>>,
    /// The reference to many items.
    pub name: Arc<str>,
    /// The selected fields of each of them.
    pub select: Vec<Path>,
    /// The condition on them.
    pub filter: Option<Filter>,
    /// Their complete order.
    pub order: Vec<SortKey>,
    /// How many are shown.
    pub first: usize,
}

impl std::fmt::Display for Embed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for reference in &self.through {
            write!(f, "{reference}.")?;
        }
        f.write_str(&self.name)
    }
}

/// The selected fields of an item, and the related items shown in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldSelection {
    /// The fields.
    pub paths: Vec<Path>,
    /// The related items.
    pub embeds: Vec<Embed>,
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
        field_type: FieldType,
        /// The test.
        test: Test,
    },
    /// A comparison of two values of the item.
    Compare {
        /// The value on the left.
        left: Path,
        /// The comparison.
        comparison: Comparison,
        /// The value on the right.
        right: Path,
        /// The type of both.
        field_type: FieldType,
    },
    /// A comparison of a number of the item with the result of a calculation.
    Calculate {
        /// The number on the left.
        left: Path,
        /// Its type.
        field_type: FieldType,
        /// The comparison.
        comparison: Comparison,
        /// The calculation on the right.
        right: Calculation,
    },
    /// A condition on the items that refer to this one.
    Related {
        /// The references to follow first, each to one item.
        through: Vec<Arc<str>>,
        /// The reference to many items.
        name: Arc<str>,
        /// How many of them have to match.
        quantifier: Quantifier,
        /// The condition on each.
        filter: Box<Filter>,
    },
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
}

impl Comparison {
    /// The operator in SQL, with blanks.
    pub fn operator(self) -> &'static str {
        match self {
            Comparison::Eq => " = ",
            Comparison::Ne => " <> ",
            Comparison::Gt => " > ",
            Comparison::Gte => " >= ",
            Comparison::Lt => " < ",
            Comparison::Lte => " <= ",
        }
    }

    /// Whether two values in this order match.
    pub(crate) fn accepts(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Gt => order.is_gt(),
            Comparison::Gte => order.is_ge(),
            Comparison::Lt => order.is_lt(),
            Comparison::Lte => order.is_le(),
        }
    }
}

/// How many of the related items have to match a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// At least one.
    Some,
    /// None.
    None,
    /// All, which is also true if there are none.
    Every,
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
    pub field_type: FieldType,
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
            (false, false) if self.descending => compare(&self.field_type, b, a),
            (false, false) => compare(&self.field_type, a, b),
        }
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
