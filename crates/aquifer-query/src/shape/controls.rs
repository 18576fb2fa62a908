//! The parameters that shaping adds to an operation (the controls).
//!
//! A control is offered where it can apply, which depends on what is known about the results (R-DIS-8a). Introspection
//! shows the controls of every operation, so they are few and their descriptions are short.

use std::sync::Arc;

use aquifer_protocol::catalog::pascal_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Operation, Shaping};
use aquifer_protocol::protocol_types::RESULT_PAGE;
use aquifer_protocol::schema::{Kind, Parameter, Range, Schema, Shape, Types};
use serde_json::{Map, Value};

use super::ResultShape;
use super::result_shape::row_type;
use crate::budget::{self, MAX_TOKENS};
use crate::collection::Collection;
use crate::parse::QueryKind;

/// Which controls an operation gets, as far as they can apply to its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Controls {
    /// Those of the collection language.
    #[default]
    Few,
    /// Also those that exist for compatibility.
    All,
    /// None: results are passed on unchanged.
    None,
}

/// The controls that apply to rows, in groups that only work together. If an upstream uses one of the names, it gets all
/// of the group.
const FOR_ROWS: &[&[&str]] =
    &[&["fields"], &["filter"], &["sort"], &["aggregate"], &["first", "after"], &["last", "before"]];

const COMPATIBILITY: &[&[&str]] = &[&["limit", "offset"], &["page", "page_size"]];

/// Controls for rows that depend on another one.
const DEPENDENT: &[(&str, &str)] = &[("total", "first"), ("shape", "fields")];

const DEPENDENT_COMPATIBILITY: &[(&str, &str)] =
    &[("preset", "fields"), ("order", "sort"), ("include_items", "aggregate"), ("edges", "first")];

/// The names of the controls that an operation gets in addition to its own parameters (R-DIS-8).
///
/// Rows take all controls. Of an object, `fields` can be selected. A text has no fields, but a long one is paged, and
/// `after` continues it. The budget applies to every result.
pub fn control_names(own: &[Parameter], shape: &ResultShape, controls: Controls) -> Vec<&'static str> {
    if controls == Controls::None {
        return Vec::new();
    }
    let free = |name: &str| own.iter().all(|parameter| &*parameter.name != name);
    let is_all = controls == Controls::All;
    let groups: Vec<&[&'static str]> = match shape {
        ResultShape::Rows(_) => FOR_ROWS.iter().chain(if is_all { COMPATIBILITY } else { &[] }).copied().collect(),
        ResultShape::Structured => vec![&["fields"]],
        ResultShape::Text | ResultShape::Unknown => vec![&["after"]],
        ResultShape::Scalar => Vec::new(),
    };
    let together = groups.into_iter().filter(|names| names.iter().all(|name| free(name)));
    let mut names: Vec<&'static str> = together.flatten().copied().collect();
    let dependent: &[&[(&str, &str)]] = match shape {
        ResultShape::Rows(_) if is_all => &[DEPENDENT, DEPENDENT_COMPATIBILITY],
        ResultShape::Rows(_) => &[DEPENDENT],
        _ => &[],
    };
    for (name, on) in dependent.iter().copied().flatten() {
        if free(name) && names.contains(on) {
            names.push(name);
        }
    }
    names.extend(Some(MAX_TOKENS).filter(|name| free(name)));
    names
}

/// The controls as parameters.
pub fn control_parameters(own: &[Parameter], shape: &ResultShape, controls: Controls) -> Vec<Parameter> {
    let names = control_names(own, shape, controls).into_iter();
    let mut all: Vec<Parameter> =
        names.filter_map(|name| Some(Parameter::optional(name, schema(name)?).shared())).collect();
    let words = match shape {
        ResultShape::Rows(place) if place.is_part() => {
            ("fields", "Of the result: [\"id\", \"user.login\"]; with other controls of each row")
        }
        ResultShape::Structured => ("fields", "Of the result: [\"id\", \"user.login\"]"),
        ResultShape::Text | ResultShape::Unknown => ("after", "endCursor of a text that continues"),
        ResultShape::Rows(_) | ResultShape::Scalar => return all,
    };
    for parameter in all.iter_mut().filter(|parameter| &*parameter.name == words.0) {
        parameter.schema = parameter.schema.clone().describe(words.1);
    }
    all
}

