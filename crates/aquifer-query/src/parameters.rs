//! The parameters of the language for introspection: exactly what [`parse_query`](crate::parse_query) accepts.

use std::sync::Arc;

use aquifer_protocol::operation::{AggregationSupport, ComputedField};
use aquifer_protocol::protocol_types::{FIELD_PRESET, FIELD_PRESETS};
use aquifer_protocol::published::{AggregateFunction, AggregationMode};
use aquifer_protocol::schema::{Kind, Parameter, Range, Rest, Schema, Shape, Types};

use crate::collection::{Cardinality, Collection, FieldType};
use crate::parse::QueryKind;
use crate::plan::MAX_GROUPS;

/// The named types that the parameters refer to. They describe once what is the same for every collection.
pub fn types() -> Types {
    let sort = Schema::object(vec![
        Parameter::required("field", Schema::string().describe("The field to sort by.")),
        Parameter::optional("order", Schema::one_of(["asc", "desc"]).describe("Ascending by default.")),
        Parameter::optional("nulls", Schema::one_of(["first", "last"]).describe("Missing values: last by default.")),
    ])
    .describe(
        "One criterion of an order. As text: 'field' or '-field'. Fields that can be grouped by can be sorted by.",
    );
    let several = Schema::new(Kind::Array(None));
    let selection =
        Schema::new(Kind::Union(vec![Schema::named(FIELD_PRESET), several])).describe(ROW_SELECTION_DESCRIPTION);
    Types::from_iter([
        (SORT.into(), Arc::new(sort)),
        (FILTER.into(), Arc::new(filter_type())),
        (AGGREGATES.into(), Arc::new(aggregates_type())),
        (AGGREGATE.into(), Arc::new(aggregate_type())),
        (ROW_SELECTION.into(), Arc::new(selection)),
    ])
}

/// Whether the query language has a type of this name, so that no source can have one.
pub fn is_type_name(name: &str) -> bool {
    [SORT, FILTER, AGGREGATES, AGGREGATE, ROW_SELECTION].contains(&name)
}

const SORT: &str = "Sort";
const FILTER: &str = "Filter";
const AGGREGATES: &str = "Aggregates";
const AGGREGATE: &str = "Aggregate";

/// The type of `fields` where items refer to others. Without references it is `FieldSelection`.
const ROW_SELECTION: &str = "RowSelection";
const FIELD_SELECTION: &str = "FieldSelection";

const FILTER_DESCRIPTION: &str = "\
    {field: value}, {field: [any, of]} or {field: {op: value}} with eq, ne, gt, gte, lt, lte, in, not_in, contains, starts_with, \
    ends_with, between, is_null; and, or, not combine. A value can be another field: {gt: {field: name}}. Through references to one \
    item, up to 4 steps: {\"reference.field\": value}; to many: {reference: {some|none|every: {…}}}.";

const AGGREGATES_DESCRIPTION: &str = "\
    Named aggregates instead of items: {\"n\": {\"count\": true}}, {\"by\": {\"group_by\": field, \"count\": true}}; count_distinct, \
    sum, avg, min, max take a field or calculation. group_by also takes a list, or {field, by: month}; groups take order, first, offset, having.";

/// The keywords of a filter. The parser decides where a name is a keyword, because a field may have the same name.
fn filter_type() -> Schema {
    let conditions = || Schema::new(Kind::Array(Some(Box::new(Schema::named(FILTER)))));
    documented(vec![
        Parameter::optional("and", conditions().describe("All of them hold.")),
        Parameter::optional("or", conditions().describe("One of them holds.")),
        Parameter::optional("not", Schema::named(FILTER).describe("It does not hold.")),
    ])
    .describe(FILTER_DESCRIPTION)
}

fn aggregates_type() -> Schema {
    let aggregate = Schema::named(AGGREGATE).describe("Under any name, one for each result.");
    documented(vec![Parameter::optional("any_name", aggregate)]).describe(AGGREGATES_DESCRIPTION)
}

