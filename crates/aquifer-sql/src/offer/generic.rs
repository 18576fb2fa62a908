//! One set of operations for all tables, used when a set for each table would be too many. A generic request is
//! translated into an operation of its table, and then validated, authorized and executed as such.

use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::{ComputedField, Example, Operation, Returns, Role};
use aquifer_protocol::schema::{Comparison, Kind, Parameter, Schema, Shape, Types};
use aquifer_protocol::spelling::fold;
use aquifer_protocol::suggest;
use aquifer_protocol::validate::check_values;
use aquifer_query::budget::MAX_TOKENS;
use aquifer_query::collection::{Cardinality, Field, PageLimits, Reference};
use aquifer_query::parameters::{computed_fields, parameters_with_fields, types};
use aquifer_query::{Collection, FieldType, QueryKind};
use serde_json::{Map, Value, json};

use super::{Action, Offer, Verb, column_schema, examples, operations, relationship_root};
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::exposed_table::{ExposedTable, GenericShapes};
use crate::schema::field_names::RESERVED;
use crate::schema::model::{Column, Key};
use crate::schema::relationship::Relationship;

/// Translates a generic request into an operation of its table.
pub(super) fn translate(
    offer: &Offer,
    verb: Verb,
    index: usize,
    mut params: Map<String, Value>,
) -> Result<TranslatedCall, Failure> {
    let Some(exposed) = offer.table(index) else { return Err(unknown_table(offer, "")) };
    params.remove("table_name");
    let operation: Arc<str> = verb.operation_name(exposed).into();
    if !offer.offers(&operation) {
        let cannot = match verb {
            Verb::Search => "has no text to search",
            Verb::Get => "has no key to find one row by",
            Verb::Create if exposed.table.withheld.prevents_create => {
                "takes no new rows: a column without a default is left out"
            }
            Verb::Create | Verb::Update | Verb::Delete => "can only be read",
            Verb::List => "cannot be listed",
        };
        return Err(Failure::invalid_value("table_name", format!("names a table which {cannot}")));
    }
    let problem = check_params(offer, verb, exposed, &mut params).err();
    for place in ["key", "values"] {
        if let Some(Value::Object(inner)) = params.remove(place) {
            params.extend(inner);
        }
    }
    Ok(TranslatedCall { operation, params, problem })
}

/// A generic request, translated into an operation of its table.
pub(super) struct TranslatedCall {
    pub(super) operation: Arc<str>,
    pub(super) params: Map<String, Value>,
    /// An error in the parameters, in terms of the generic request.
    pub(super) problem: Option<Failure>,
}

/// Replaces column names by field names, and validates the columns.
fn check_params(
    offer: &Offer,
    verb: Verb,
    exposed: &ExposedTable,
    params: &mut Map<String, Value>,
) -> Result<(), Failure> {
    if exposed.table.key == Key::None
        && let Some(name) = ["last", "before"].into_iter().find(|name| params.contains_key(*name))
    {
        return Err(Failure::invalid_value(name, "requires rows with a key, and this table has none. Use 'first'"));
    }
    for place in COLUMN_OBJECTS {
        if let Some(Value::Object(given)) = params.get_mut(place) {
            *given = by_field(exposed, place, std::mem::take(given))?;
        }
    }
    check_columns(offer, verb, exposed, params)
}

/// The parameters that contain columns.
const COLUMN_OBJECTS: [&str; 3] = ["key", "values", "input"];

/// The column with this name; callers may use the database's name or camelCase.
fn column_of<'a>(exposed: &'a ExposedTable, name: &str) -> Option<&'a Column> {
    let is_camel_case = name.chars().all(|c| c.is_ascii_alphanumeric());
    let in_snake_case = || exposed.table.column(&snake_identifier(name)).filter(|_| is_camel_case);
    exposed.table.column(name).or_else(in_snake_case)
}

/// Adds every alias of the given columns, so that a rule about one name covers the others.
pub(super) fn add_names(exposed: &ExposedTable, params: &mut Map<String, Value>) {
    let mut more: Vec<(String, Value)> = Vec::new();
    for (name, value) in params.iter() {
        let names = column_of(exposed, name).into_iter().flat_map(|column| [&column.name, &column.sql_name]);
        more.extend(names.filter(|other| ***other != **name).map(|other| (other.to_string(), value.clone())));
    }
    for (name, value) in more {
        params.entry(name).or_insert(value);
    }
}