/// Adds controls to a READ operation of an upstream, as far as they can apply to its results and its own parameters leave
/// their names free. Returns whether the operation is shaped. Call this once, after the operation has all its own
/// parameters.
pub fn add_controls(operation: &mut Operation, shape: &ResultShape, controls: Controls) -> bool {
    let is_unshaped = operation.origin.native || operation.category != Category::Read || controls == Controls::None;
    if is_unshaped || operation.capabilities.shaping.is_some() {
        return false;
    }
    let added = control_parameters(&operation.parameters, shape, controls);
    let names: Vec<Arc<str>> = added.iter().map(|parameter| parameter.name.clone()).collect();
    operation.parameters.extend(added);
    operation.capabilities.shaping = Some(Shaping { controls: names, rows: shape.rows(), ..Shaping::default() });
    true
}

/// Replaces the controls of an operation whose results turned out to have a shape that is neither declared nor configured.
pub fn add_observed_controls(operation: &mut Operation, types: &mut Types, observed: &ResultShape, controls: Controls) {
    let is_open = |shaping: &mut Shaping| !shaping.rows.is_known();
    let Some(before) = operation.capabilities.shaping.take_if(is_open) else { return };
    let declared = types.get(&operation.returns.type_name);
    let declared = declared.map(|schema| ResultShape::declared(schema, types)).unwrap_or_default();
    operation.parameters.retain(|parameter| !(parameter.is_shared && before.controls.contains(&parameter.name)));
    add_controls(operation, &declared.with(None, Some(observed)), controls);
    declare_pages(operation, types);
}

/// Declares what a shaped operation returns: its own result, or a page of its rows if controls are used. Adds the type to
/// `types`.
pub fn declare_pages(operation: &mut Operation, types: &mut Types) {
    let Some(shaping) = operation.capabilities.shaping.as_ref().filter(|shaping| shaping.rows.is_known()) else {
        return;
    };
    let own = operation.returns.type_name.clone();
    let row = types.get(&own).and_then(|schema| row_type(schema, types, &shaping.rows));
    let items = row.map_or_else(|| "items".to_owned(), |row| format!("items: {row}[]"));
    let said = operation.returns.description.trim_end_matches('.');
    let comma = if said.is_empty() { "" } else { ". " };
    let other = if shaping.rows.is_part() { "With controls other than 'fields'" } else { "With controls" };
    operation.returns.description = format!("{said}{comma}{other} {{{items}, pageInfo}}, or {{aggregations}}").into();
    let wanted = format!("{}Answer", pascal_case(&operation.name));
    let candidates = std::iter::once(wanted.clone()).chain((2_u64..).map(|number| format!("{wanted}_{number}")));
    let Some(name) = candidates.into_iter().find(|name| !types.contains_key(name.as_str())) else { return };
    let members = vec![Schema::named(&own), Schema::named(RESULT_PAGE)];
    let answer =
        Schema::new(Kind::Union(members)).describe("The result as it comes, or with controls a page of its rows.");
    operation.returns.type_name = name.as_str().into();
    types.insert(name.into(), Arc::new(answer));
}