fn aggregate_type() -> Schema {
    let function = |name: &str, words: &str| Parameter::optional(name, Schema::string().describe(words));
    let group_by = Schema::new(Kind::Union(vec![Schema::string(), any_object(), Schema::new(Kind::Array(None))]));
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let first = Schema::integer(1.0, MAX_GROUPS as f64);
    documented(vec![
        Parameter::optional("count", Schema::new(Kind::Boolean).describe("The number of items.")),
        function("count_distinct", "The number of different values of a field."),
        function("sum", "Of a field or calculation."),
        function("avg", "Of a field or calculation."),
        function("min", "Of a field or calculation."),
        function("max", "Of a field or calculation."),
        Parameter::optional("group_by", group_by.describe("A field, {field, by: month}, or a list of them.")),
        Parameter::optional("having", any_object().describe("Groups whose numbers meet it: {gte: 10}.")),
        Parameter::optional("order", Schema::one_of(["asc", "desc"]).describe("Groups by their first result.")),
        Parameter::optional("first", first.describe("How many groups.")),
        Parameter::optional("offset", count(0.0).describe("Groups to skip.")),
    ])
    .describe("Functions of all items, or of each group.")
}

/// An object whose fields are documented for callers and checked by the parser of the query.
fn documented(fields: Vec<Parameter>) -> Schema {
    Schema::new(Kind::Object(Shape { fields, rest: Rest::Documented }))
}

const ROW_SELECTION_DESCRIPTION: &str = "\
    A preset, or a list of fields: names, paths a.b, _computed.x, reference.x, and for rows that refer to \
    a row {reference: {fields, filter, sort, first}}.";

/// All query parameters of a collection.
pub fn parameters(collection: &Collection, family: QueryKind) -> Vec<Parameter> {
    parameters_with_fields(collection, family, "any path into the items")
}

/// Like [`parameters`]. For an open collection, `fields` describes its fields.
pub fn parameters_with_fields(collection: &Collection, family: QueryKind, fields: &str) -> Vec<Parameter> {
    let open_fields = collection.open.then_some(fields);
    let mut all = Vec::new();
    if family == QueryKind::Search {
        let text = Schema::string().describe("Words to search for, any of them; \"a quoted phrase\" is exact.");
        all.push(Parameter::required("query", text));
    }
    all.extend([
        Parameter::optional("filter", Schema::named(FILTER).describe(&filter_description(collection, open_fields))),
        Parameter::optional("sort", sort_schema().describe("'field' or '-field'.")),
        Parameter::optional("order", Schema::one_of(["asc", "desc"]).describe("For a plain 'sort'.")),
        Parameter::optional("fields", selection_schema(collection)),
        Parameter::optional(
            "preset",
            // An open collection may have presets of its own.
            if collection.open { Schema::string() } else { Schema::one_of(collection.preset_names()) }
                .describe("Prefer 'fields'."),
        ),
        Parameter::optional("aggregate", Schema::named(AGGREGATES).describe("Results instead of items.")),
        Parameter::optional("include_items", flag("Beside 'aggregate'.")),
    ]);
    let pages = collection.pages;
    // The default belongs to the page, not to the parameter: only one of the three may be sent.
    let size = |minimum: f64, words: &str| Schema {
        default: Some(pages.default_size.into()),
        is_source_default: true,
        ..count(minimum).describe(words)
    };
    all.extend([
        Parameter::optional("first", size(0.0, &format!("Items or groups, up to {}.", pages.max_size))),
        Parameter::optional("after", Schema::string().describe("An endCursor.")),
        Parameter::optional("last", count(0.0).describe("Items from the end.")),
        Parameter::optional("before", Schema::string().describe("A startCursor.")),
        Parameter::optional("limit", size(0.0, "Prefer 'first'.")),
        Parameter::optional("offset", count(0.0).describe("Items to skip.")),
        Parameter::optional("page", count(1.0).describe("Prefer 'first'.")),
        Parameter::optional("page_size", size(1.0, "Items on a page.")),
        Parameter::optional(
            "shape",
            Schema::one_of(["items", "table"]).describe("'table' is {columns, rows}: half the tokens."),
        ),
        Parameter::optional("edges", flag("A cursor for each item.")),
        Parameter::optional("total", flag("All matching items.")),
        crate::budget::parameter(),
    ]);
    // All except the words to search for.
    all.iter_mut().for_each(|parameter| parameter.is_shared = &*parameter.name != "query");
    all
}