/// The given values by field name; callers may use the database's names or camelCase.
fn by_field(exposed: &ExposedTable, place: &str, values: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let mut named = Map::new();
    for (name, value) in values {
        let name = match column_of(exposed, &name) {
            Some(column) => column.name.to_string(),
            // In these objects every name denotes a column.
            None if place != "input" && is_reserved(&name) => {
                let problem = format!("has '{name}', which is not a column of '{}'", exposed.words.plural);
                return Err(Failure::invalid_value(place, problem));
            }
            None => name,
        };
        if named.insert(name, value).is_some() {
            return Err(Failure::invalid_value(place, "names a column twice"));
        }
    }
    Ok(named)
}

/// Validates the columns of a generic request. The table's own operation would validate them as well, but its error
/// would name parameters and operations that the caller does not know.
fn check_columns(
    offer: &Offer,
    verb: Verb,
    exposed: &ExposedTable,
    params: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let generic = offer.offering.operations.iter().find(|operation| *operation.name == *verb.generic_name());
    let Some(generic) = generic else { return Ok(()) };
    let shapes = exposed.generic_shapes.get_or_init(|| generic_shapes(exposed));
    let mut placed: Vec<(&str, Value)> =
        COLUMN_OBJECTS.into_iter().filter_map(|place| Some((place, params.remove(place)?))).collect();
    let shaped = placed.iter_mut().map(|(place, value)| (shapes.get(place), value));
    let checked = check_values(generic, &Types::new(), shaped);
    params.extend(placed.into_iter().map(|(place, value)| (place.to_owned(), value)));
    checked
}

/// The parameters of the objects in generic requests for one table.
fn generic_shapes(exposed: &ExposedTable) -> GenericShapes {
    let shape = |place: &str, fields: Vec<Parameter>| Parameter::required(place, Schema::object(fields));
    let changes = operations::settable(exposed, &[], |column| operations::can_change(exposed, column));
    GenericShapes {
        key: shape("key", operations::keys(exposed, &[]).collect()),
        values: shape("values", operations::settable(exposed, &[], operations::is_set).collect()),
        input: shape("input", changes.map(operations::as_change).collect()),
    }
}

/// Whether the name is reserved for controls of operations, in any spelling.
fn is_reserved(name: &str) -> bool {
    let folded = fold(name);
    RESERVED.iter().any(|reserved| fold(reserved) == folded)
}