/// Sets the fields that an operation returns if its caller asks for none. Call this after the controls were added.
pub fn set_default_fields(operation: &mut Operation, fields: &[Arc<str>]) {
    const MAX_NAMED: usize = 8;
    let Some(shaping) = &mut operation.capabilities.shaping else { return };
    if !shaping.controls.iter().any(|control| &**control == "fields") || fields.is_empty() {
        return;
    }
    shaping.default_fields = fields.to_vec();
    let named: Vec<&str> = fields.iter().take(MAX_NAMED).map(|name| &**name).collect();
    let more = if fields.len() > MAX_NAMED { ", …" } else { "" };
    let words = aquifer_protocol::text::clean(&named.join(", ")).into_owned();
    let subject = if shaping.rows.is_known() && !shaping.rows.is_part() { "each row" } else { "the result" };
    for parameter in operation.parameters.iter_mut().filter(|parameter| &*parameter.name == "fields") {
        let words = format!("Of {subject}; {words}{more} unless said, \"full\" for all");
        parameter.schema = parameter.schema.clone().describe(&words);
    }
}

/// Adds all query parameters of a collection to an operation that returns a list, as far as its own parameters leave
/// their names free. Call this once, after the operation has all its own parameters.
pub fn add_collection_controls(operation: &mut Operation, collection: &Collection) {
    let rows = ResultShape::Rows(aquifer_protocol::operation::RowPlace::Detected);
    let names = control_names(&operation.parameters, &rows, Controls::All);
    let added: Vec<Parameter> = crate::parameters::parameters(collection, QueryKind::List)
        .into_iter()
        .filter(|parameter| names.contains(&&*parameter.name))
        .collect();
    let controls = added.iter().map(|parameter| parameter.name.clone()).collect();
    if names.contains(&"aggregate") {
        operation.capabilities.aggregation = Some(crate::parameters::aggregation_support(collection));
    }
    operation.parameters.extend(added);
    operation.capabilities.shaping = Some(Shaping { controls, rows: rows.rows(), ..Shaping::default() });
}

/// Removes the controls from the parameters of a call. The rest belongs to the source.
pub fn take_controls(shaping: &Shaping, params: &mut Map<String, Value>) -> Map<String, Value> {
    shaping.controls.iter().filter_map(|name| params.shift_remove_entry(&**name)).collect()
}

fn schema(name: &str) -> Option<Schema> {
    let list = |element: Schema| Schema::new(Kind::Array(Some(Box::new(element))));
    let object = || Schema::new(Kind::Object(Shape::default()));
    let count =
        |least: f64| Schema { range: Range { minimum: Some(least), ..Range::default() }, ..Schema::new(Kind::Integer) };
    let flag = || Schema::new(Kind::Boolean);
    let (schema, words) = match name {
        "fields" => (
            Schema::new(Kind::Union(vec![list(Schema::string()), Schema::string()])),
            "Of each row: [\"id\", \"user.login\"]",
        ),
        "filter" => (object(), "{field: value} or {field: {gt: value}}; lt, in, contains, is_null, or, not"),
        "sort" => (
            Schema::new(Kind::Union(vec![Schema::string(), object(), Schema::new(Kind::Array(None))])),
            "field or -field",
        ),
        "aggregate" => (object(), "{n: {count: true, group_by: field}}; sum, avg, min, max"),
        MAX_TOKENS => return Some(budget::parameter().schema),
        "first" => (count(0.0), "Page size"),
        "after" => (Schema::string(), "endCursor"),
        "last" => (count(0.0), "From the end"),
        "before" => (Schema::string(), "startCursor"),
        "limit" => (count(0.0), "Rows in a page; prefer 'first'."),
        "offset" => (count(0.0), "Rows to skip."),
        "page" => (count(1.0), "Which page, from 1; prefer 'first'."),
        "page_size" => (count(1.0), "Rows in a page."),
        "preset" => (Schema::one_of(["minimal", "standard", "full"]), "The same as a preset in 'fields'."),
        "order" => (Schema::one_of(["asc", "desc"]), "The order, where 'sort' is only a name."),
        "include_items" => (flag(), "With 'aggregate': also rows."),
        "shape" => (Schema::one_of(["items", "table"]), "table: column names once"),
        "edges" => (flag(), "Each row with its own cursor."),
        "total" => (flag(), "Count all rows"),
        _ => return None,
    };
    Some(schema.describe(words))
}
