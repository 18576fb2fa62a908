//! Parses `filter`: equality, lists of values, operators, `and`, `or`, `not`, and `created_after` for `created_at`
//! (R-COL-3).

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::calculation::{self, Operand};
use super::path::{self, ManyReference, PathUse, related_items};
use super::problems::Problems;
use crate::collection::{Cardinality, Collection, FieldType, QueryRoot};
use crate::plan::calculation::Calculation;
use crate::plan::{Comparison, Filter, Path, Quantifier, Test};
use crate::value::{coerce, expected_format};

/// Filters are processed recursively, so their depth is limited.
const MAX_DEPTH: usize = 16;

/// Databases limit the size of a statement.
const MAX_CONDITIONS: usize = 500;

const OPERATORS: &[&str] = &[
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "not_in",
    "contains",
    "starts_with",
    "ends_with",
    "between",
    "is_null",
];

pub(super) fn parse(collection: QueryRoot<'_>, value: &Value, problems: &mut Problems) -> Option<Filter> {
    let mut parser = FilterParser { collection, problems, prefix: String::new(), tests: 0 };
    let filter = parser.object("filter", value, 0);
    if parser.tests > MAX_CONDITIONS {
        problems
            .invalid("filter", format!("has more than {MAX_CONDITIONS} conditions. A list of values is one condition"));
        return None;
    }
    filter
}

/// The operators that a field of this type supports.
fn operators_for(field_type: &FieldType) -> Vec<&'static str> {
    let is_text = matches!(field_type, FieldType::Text | FieldType::Enum(_) | FieldType::Json);
    let fits = |operator: &&str| match *operator {
        "gt" | "gte" | "lt" | "lte" | "between" => !matches!(field_type, FieldType::List(_) | FieldType::Bytes),
        "contains" => is_text || matches!(field_type, FieldType::List(_)),
        "starts_with" | "ends_with" => is_text,
        _ => true,
    };
    OPERATORS.iter().copied().filter(fits).collect()
}

/// The operator that a caller means by an operator of another query language.
fn operator_alias(operator: &str) -> Option<&'static str> {
    let plain = operator.trim_start_matches(['$', '_']).to_lowercase();
    Some(match plain.as_str() {
        "=" | "==" | "===" | "equals" | "equal" | "is" => "eq",
        "!=" | "<>" | "not_equals" | "neq" | "not" | "is_not" => "ne",
        ">" | "greater_than" | "after" | "above" => "gt",
        ">=" | "ge" | "greater_than_or_equal" | "min" | "from" | "since" => "gte",
        "<" | "less_than" | "before" | "below" => "lt",
        "<=" | "le" | "less_than_or_equal" | "max" | "to" | "until" => "lte",
        "any" | "any_of" | "one_of" | "oneof" => "in",
        "nin" | "notin" | "none_of" => "not_in",
        "like" | "ilike" | "includes" | "regex" | "match" | "matches" | "has" | "~" => "contains",
        "startswith" | "prefix" => "starts_with",
        "endswith" | "suffix" => "ends_with",
        "range" => "between",
        "null" | "isnull" => "is_null",
        "is_not_null" | "not_null" | "notnull" | "exists" | "present" => "is_null: false",
        other => return OPERATORS.iter().copied().find(|valid| *valid == other),
    })
}

const QUANTIFIERS: &[&str] = &["some", "none", "every"];

/// What a condition on related items looks like.
const QUANTIFIED: &str = "a condition such as {\"some\": {\"status\": \"open\"}}, or with 'none' or 'every'";

/// The type in which values of two fields are compared, if they can be. In an open collection the types are only guesses.
fn comparable_type(left: &FieldType, right: &FieldType, open: bool) -> Option<FieldType> {
    let is_text = |field_type: &FieldType| matches!(field_type, FieldType::Text | FieldType::Enum(_));
    match (left, right) {
        _ if left == right && left.is_ordered() => Some(left.clone()),
        _ if open => Some(FieldType::Json),
        _ if !left.is_ordered() || !right.is_ordered() => None,
        _ if left.is_numeric() && right.is_numeric() => Some(FieldType::Number),
        _ if is_text(left) && is_text(right) => Some(FieldType::Text),
        _ => None,
    }
}

