//! The parameters of the language for introspection: exactly what [`parse_query`](crate::parse_query) accepts.

use std::sync::Arc;

use aquifer_protocol::operation::{AggregationSupport, ComputedField};
use aquifer_protocol::schema::{Kind, Parameter, Range, Schema, Shape, Types};

use crate::collection::{Collection, FieldType};
use crate::parse::QueryKind;

/// The named types that the parameters refer to.
pub fn types() -> Types {
    let sort = Schema::object(vec![
        Parameter::required("field", Schema::string().describe("The field to sort by.")),
        Parameter::optional("order", Schema::one_of(["asc", "desc"]).describe("Ascending by default.")),
        Parameter::optional("nulls", Schema::one_of(["first", "last"]).describe("Missing values: last by default.")),
    ])
    .describe("One criterion of an order.");
    Types::from_iter([("Sort".into(), Arc::new(sort))])
}

/// All query parameters of a collection.
pub fn parameters(collection: &Collection, family: QueryKind) -> Vec<Parameter> {
    parameters_with_fields(collection, family, "any path into the items")
}

/// Like [`parameters`]. For an open collection, `fields` describes its fields.
pub fn parameters_with_fields(collection: &Collection, family: QueryKind, fields: &str) -> Vec<Parameter> {
    let open_fields = collection.open.then_some(fields);
    let mut all = Vec::new();
    if family == QueryKind::Search {
        let text = Schema::string()
            .describe("Words to search for, any of them; \"a quoted phrase\" is exact. The best match comes first.");
        all.push(Parameter::required("query", text));
    }
    all.extend([
        Parameter::optional("filter", any_object().describe(&filter_description(collection, open_fields))),
        Parameter::optional("sort", sort_schema(collection, open_fields)),
        Parameter::optional(
            "order",
            Schema::one_of(["asc", "desc"]).describe("The order, where 'sort' is only a name."),
        ),
        Parameter::optional("fields", selection_schema(collection)),
        Parameter::optional(
            "preset",
            // An open collection may have presets of its own.
            if collection.open { Schema::string() } else { Schema::one_of(collection.preset_names()) }
                .describe("The same as a preset in 'fields'."),
        ),
        Parameter::optional("aggregate", any_object().describe(&aggregate_description(collection, open_fields))),
        Parameter::optional("include_items", flag("With 'aggregate': also return items.")),
    ]);
    let size = |words: String| count(1.0).describe(&words);
    let pages = collection.pages;
    all.extend([
        Parameter::optional(
            "first",
            size(format!("How many items from the start; default {}, maximum {}.", pages.default_size, pages.max_size)),
        ),
        Parameter::optional("after", Schema::string().describe("Continue after this cursor.")),
        Parameter::optional("last", size("How many items from the end.".to_owned())),
        Parameter::optional("before", Schema::string().describe("Items before this cursor.")),
        Parameter::optional("limit", size("How many items (compatibility; prefer 'first').".to_owned())),
        Parameter::optional("offset", count(0.0).describe("How many items to skip.")),
        Parameter::optional("page", size("Which page, from 1 (compatibility; prefer 'first').".to_owned())),
        Parameter::optional("page_size", size("How many items a page has.".to_owned())),
        Parameter::optional("edges", flag("Return each item with its own cursor.")),
        Parameter::optional("total", flag("Also count all matching items; costs a second query.")),
    ]);
    all
}

/// The aggregates that a collection supports.
pub fn aggregation_support(collection: &Collection) -> AggregationSupport {
    let names = |fits: fn(&FieldType) -> bool| -> Vec<Arc<str>> {
        collection.fields.iter().filter(|field| fits(&field.of)).map(|field| field.name.clone()).collect()
    };
    AggregationSupport {
        supported: true,
        default_mode: Some("summary_only"),
        functions: vec!["count", "group_by", "sum", "avg", "min", "max"],
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
            type_name: computed.of.type_name().into(),
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

fn sort_schema(collection: &Collection, open_fields: Option<&str>) -> Schema {
    let one = || Schema::named("Sort");
    let several = Schema::new(Kind::Array(Some(Box::new(one()))));
    let fields =
        open_fields.map_or_else(|| join_or_none(collection.names(|field| field.of.is_ordered())), str::to_owned);
    Schema::new(Kind::Union(vec![one(), several, Schema::string()]))
        .describe(&format!("{{field, order}} or several. Fields: {fields}."))
}

fn selection_schema(collection: &Collection) -> Schema {
    let several = Schema::new(Kind::Array(Some(Box::new(Schema::string()))));
    let presets = collection.preset_names().join(", ");
    Schema::new(Kind::Union(vec![Schema::string(), several]))
        .describe(&format!("A preset ({presets}) or field names, also paths a.b and _computed.x."))
}

fn filter_description(collection: &Collection, open_fields: Option<&str>) -> String {
    let described: Vec<String> = collection
        .fields
        .iter()
        .map(|field| match &field.of {
            FieldType::Enum(words) if words.len() <= 12 => format!("{}({})", field.name, words.join("|")),
            of => format!("{}({})", field.name, type_label(of)),
        })
        .collect();
    let fields = open_fields.map_or_else(|| described.join(", "), str::to_owned);
    format!(
        "{{field: value}}, {{field: [any, of]}} or {{field: {{op: value}}}} with eq, ne, gt, gte, lt, lte, in, not_in, contains, \
         starts_with, ends_with, between, is_null; and, or, not combine. Fields: {fields}."
    )
}

fn aggregate_description(collection: &Collection, open_fields: Option<&str>) -> String {
    let numbers = match open_fields {
        Some(_) => String::new(),
        None => format!(" Numbers: {}.", join_or_none(collection.names(|field| field.of.is_numeric()))),
    };
    format!(
        "Named aggregates instead of items: {{\"n\": {{\"count\": true}}}}, {{\"by\": {{\"group_by\": field, \"count\": true}}}}; sum, avg, min, max \
         take a field.{numbers}"
    )
}

fn type_label(of: &FieldType) -> &'static str {
    match of {
        FieldType::Time => "time",
        FieldType::Date => "date",
        FieldType::Uuid => "uuid",
        FieldType::Json => "json, paths reach inside",
        of => of.type_name(),
    }
}

fn join_or_none(names: Vec<&str>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
