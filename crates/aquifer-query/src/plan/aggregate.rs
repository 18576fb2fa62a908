//! Aggregates: what is grouped, calculated and returned.

use std::sync::Arc;

use serde_json::Value;

use super::calculation::{Calculation, rounded};
use super::{Comparison, Path};
use crate::collection::FieldType;
use crate::value::as_whole_number;
use crate::value::bucket::Bucket;

/// A named aggregate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregate {
    /// The name the caller chose.
    pub name: Arc<str>,
    /// The values to group by.
    pub group_by: Vec<GroupKey>,
    /// The functions, in the order requested.
    pub functions: Vec<Function>,
    /// Conditions that every returned group meets.
    pub having: Vec<Having>,
    /// The order of the groups.
    pub order: GroupOrder,
    /// The returned groups.
    pub page: GroupPage,
}

/// A value to group by.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupKey {
    /// The value.
    pub path: Path,
    /// Its type.
    pub field_type: FieldType,
    /// The bucket of time it falls into, instead of the value itself.
    pub bucket: Option<Bucket>,
}

impl GroupKey {
    /// The type of the labels of the groups.
    pub fn label_type(&self) -> &FieldType {
        if self.bucket.is_some() { &FieldType::Text } else { &self.field_type }
    }
}

/// A condition on the result of a function. A missing result does not meet it, unless it is negated.
#[derive(Debug, Clone, PartialEq)]
pub struct Having {
    /// The index of the function.
    pub function: usize,
    /// The comparison.
    pub comparison: Comparison,
    /// Whether the comparison must not hold.
    pub negated: bool,
    /// The number to compare with.
    pub value: f64,
}

/// The order of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupOrder {
    /// By their values, ascending.
    #[default]
    ByGroup,
    /// By their values, descending. Missing values come last.
    ByGroupDescending,
    /// By the result of the first function, then by their values. Missing results come last.
    ByValue {
        /// Whether the greatest result comes first.
        descending: bool,
    },
}

/// The returned groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupPage {
    /// How many, if the caller sets a limit.
    pub first: Option<usize>,
    /// How many to skip.
    pub offset: usize,
}

impl GroupPage {
    /// The maximum number of groups to return.
    pub fn size(&self) -> usize {
        self.first.unwrap_or(MAX_GROUPS)
    }

    /// What the answer says about its groups before it shows them: nothing if these are all of them and the caller asked
    /// for no page.
    pub fn describe(&self, returned: usize, total: usize) -> Option<Value> {
        let next = self.offset.saturating_add(returned);
        if *self == Self::default() && next >= total {
            return None;
        }
        self.describe_part(returned, total)
    }

    /// Like [`describe`](Self::describe), for groups that were cut.
    pub(crate) fn describe_part(&self, returned: usize, total: usize) -> Option<Value> {
        let next = self.offset.saturating_add(returned);
        let mut info = serde_json::json!({ "returned": returned, "total": total });
        if next < total
            && let Some(info) = info.as_object_mut()
        {
            info.insert("next_offset".to_owned(), next.into());
        }
        Some(info)
    }
}

/// An aggregate function.
#[derive(Debug, Clone, PartialEq)]
pub enum Function {
    /// The number of items.
    Count,
    /// The number of different values.
    CountDistinct(Path, FieldType),
    /// The sum.
    Sum(Path, FieldType),
    /// The mean.
    Avg(Path, FieldType),
    /// The smallest value.
    Min(Path, FieldType),
    /// The greatest value.
    Max(Path, FieldType),
    /// One of these for the results of a calculation.
    Calculated(NumericFunction, Calculation),
}

/// An aggregate function of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumericFunction {
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The smallest.
    Min,
    /// The greatest.
    Max,
}

impl Function {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::CountDistinct(..) => "count_distinct",
            Function::Sum(..) | Function::Calculated(NumericFunction::Sum, _) => "sum",
            Function::Avg(..) | Function::Calculated(NumericFunction::Avg, _) => "avg",
            Function::Min(..) | Function::Calculated(NumericFunction::Min, _) => "min",
            Function::Max(..) | Function::Calculated(NumericFunction::Max, _) => "max",
        }
    }

    /// The values it is computed from.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Function::Count => Vec::new(),
            Function::CountDistinct(path, _)
            | Function::Sum(path, _)
            | Function::Avg(path, _)
            | Function::Min(path, _)
            | Function::Max(path, _) => vec![path],
            Function::Calculated(_, calculation) => calculation.paths(),
        }
    }

    /// Its result as the answer shows it.
    pub fn shown(&self, result: Value) -> Value {
        match (self, result.as_f64()) {
            (Function::Calculated(..), Some(number)) => rounded(number),
            _ => result,
        }
    }

    /// The type by which its results are sorted.
    pub(crate) fn result_type(&self) -> &FieldType {
        match self {
            Function::Count
            | Function::CountDistinct(..)
            | Function::Sum(..)
            | Function::Avg(..)
            | Function::Calculated(..) => &FieldType::Number,
            Function::Min(_, field_type) | Function::Max(_, field_type) => field_type,
        }
    }

    /// Whether its result is a number.
    pub fn is_numeric(&self) -> bool {
        match self {
            Function::Count
            | Function::CountDistinct(..)
            | Function::Sum(..)
            | Function::Avg(..)
            | Function::Calculated(..) => true,
            Function::Min(_, field_type) | Function::Max(_, field_type) => {
                field_type.is_numeric() || *field_type == FieldType::Json
            }
        }
    }
}

impl Aggregate {
    /// Whether every group is requested, in the default order.
    pub fn has_all_groups(&self) -> bool {
        self.having.is_empty() && self.order == GroupOrder::ByGroup && self.page == GroupPage::default()
    }

    /// The names of the results: the names of the functions, with the path appended to duplicates.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(self.functions.len());
        for function in &self.functions {
            let short = function.name().to_owned();
            names.push(match function.paths().first() {
                Some(path) if names.contains(&short) => format!("{short}_{path}"),
                _ => short,
            });
        }
        names
    }
}

/// The maximum number of groups in a result.
pub const MAX_GROUPS: usize = 1_000;

/// The name of a group in the result, made from its value. A missing value is `null`. Text that looks like another kind
/// of value keeps its quotes. Untyped lists share one label, and so do untyped objects.
pub fn group_label(field_type: &FieldType, value: &Value) -> String {
    const LISTS: &str = "[…]";
    const OBJECTS: &str = "{…}";
    let untyped = *field_type == FieldType::Json;
    match value {
        Value::String(text) => {
            let scalar = || serde_json::from_str::<Value>(text).is_ok_and(|read| !read.is_array() && !read.is_object());
            let is_ambiguous = text == "null" || (untyped && (text == LISTS || text == OBJECTS || scalar()));
            if is_ambiguous { value.to_string() } else { text.clone() }
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