/// The aggregates that a collection supports.
pub fn aggregation_support(collection: &Collection) -> AggregationSupport {
    let names = |fits: fn(&FieldType) -> bool| -> Vec<Arc<str>> {
        collection.fields.iter().filter(|field| fits(&field.field_type)).map(|field| field.name.clone()).collect()
    };
    AggregationSupport {
        supported: true,
        default_mode: Some(AggregationMode::SummaryOnly),
        // `count_distinct` is the extension `aggregates` (R-INT-1a).
        functions: AggregateFunction::ALL.to_vec(),
        groupable_fields: names(FieldType::is_ordered),
        numeric_fields: names(FieldType::is_numeric),
    }
}

/// The computed values for introspection.
pub fn computed_fields(collection: &Collection) -> Vec<ComputedField> {
    collection
        .computed
        .iter()
        .map(|computed| ComputedField {
            name: computed.name.clone(),
            type_name: computed.field_type.type_name().into(),
            description: computed.description.clone(),
            filterable: computed.filterable,
            sortable: computed.sortable,
        })
        .collect()
}

fn any_object() -> Schema {
    Schema::new(Kind::Object(Shape::default()))
}

fn flag(words: &str) -> Schema {
    Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) }.describe(words)
}

fn count(least: f64) -> Schema {
    Schema { range: Range { minimum: Some(least), ..Range::default() }, ..Schema::new(Kind::Integer) }
}

fn sort_schema() -> Schema {
    let criterion = || Schema::named(SORT);
    let several = |element: Schema| Schema::new(Kind::Array(Some(Box::new(element))));
    Schema::new(Kind::Union(vec![criterion(), several(criterion()), Schema::string(), several(Schema::string())]))
}

fn selection_schema(collection: &Collection) -> Schema {
    let presets = collection.preset_names();
    let has_own = presets.iter().any(|name| !FIELD_PRESETS.contains(name));
    if !has_own && !collection.open {
        // Items that refer to an item are requested by an object.
        let name = if collection.references.is_empty() { FIELD_SELECTION } else { ROW_SELECTION };
        return Schema::named(name).describe("Fields to return.");
    }
    // The named types list only the standard presets.
    let preset = if collection.open { Schema::string() } else { Schema::one_of(presets) };
    let element = (collection.references.is_empty() && !collection.open).then(|| Box::new(Schema::string()));
    Schema::new(Kind::Union(vec![preset, Schema::new(Kind::Array(element))]))
        .describe("Fields to return: a preset, or a list as in RowSelection.")
}

/// The fields of a collection and its references. Other parameters take the same fields.
fn filter_description(collection: &Collection, open_fields: Option<&str>) -> String {
    let described: Vec<String> = collection
        .fields
        .iter()
        .map(|field| match &field.field_type {
            FieldType::Enum(words) if words.len() <= 12 => format!("{}({})", field.name, words.join("|")),
            field_type => format!("{}({})", field.name, type_label(field_type)),
        })
        .collect();
    let fields = open_fields.map_or_else(|| described.join(", "), str::to_owned);
    format!("Fields: {fields}.{}", reference_description(collection))
}

/// The references that paths and conditions can follow.
fn reference_description(collection: &Collection) -> String {
    /// Further references are only counted.
    const MAX_LISTED: usize = 20;
    // Those of an open collection are only examples.
    if collection.open {
        return String::new();
    }
    let names = |cardinality: Cardinality| -> Vec<&str> {
        let all = collection.references.iter().filter(|reference| reference.cardinality == cardinality);
        all.map(|reference| &*reference.name).collect()
    };
    let list = |names: &[&str]| match names.split_at_checked(MAX_LISTED) {
        Some((listed, rest)) if !rest.is_empty() => format!("{} and {} more", listed.join(", "), rest.len()),
        _ => names.join(", "),
    };
    let (to_one, to_many) = (names(Cardinality::One), names(Cardinality::Many));
    let mut text = String::new();
    if !to_one.is_empty() {
        text += &format!(" References: {}.", list(&to_one));
    }
    if !to_many.is_empty() {
        text += &format!(" To many: {}.", list(&to_many));
    }
    text
}

fn type_label(field_type: &FieldType) -> &'static str {
    match field_type {
        FieldType::Time => "time",
        FieldType::Date => "date",
        FieldType::Uuid => "uuid",
        FieldType::Json => "json, paths reach inside",
        other => other.type_name(),
    }
}