/// The generic operations.
pub(super) fn offering(offer: &Offer, related: bool) -> (Vec<(Action, Operation)>, Types) {
    let first = (0..offer.tables.len()).find(|index| offer.concealed.is_readable(*index));
    let first = first.and_then(|index| offer.table(index));
    let open =
        Collection { open: true, pages: pages(offer), references: sample_references(offer), ..Collection::default() };
    let mut all = vec![
        (Action::Tables, operations::tables()),
        (Action::TableSchema, table_schema(first.map(|exposed| &**exposed))),
    ];
    let mut define = |verb: Verb, name: &str, category: Category, words: &str, rest: Vec<Parameter>| {
        let mut operation = Operation::new(name, category, words);
        operation.routing.is_indirect = true;
        operation.parameters = std::iter::once(table_name()).chain(rest).collect();
        operation.returns = match verb {
            Verb::List | Verb::Search => Returns::page("JsonObject"),
            _ => Returns::object("The record"),
        };
        if matches!(verb, Verb::List | Verb::Search | Verb::Get) {
            operation.capabilities.computed_fields = sample_computed_fields(offer);
        }
        operation.examples.extend(examples::generic(offer, verb));
        all.push((Action::Generic(verb), operation));
    };
    let questions = |family: QueryKind| parameters_with_fields(&open, family, FIELDS);
    let listing = "List the records of a table: filter, sort, select fields, sum.";
    define(Verb::List, "list_records", Category::Read, listing, questions(QueryKind::List));
    let searching = "Search the records of a table by words in its text.";
    define(Verb::Search, "search_records", Category::Read, searching, questions(QueryKind::Search));
    let selection = questions(QueryKind::List);
    let selection = selection.into_iter().filter(|one| ["fields", "preset", MAX_TOKENS].contains(&&*one.name));
    let getting = std::iter::once(key()).chain(selection).collect();
    define(Verb::Get, "get_record", Category::Read, "Get one record of a table by its key.", getting);
    let may = |test: fn(&ExposedTable) -> bool| offer.tables.iter().any(|exposed| test(exposed));
    let controls = |names: &[&str]| -> Vec<Parameter> {
        let schema = Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) };
        let all = [
            Parameter::optional(
                "if_match",
                Schema::string()
                    .describe("The '_etag' the record had when it was read: refused if it has changed since."),
            ),
            Parameter::optional("dry_run", schema.describe("Report the changes without making them.")),
        ];
        all.into_iter().filter(|one| names.contains(&&*one.name)).collect()
    };
    let object = |words: &str| Schema::new(Kind::Object(Shape::default())).describe(words);
    if may(|exposed| exposed.table.may.insert) {
        let values =
            Parameter::required("values", object("The columns and their values; get_table_schema lists them."));
        let rest = std::iter::once(values).chain(controls(&["dry_run"])).collect();
        define(Verb::Create, "create_record", Category::Create, "Create one record of a table.", rest);
    }
    if may(|exposed| exposed.table.may.update) {
        let input = Parameter::required(
            "input",
            object("The columns to change. Objects are merged, lists replaced; null clears a column."),
        );
        let rest = [key(), input].into_iter().chain(controls(&["if_match", "dry_run"])).collect();
        define(Verb::Update, "update_record", Category::Update, "Change one record of a table.", rest);
    }
    if may(|exposed| exposed.table.may.delete) {
        let rest = std::iter::once(key()).chain(controls(&["if_match", "dry_run"])).collect();
        define(Verb::Delete, "delete_record", Category::Delete, "Delete one record of a table.", rest);
    }
    if related {
        let mut operation = {
            let root = offer.relationships.first().and_then(|known| offer.tables.get(known.to));
            let any = relationship_root::any_table(root.map(|root| &**root));
            operations::query_relationships(any, &offer.relationships)
        };
        // A list of hundreds of references would defeat the purpose.
        let example = offer.relationships.first().map_or("orders.customer_id", |known| &*known.name);
        for parameter in operation.parameters.iter_mut().filter(|parameter| *parameter.name == *"relationship") {
            parameter.schema = Schema::string().describe(&format!("Only this one, such as '{example}'."));
        }
        all.push((Action::Relationships, operation));
    }
    let mut types = types();
    if related {
        types.extend([operations::related_rows()]);
    }
    (all, types)
}

/// How many computed fields a generic operation lists. A list of hundreds would defeat the purpose.
const MAX_COMPUTED_NAMED: usize = 3;

/// A sample of the computed fields, each with its table; `get_table_schema` lists the others.
fn sample_computed_fields(offer: &Offer) -> Vec<ComputedField> {
    let shown = offer.tables.iter().enumerate().filter(|(index, _)| offer.concealed.is_readable(*index));
    let mut named: Vec<ComputedField> = Vec::new();
    for (_, exposed) in shown {
        for field in computed_fields(&exposed.collection) {
            if named.len() == MAX_COMPUTED_NAMED {
                return named;
            }
            if !named.iter().any(|known| known.name == field.name) {
                let words = format!("Of '{}'. get_table_schema lists those of each table.", exposed.words.plural);
                named.push(ComputedField { description: Some(words.into()), ..field });
            }
        }
    }
    named
}

/// Describes the fields of records.
const FIELDS: &str = "the columns of the table and paths through its references, which get_table_schema lists";

/// A reference of each kind that any table has, so that the parameters accept what they accept for that table.
fn sample_references(offer: &Offer) -> Vec<Reference> {
    let readable = (0..offer.tables.len()).filter(|index| offer.concealed.is_readable(*index));
    let all: Vec<&Reference> =
        readable.filter_map(|index| offer.table(index)).flat_map(|exposed| &exposed.collection.references).collect();
    let first = |cardinality| all.iter().find(|reference| reference.cardinality == cardinality);
    [Cardinality::One, Cardinality::Many].into_iter().filter_map(first).copied().cloned().collect()
}