/// In an open collection, a list of nested objects, if the condition on it has a quantifier.
fn nested_list<'a>(name: &str, value: &Value) -> Option<ManyReference<'a>> {
    static ELEMENTS: LazyLock<Collection> = LazyLock::new(|| Collection { open: true, ..Collection::default() });
    let conditions = value.as_object().filter(|conditions| !conditions.is_empty())?;
    let is_quantifier = |word: &String| QUANTIFIERS.contains(&word.as_str());
    if !conditions.iter().all(|(word, condition)| is_quantifier(word) && condition.is_object()) {
        return None;
    }
    let mut steps: Vec<Arc<str>> = name.split('.').map(Into::into).collect();
    let last = steps.pop().filter(|last| !last.is_empty())?;
    Some((steps, last, QueryRoot::from(&*ELEMENTS)))
}

struct FilterParser<'a> {
    collection: QueryRoot<'a>,
    problems: &'a mut Problems,
    /// The references to one item that enclose the conditions: `customer.address`.
    prefix: String,
    tests: usize,
}

impl FilterParser<'_> {
    fn object(&mut self, at: &str, value: &Value, depth: usize) -> Option<Filter> {
        let Some(object) = value.as_object() else {
            self.problems.wrong_type(at, "an object such as {\"status\": \"open\"}");
            return None;
        };
        if depth > MAX_DEPTH {
            self.problems.invalid(at, format!("nests deeper than {MAX_DEPTH} levels"));
            return None;
        }
        let mut all = Vec::new();
        for (name, value) in object {
            let place = format!("{at}.{name}");
            let path = self.path(name);
            let related = self.related(&place, &path, value, depth);
            if let Some(filter) = related.or_else(|| self.referenced(&place, &path, value, depth)) {
                all.extend(filter);
                continue;
            }
            // A field of that name takes precedence over the keyword.
            let filter = match name.as_str() {
                _ if self.collection.field(&path).is_some() => self.field(&place, &path, value),
                "and" | "or" => self
                    .list(&place, value, depth)
                    .map(|parts| if name == "and" { Filter::And(parts) } else { Filter::Or(parts) }),
                "not" => self.object(&place, value, depth + 1).map(|inner| Filter::Not(Box::new(inner))),
                _ => self.field(&place, &path, value),
            };
            all.extend(filter);
        }
        match all.len() {
            1 => all.pop(),
            _ => Some(Filter::And(all)),
        }
    }

    /// The path of a name inside the references to one item.
    fn path<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.prefix.is_empty() { name.into() } else { format!("{}.{name}", self.prefix).into() }
    }

    /// Conditions on the item that this one refers to, `{"customer": {"city": "Oslo"}}`, which is the same as
    /// `{"customer.city": "Oslo"}`. `None` if the name is not such a reference, or the conditions are on the name
    /// itself.
    fn referenced(&mut self, at: &str, path: &str, value: &Value, depth: usize) -> Option<Option<Filter>> {
        let conditions = value.as_object().filter(|conditions| !conditions.is_empty())?;
        let (last, _, rest) = path::follow(self.collection, path);
        let target = last.follow(last.collection().reference(rest, Cardinality::One)?)?;
        let is_inside = |(name, condition): (&String, &Value)| match name.as_str() {
            "and" | "or" | "not" => condition.is_array() || condition.is_object(),
            "field" => false,
            name => target.field(name).is_some() || operator_alias(name).is_none(),
        };
        if !conditions.iter().all(is_inside) {
            return None;
        }
        let outer = std::mem::replace(&mut self.prefix, path.to_owned());
        let filter = self.object(at, value, depth + 1);
        self.prefix = outer;
        Some(filter)
    }

    fn list(&mut self, at: &str, value: &Value, depth: usize) -> Option<Vec<Filter>> {
        let Some(parts) = value.as_array() else {
            self.problems.wrong_type(at, "a list of conditions");
            return None;
        };
        Some(
            parts
                .iter()
                .enumerate()
                .filter_map(|(index, part)| self.object(&format!("{at}[{index}]"), part, depth + 1))
                .collect(),
        )
    }

    /// A condition on the items that refer to this one: `{"visits": {"some": {"state": "open"}}}`. `None` if the name
    /// is not a reference to many items.
    fn related(&mut self, at: &str, name: &str, value: &Value, depth: usize) -> Option<Option<Filter>> {
        let (through, name, inner) =
            if self.collection.open { nested_list(name, value)? } else { related_items(self.collection, name)? };
        self.tests += 1;
        let quantified = value.as_object().filter(|object| !object.is_empty());
        let Some(quantified) = quantified.filter(|_| self.tests <= MAX_CONDITIONS) else {
            self.problems.wrong_type(at, QUANTIFIED);
            return Some(None);
        };
        let mut all = Vec::new();
        for (word, condition) in quantified {
            let quantifier = match word.as_str() {
                "some" => Quantifier::Some,
                "none" => Quantifier::None,
                "every" => Quantifier::Every,
                _ => {
                    self.problems.unsuitable(at, format!("needs {QUANTIFIED}"), QUANTIFIERS);
                    return Some(None);
                }
            };
            let outer = std::mem::replace(&mut self.collection, inner);
            let prefix = std::mem::take(&mut self.prefix);
            let filter = self.object(&format!("{at}.{word}"), condition, depth + 1);
            (self.collection, self.prefix) = (outer, prefix);
            let (through, name) = (through.clone(), name.clone());
            all.extend(filter.map(|filter| Filter::Related { through, name, quantifier, filter: Box::new(filter) }));
        }
        Some(match all.len() {
            1 => all.pop(),
            _ => Some(Filter::And(all)),
        })
    }

    fn field(&mut self, at: &str, name: &str, value: &Value) -> Option<Filter> {
        self.tests += value.as_object().map_or(1, |operators| operators.len().max(1));
        if self.tests > MAX_CONDITIONS {
            return None;
        }
        if self.collection.field(name).is_none()
            && let Some((path, field_type, after)) = self.time_shortcut(name)
        {
            let bound = self.operand(at, &field_type, value)?;
            let test = if after { Test::Gt(bound) } else { Test::Lt(bound) };
            return Some(Filter::Test { path, field_type, test });
        }
        let (path, field_type) = match path::resolve(self.collection, name, PathUse::Filter) {
            Ok(resolved) => resolved,
            Err(valid) => {
                self.problems.unknown_field("filter", name, &valid);
                return None;
            }
        };
        match value {
            Value::Object(operators)
                if field_type != FieldType::Json || operators.keys().all(|key| operator_alias(key).is_some()) =>
            {
                self.operators(at, &path, &field_type, operators)
            }
            Value::Array(values) if !matches!(field_type, FieldType::List(_)) => {
                self.any_of(at, path, field_type, values)
            }
            Value::Null => Some(Filter::Test { path, field_type, test: Test::IsNull }),
            value => self.operand(at, &field_type, value).map(|value| Filter::Test {
                path,
                field_type,
                test: Test::Eq(value),
            }),
        }
    }

    /// `created_after` and `created_before` for a time field named `created_at` or `created`.
    fn time_shortcut(&self, name: &str) -> Option<(Path, FieldType, bool)> {
        let (stem, after) = match (name.strip_suffix("_after"), name.strip_suffix("_before")) {
            (Some(stem), _) => (stem, true),
            (_, Some(stem)) => (stem, false),
            _ => return None,
        };
        let mut candidates = vec![format!("{stem}_at"), format!("{stem}_on"), stem.to_owned()];
        if self.collection.open {
            // Naming conventions of other servers.
            candidates.extend(["_time", "_date", "At", "Time", "Date"].map(|end| format!("{stem}{end}")));
        }
        candidates.into_iter().find_map(|candidate| {
            let field = self.collection.field(&candidate)?;
            matches!(field.field_type, FieldType::Time | FieldType::Date)
                .then(|| (Path::field(&field.name), field.field_type.clone(), after))
        })
    }

    fn operand(&mut self, at: &str, field_type: &FieldType, value: &Value) -> Option<Value> {
        if *field_type == FieldType::Json && (value.is_array() || value.is_object()) {
            self.problems.invalid(at, "cannot be compared as a whole. Compare a path inside it, such as a.b");
            return None;
        }
        let accepted = coerce(field_type, value);
        if accepted.is_none() {
            match field_type {
                FieldType::Enum(words) if value.is_string() => {
                    self.problems.unsuitable(at, format!("must be one of: {}", words.join(", ")), words);
                }
                _ => self.problems.wrong_type(at, expected_format(field_type)),
            }
        }
        accepted
    }

    fn any_of(&mut self, at: &str, path: Path, field_type: FieldType, values: &[Value]) -> Option<Filter> {
        let wants_null = values.contains(&Value::Null);
        let before = values.iter().filter(|value| !value.is_null()).count();
        let values: Vec<Value> = values
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_null())
            .filter_map(|(index, value)| self.operand(&format!("{at}[{index}]"), &field_type, value))
            .collect();
        if values.len() < before {
            return None;
        }
        let listed = Filter::Test { path: path.clone(), field_type: field_type.clone(), test: Test::In(values) };
        Some(if wants_null {
            Filter::Or(vec![listed, Filter::Test { path, field_type, test: Test::IsNull }])
        } else {
            listed
        })
    }

    fn operators(
        &mut self,
        at: &str,
        path: &Path,
        field_type: &FieldType,
        operators: &Map<String, Value>,
    ) -> Option<Filter> {
        if operators.is_empty() {
            self.problems.unsuitable(at, "has no operator", &operators_for(field_type));
            return None;
        }
        let mut all: Vec<Filter> = operators
            .iter()
            .filter_map(|(operator, value)| {
                self.operator(&format!("{at}.{operator}"), path, field_type, operator, value)
            })
            .collect();
        match all.len() {
            1 => all.pop(),
            _ => Some(Filter::And(all)),
        }
    }

    /// A comparison with another field: `{"lt": {"field": "reorder_at"}}`. `None` if the value is not one.
    fn comparison(
        &mut self,
        at: &str,
        path: &Path,
        field_type: &FieldType,
        operator: &str,
        value: &Value,
    ) -> Option<Option<Filter>> {
        let other = value.as_object().filter(|object| object.len() == 1)?.get("field")?;
        let comparison = match operator {
            "eq" => Comparison::Eq,
            "ne" => Comparison::Ne,
            "gt" => Comparison::Gt,
            "gte" => Comparison::Gte,
            "lt" => Comparison::Lt,
            "lte" => Comparison::Lte,
            _ => {
                let comparisons = ["eq", "ne", "gt", "gte", "lt", "lte"];
                self.problems.unsuitable(at, "cannot compare with another field", &comparisons);
                return Some(None);
            }
        };
        let Some(name) = other.as_str() else {
            self.problems.wrong_type(&format!("{at}.field"), "a field's name");
            return Some(None);
        };
        let open = self.collection.open;
        let (right, right_type) = match calculation::resolve(self.collection, name, PathUse::Filter) {
            Ok(Operand::Path(right, right_type)) => (right, right_type),
            Ok(Operand::Calculation(right)) => {
                return Some(self.compare_calculation(at, path, field_type, comparison, right));
            }
            Err(error) => {
                error.report(self.collection, PathUse::Filter, &format!("{at}.field"), self.problems);
                return Some(None);
            }
        };
        let Some(common) = comparable_type(field_type, &right_type, open) else {
            let problem = format!(
                "cannot compare '{}' ({}) with '{}' ({})",
                super::problems::sanitize_path(&path.to_string()),
                field_type.type_name(),
                super::problems::sanitize_path(name),
                right_type.type_name()
            );
            let fits = |other: &FieldType| comparable_type(field_type, other, open).is_some();
            let valid = path::valid_names_where(self.collection, PathUse::Filter, fits);
            self.problems.unsuitable(at, problem, &valid);
            return Some(None);
        };
        Some(Some(Filter::Compare { left: path.clone(), comparison, right, field_type: common }))
    }

    /// A comparison with the result of a calculation: `{"lt": {"field": "on_hand + ordered"}}`.
    fn compare_calculation(
        &mut self,
        at: &str,
        path: &Path,
        field_type: &FieldType,
        comparison: Comparison,
        right: Calculation,
    ) -> Option<Filter> {
        if field_type.is_numeric() || !path.inside.is_empty() || self.collection.open {
            return Some(Filter::Calculate { left: path.clone(), field_type: field_type.clone(), comparison, right });
        }
        let valid = path::valid_names_where(self.collection, PathUse::Filter, FieldType::is_numeric);
        let name = super::problems::sanitize_path(&path.to_string());
        let problem = format!("cannot compare '{name}' ({}) with a calculation", field_type.type_name());
        self.problems.unsuitable(at, problem, &valid);
        None
    }

    fn operator(
        &mut self,
        at: &str,
        path: &Path,
        field_type: &FieldType,
        operator: &str,
        value: &Value,
    ) -> Option<Filter> {
        if let Some(comparison) = self.comparison(at, path, field_type, operator, value) {
            return comparison;
        }
        let test = |test: Test| Filter::Test { path: path.clone(), field_type: field_type.clone(), test };
        let not = |filter: Filter| Filter::Not(Box::new(filter));
        match operator {
            "eq" | "ne" => {
                let equal = if value.is_null() {
                    test(Test::IsNull)
                } else {
                    test(Test::Eq(self.operand(at, field_type, value)?))
                };
                Some(if operator == "ne" { not(equal) } else { equal })
            }
            "gt" | "gte" | "lt" | "lte" => {
                let bound = self.ordered_operand(at, field_type, value)?;
                Some(test(match operator {
                    "gt" => Test::Gt(bound),
                    "gte" => Test::Gte(bound),
                    "lt" => Test::Lt(bound),
                    _ => Test::Lte(bound),
                }))
            }
            "in" | "not_in" => {
                let Some(values) = value.as_array() else {
                    self.problems.wrong_type(at, "a list of values");
                    return None;
                };
                let listed = self.any_of(at, path.clone(), field_type.clone(), values)?;
                Some(if operator == "not_in" { not(listed) } else { listed })
            }
            "contains" if matches!(field_type, FieldType::List(_)) => {
                let FieldType::List(element) = field_type else { return None };
                let element = element.as_deref().unwrap_or(&FieldType::Json);
                Some(test(Test::Has(self.operand(at, element, value)?)))
            }
            "contains" | "starts_with" | "ends_with" => {
                if !matches!(field_type, FieldType::Text | FieldType::Enum(_) | FieldType::Json) {
                    let problem = format!("cannot be used: the field is {}, not text", field_type.type_name());
                    self.problems.unsuitable(at, problem, &operators_for(field_type));
                    return None;
                }
                let Some(text) = value.as_str() else {
                    self.problems.wrong_type(at, "text");
                    return None;
                };
                let text = super::text::fold_case(text);
                Some(test(match operator {
                    "contains" => Test::Contains(text),
                    "starts_with" => Test::StartsWith(text),
                    _ => Test::EndsWith(text),
                }))
            }
            "between" => {
                let Some([low, high]) = value.as_array().map(Vec::as_slice) else {
                    self.problems.wrong_type(at, "a list of two values, the lower first");
                    return None;
                };
                let (low, high) =
                    (self.ordered_operand(at, field_type, low), self.ordered_operand(at, field_type, high));
                Some(Filter::And(vec![test(Test::Gte(low?)), test(Test::Lte(high?))]))
            }
            "is_null" => match value.as_bool() {
                Some(true) => Some(test(Test::IsNull)),
                Some(false) => Some(not(test(Test::IsNull))),
                None => {
                    self.problems.wrong_type(at, "true or false");
                    None
                }
            },
            other => {
                let valid = operators_for(field_type);
                let meant = operator_alias(other)
                    .or_else(|| aquifer_protocol::suggest::nearest(other, valid.iter().copied()))
                    // Suggest only what the field accepts.
                    .filter(|near| valid.contains(&near.split(':').next().unwrap_or_default()))
                    .map(|near| format!(". Did you mean '{near}'?"))
                    .unwrap_or_default();
                let at = at.rsplit_once('.').map_or(at, |(field, _)| field);
                self.problems.unsuitable(at, format!("uses an unknown operator{meant}"), &valid);
                None
            }
        }
    }

    fn ordered_operand(&mut self, at: &str, field_type: &FieldType, value: &Value) -> Option<Value> {
        let unordered = match field_type {
            FieldType::List(_) => "lists",
            FieldType::Bytes => "bytes",
            _ => return self.operand(at, field_type, value),
        };
        self.problems.unsuitable(at, format!("cannot be used: {unordered} have no order"), &operators_for(field_type));
        None
    }
}
