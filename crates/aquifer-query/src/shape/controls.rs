//! The parameters that shaping adds to an operation (the controls).
//!
//! Introspection shows them for every operation, so they are few and their descriptions are short.

use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Operation, Shaping};
use aquifer_protocol::schema::{Kind, Parameter, Range, Schema, Shape};
use serde_json::{Map, Value};

use crate::budget::{self, MAX_TOKENS};
use crate::collection::Collection;
use crate::parse::QueryKind;

/// Which controls an operation gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Controls {
    /// `fields`, `filter`, `sort`, `aggregate`, `first`, `after` and `max_tokens`.
    #[default]
    Few,
    /// All parameters of the collection language, including those for compatibility.
    All,
    /// None: results are passed on unchanged.
    None,
}

/// Groups of controls that only work together. If an upstream uses one of the names, it gets all of the group.
const FEW: &[&[&str]] = &[&["fields"], &["filter"], &["sort"], &["aggregate"], &["first", "after"], &[MAX_TOKENS]];

const COMPATIBILITY: &[&[&str]] = &[&["last", "before"], &["limit", "offset"], &["page", "page_size"]];

/// Controls that depend on another one.
const DEPENDENT: &[(&str, &str)] = &[
    ("preset", "fields"),
    ("order", "sort"),
    ("include_items", "aggregate"),
    ("edges", "first"),
    ("total", "first"),
    ("shape", "fields"),
];

/// The names of the controls that an operation gets in addition to its own parameters (R-DIS-8).
pub fn control_names(own: &[Parameter], controls: Controls) -> Vec<&'static str> {
    if controls == Controls::None {
        return Vec::new();
    }
    let free = |name: &str| own.iter().all(|parameter| &*parameter.name != name);
    let more = if controls == Controls::All { COMPATIBILITY } else { &[] };
    let together = FEW.iter().chain(more).filter(|names| names.iter().all(|name| free(name)));
    let mut names: Vec<&'static str> = together.flat_map(|names| names.iter().copied()).collect();
    if controls == Controls::All {
        let added = DEPENDENT.iter().filter(|(name, to)| free(name) && names.contains(to)).map(|(name, _)| *name);
        names.extend(added.collect::<Vec<_>>());
    }
    names
}

/// The controls as parameters.
pub fn control_parameters(own: &[Parameter], controls: Controls) -> Vec<Parameter> {
    let names = control_names(own, controls).into_iter();
    names.filter_map(|name| Some(Parameter::optional(name, schema(name)?).shared())).collect()
}

/// Adds controls to a READ operation of an upstream, as far as its own parameters leave their names free. Returns whether
/// the operation is shaped. Call this once, after the operation has all its own parameters.
pub fn add_controls(operation: &mut Operation, rows: Option<&str>, controls: Controls) -> bool {
    let is_unshaped = operation.native || operation.category != Category::Read || controls == Controls::None;
    if is_unshaped || operation.shaping.is_some() {
        return false;
    }
    let added = control_parameters(&operation.parameters, controls);
    let names: Vec<Arc<str>> = added.iter().map(|parameter| parameter.name.clone()).collect();
    operation.parameters.extend(added);
    operation.shaping = Some(Shaping { controls: names, rows: rows.map(Into::into), ..Shaping::default() });
    true
}

/// Sets the fields that an operation returns if its caller asks for none. Call this after the controls were added.
pub fn set_default_fields(operation: &mut Operation, fields: &[Arc<str>]) {
    const MAX_NAMED: usize = 8;
    let Some(shaping) = &mut operation.shaping else { return };
    if !shaping.controls.iter().any(|control| &**control == "fields") || fields.is_empty() {
        return;
    }
    shaping.default_fields = fields.to_vec();
    let named: Vec<&str> = fields.iter().take(MAX_NAMED).map(|name| &**name).collect();
    let more = if fields.len() > MAX_NAMED { ", …" } else { "" };
    let words = aquifer_protocol::text::clean(&named.join(", ")).into_owned();
    for parameter in operation.parameters.iter_mut().filter(|parameter| &*parameter.name == "fields") {
        let words = format!("Of each row; {words}{more} unless said, \"full\" for all");
        parameter.schema = parameter.schema.clone().describe(&words);
    }
}

/// Adds all query parameters of a collection to an operation that returns a list, as far as its own parameters leave
/// their names free. Call this once, after the operation has all its own parameters.
pub fn add_collection_controls(operation: &mut Operation, collection: &Collection) {
    let names = control_names(&operation.parameters, Controls::All);
    let added: Vec<Parameter> = crate::parameters::parameters(collection, QueryKind::List)
        .into_iter()
        .filter(|parameter| names.contains(&&*parameter.name))
        .collect();
    let controls = added.iter().map(|parameter| parameter.name.clone()).collect();
    if names.contains(&"aggregate") {
        operation.aggregation_support = Some(crate::parameters::aggregation_support(collection));
    }
    operation.parameters.extend(added);
    operation.shaping = Some(Shaping { controls, ..Shaping::default() });
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
        "last" => (count(0.0), "Rows from the end."),
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
        "total" => (flag(), "Count all matching rows."),
        _ => return None,
    };
    Some(schema.describe(words))
}