fn pages(offer: &Offer) -> PageLimits {
    offer.tables.first().map_or_else(PageLimits::default, |exposed| exposed.collection.pages)
}

fn table_name() -> Parameter {
    Parameter::required("table_name", any_case().describe("The table, as list_tables names it."))
}

/// The schema of a table name. Tables are found in any case, so rules have to match in any case.
pub(super) fn any_case() -> Schema {
    Schema { comparison: Comparison::IgnoreCase, ..Schema::string() }
}

fn key() -> Parameter {
    let words = "The columns of the table's key and their values, such as {\"id\": 5}.";
    Parameter::required("key", Schema::new(Kind::Object(Shape::default())).describe(words))
}

fn table_schema(example: Option<&ExposedTable>) -> Operation {
    let mut operation =
        Operation::new("get_table_schema", Category::Read, "Get the columns, the key and the references of a table.");
    operation.role = Role::Discovery;
    operation.routing.is_indirect = true;
    operation.parameters = vec![table_name()];
    operation.examples.extend(example.map(|exposed| Example {
        description: None,
        params: Map::from_iter([("table_name".to_owned(), exposed.words.plural.as_str().into())]),
    }));
    operation.returns = Returns::object("{table_name, columns, key, references, computed, presets, left_out?}");
    operation
}

pub(crate) fn tables_collection() -> Collection {
    let field =
        |name: &str, field_type: FieldType| Field { name: name.into(), field_type, nullable: true, description: None };
    Collection {
        name: "tables".into(),
        fields: vec![
            field("name", FieldType::Text),
            field("table", FieldType::Text),
            field("writable", FieldType::Boolean),
            field("searchable", FieldType::Boolean),
            field("columns", FieldType::Integer),
            field("description", FieldType::Text),
        ],
        key: vec!["name".into()],
        text: vec!["name".into(), "description".into()],
        pages: PageLimits { default_size: 100, max_size: 1_000, ..PageLimits::default() },
        ..Collection::default()
    }
}

/// The tables as items of that collection.
pub(crate) fn tables(offer: &Offer) -> Vec<Value> {
    let item = |exposed: &Arc<ExposedTable>| {
        let may = exposed.table.may;
        let mut item = Map::new();
        item.insert("name".to_owned(), exposed.words.plural.as_str().into());
        // The database's own name, if it differs.
        if *exposed.label != *exposed.words.plural {
            item.insert("table".to_owned(), (&*exposed.label).into());
        }
        item.insert("writable".to_owned(), (may.insert || may.update || may.delete).into());
        item.insert("searchable".to_owned(), offer.offers(&Verb::Search.operation_name(exposed)).into());
        item.insert("columns".to_owned(), exposed.table.columns.len().into());
        if let Some(comment) = &exposed.table.comment {
            item.insert("description".to_owned(), comment.chars().take(200).collect::<String>().into());
        }
        Value::Object(item)
    };
    let shown = offer.tables.iter().enumerate().filter(|(index, _)| offer.concealed.is_shown(*index));
    shown.map(|(_, exposed)| item(exposed)).collect()
}

/// Describes a table completely.
pub(crate) fn describe_table(offer: &Offer, index: usize, exposed: &ExposedTable) -> Value {
    let refers_to = operations::references(exposed, &offer.relationships, &offer.tables);
    let columns: Vec<Value> = exposed
        .table
        .columns
        .iter()
        .map(|column| {
            let mut shown =
                json!({ "name": &*column.name, "type": column.field_type.type_name(), "nullable": column.nullable });
            if let Some(shown) = shown.as_object_mut() {
                if operations::is_renamed(column) {
                    shown.insert("column".to_owned(), (&*column.sql_name).into());
                }
                if matches!(
                    column.field_type,
                    FieldType::Time | FieldType::Date | FieldType::Uuid | FieldType::Bytes | FieldType::Json
                ) {
                    shown.insert("format".to_owned(), format!("{:?}", column.field_type).to_lowercase().into());
                }
                if column.generated {
                    shown.insert("generated".to_owned(), true.into());
                } else if column.has_default {
                    let default = match &column.default {
                        Some(ColumnDefault::Value(value)) => value.clone(),
                        _ => Value::Null,
                    };
                    shown.insert("has_default".to_owned(), true.into());
                    if !default.is_null() {
                        shown.insert("default".to_owned(), default);
                    }
                }
                shown.extend(describe_constraints(column));
                if let Some((_, to)) = refers_to.iter().find(|(name, _)| *name == column.name) {
                    shown.insert("refers_to".to_owned(), to.as_str().into());
                }
                if let Some(comment) = &column.comment {
                    shown.insert("description".to_owned(), (&**comment).into());
                }
            }
            shown
        })
        .collect();
    let key: Vec<&str> = exposed.table.key_columns().map(|column| &*column.name).collect();
    let related = |known: &&Relationship| known.from == index || known.to == index;
    let references: Vec<&str> = offer.relationships.iter().filter(related).map(|known| &*known.name).collect();
    let computed: Vec<&str> = exposed.collection.computed.iter().map(|computed| &*computed.name).collect();
    let mut schema = json!({
        "table_name": exposed.words.plural, "columns": columns, "key": key, "references": references,
        "computed": computed, "presets": exposed.collection.preset_names(),
    });
    for (cardinality, member) in [(Cardinality::One, "paths"), (Cardinality::Many, "many")] {
        let references = exposed.references.iter().filter(|reference| reference.cardinality == cardinality);
        let named = references.filter_map(|reference| {
            let to = offer.table(reference.to)?;
            Some((reference.name.to_string(), Value::from(to.words.plural.as_str())))
        });
        let named: Map<String, Value> = named.collect();
        if let Some(schema) = schema.as_object_mut().filter(|_| !named.is_empty()) {
            schema.insert(member.to_owned(), named.into());
        }
    }
    let secrets = &exposed.table.withheld.secrets;
    if let Some(schema) = schema.as_object_mut().filter(|_| !secrets.is_empty()) {
        // Omitted because their names look like secrets.
        schema.insert("left_out".to_owned(), secrets.iter().map(|name| Value::from(&**name)).collect());
    }
    schema
}

/// The constraints of a column, in the terms of introspection.
fn describe_constraints(column: &Column) -> Map<String, Value> {
    let Schema { range, length, allowed, .. } = column_schema::constrained(column);
    let mut shown = Map::new();
    let numbers = [
        ("minimum", range.minimum),
        ("maximum", range.maximum),
        ("exclusive_minimum", range.above),
        ("exclusive_maximum", range.below),
    ];
    for (name, bound) in numbers {
        shown.extend(bound.map(|bound| (name.to_owned(), number(bound))));
    }
    for (name, count) in [("min_length", length.min), ("max_length", length.max)] {
        shown.extend(count.map(|count| (name.to_owned(), count.into())));
    }
    if let Some(allowed) = allowed {
        shown.insert("values".to_owned(), allowed.to_vec().into());
    }
    shown
}

/// A number without a trailing `.0`.
fn number(bound: f64) -> Value {
    format!("{bound}").parse::<i64>().map_or_else(|_| bound.into(), Value::from)
}

/// The error for an unknown table. Suggests names of `list_tables` for any similar alias.
pub(crate) fn unknown_table(offer: &Offer, name: &str) -> Failure {
    let aliases: Vec<(String, &str)> = offer
        .tables
        .iter()
        .enumerate()
        .filter(|(index, _)| offer.concealed.is_shown(*index))
        .flat_map(|(_, exposed)| exposed.names().into_iter().map(|alias| (alias, exposed.words.plural.as_str())))
        .collect();
    let near_aliases = suggest::near(name, aliases.iter().map(|(alias, _)| alias.as_str()), 6);
    let mut near: Vec<&str> = Vec::new();
    for (_, plural) in near_aliases.iter().filter_map(|near| aliases.iter().find(|(alias, _)| alias == near)) {
        if !near.contains(plural) && near.len() < 3 {
            near.push(plural);
        }
    }
    let hint = match near.first() {
        Some(name) => format!("Did you mean '{name}'?"),
        None => "Find its name with list_tables".to_owned(),
    };
    let failure = Failure::new(Code::NotFoundResource, format!("There is no such table. {hint}"))
        .detail("resource_type", "table")
        .detail("resource_id", name.chars().take(128).collect::<String>());
    if near.is_empty() { failure } else { failure.detail("suggestions", near) }
}
