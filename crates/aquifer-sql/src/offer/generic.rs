//! One set of operations for all tables, where a set for each would be too many. Behind it stand the very operations the
//! tables would have had: a generic request is turned into one of those, then checked, judged and carried out like it.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::{ComputedField, Example, Operation, Returns, Role};
use aquifer_protocol::schema::{Comparison, Kind, Parameter, Schema, Shape, Types};
use aquifer_protocol::spelling::fold;
use aquifer_protocol::suggest;
use aquifer_protocol::validate::check_values;
use aquifer_query::collection::{Field, Pages};
use aquifer_query::parameters::{computed_fields, parameters_with_fields, types};
use aquifer_query::{Collection, Family, FieldType};
use serde_json::{Map, Value, json};

use super::{Action, Offer, Verb, column_schema, examples, operations, relationship_root};
use crate::column_defaults::ColumnDefault;
use crate::exposed_table::ExposedTable;
use crate::field_names::RESERVED;
use crate::model::{Column, Key};

/// Turns a generic request into one of the table's own.
pub(super) fn translate(
    offer: &Offer,
    verb: Verb,
    index: usize,
    mut params: Map<String, Value>,
) -> Result<Translated, Failure> {
    let Some(served) = offer.table(index) else { return Err(no_table(offer, "")) };
    params.remove("table_name");
    let operation: Arc<str> = verb.of(served).into();
    if !offer.offers(&operation) {
        let cannot = match verb {
            Verb::Search => "has no text to search",
            Verb::Get => "has no key to find one row by",
            Verb::Create if served.table.withheld.prevents_create => {
                "takes no new rows: a column without a default is left out"
            }
            Verb::Create | Verb::Update | Verb::Delete => "can only be read",
            Verb::List => "cannot be listed",
        };
        return Err(Failure::invalid_value("table_name", format!("names a table which {cannot}")));
    }
    let problem = check_params(offer, verb, served, &mut params).err();
    for place in ["key", "values"] {
        if let Some(Value::Object(inner)) = params.remove(place) {
            params.extend(inner);
        }
    }
    Ok(Translated { operation, params, problem })
}

/// A generic request as one of the table's own.
pub(super) struct Translated {
    pub(super) operation: Arc<str>,
    pub(super) params: Map<String, Value>,
    /// What is wrong with the parameters, in terms of the generic request.
    pub(super) problem: Option<Failure>,
}

/// Names the columns in a generic request as the table's fields are named, and checks them.
fn check_params(
    offer: &Offer,
    verb: Verb,
    served: &ExposedTable,
    params: &mut Map<String, Value>,
) -> Result<(), Failure> {
    if served.table.key == Key::None
        && let Some(name) = ["last", "before"].into_iter().find(|name| params.contains_key(*name))
    {
        return Err(Failure::invalid_value(name, "needs rows with a key, and this table has none. Use 'first'"));
    }
    for place in PLACES {
        if let Some(Value::Object(given)) = params.get_mut(place) {
            *given = by_field(served, place, std::mem::take(given))?;
        }
    }
    check_columns(offer, verb, served, params)
}

/// Where columns stand in a generic request.
const PLACES: [&str; 3] = ["key", "values", "input"];

/// The column that a caller means, who may have used the database's own name or camelCase.
fn column_of<'a>(served: &'a ExposedTable, name: &str) -> Option<&'a Column> {
    let is_camel_case = name.chars().all(|c| c.is_ascii_alphanumeric());
    let in_snake_case = || served.table.column(&snake_identifier(name)).filter(|_| is_camel_case);
    served.table.column(name).or_else(in_snake_case)
}

/// Adds every name of the columns that are given: a rule about one name has to hold for the others.
pub(super) fn add_names(served: &ExposedTable, given: &mut Map<String, Value>) {
    let mut more: Vec<(String, Value)> = Vec::new();
    for (name, value) in given.iter() {
        let names = column_of(served, name).into_iter().flat_map(|column| [&column.name, &column.sql_name]);
        more.extend(names.filter(|other| ***other != **name).map(|other| (other.to_string(), value.clone())));
    }
    for (name, value) in more {
        given.entry(name).or_insert(value);
    }
}

/// Values by the names of their fields, where a caller may have used the columns' own names or camelCase.
fn by_field(served: &ExposedTable, place: &str, given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let mut named = Map::new();
    for (name, value) in given {
        let name = match column_of(served, &name) {
            Some(column) => column.name.to_string(),
            // Where columns are expected nothing else is meant, in whatever spelling.
            None if place != "input" && is_reserved(&name) => {
                let problem = format!("has '{name}', which is no column of '{}'", served.words.plural);
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

/// Checks the columns in a generic request against those of the table. The table's own operation would check them, too, but
/// would fail in terms of parameters that the caller has not sent, and of an operation that nobody is told of.
fn check_columns(
    offer: &Offer,
    verb: Verb,
    served: &ExposedTable,
    params: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let generic = offer.offering.operations.iter().find(|operation| *operation.name == *verb.generic_name());
    let Some(generic) = generic else { return Ok(()) };
    let shapes = served.generic_shapes.get_or_init(|| GenericShapes::new(served));
    let mut given: Vec<(&str, Value)> =
        PLACES.into_iter().filter_map(|place| Some((place, params.remove(place)?))).collect();
    let shaped = given.iter_mut().map(|(place, value)| (shapes.of(place), value));
    let checked = check_values(generic, &Types::new(), shaped);
    params.extend(given.into_iter().map(|(place, value)| (place.to_owned(), value)));
    checked
}

/// What the objects in generic requests hold for one table.
#[derive(Debug)]
pub(crate) struct GenericShapes {
    key: Parameter,
    values: Parameter,
    input: Parameter,
}

impl GenericShapes {
    fn new(served: &ExposedTable) -> Self {
        let shape = |place: &str, fields: Vec<Parameter>| Parameter::required(place, Schema::object(fields));
        let changes = operations::settable(served, &[], |column| operations::can_change(served, column));
        Self {
            key: shape("key", operations::keys(served, &[]).collect()),
            values: shape("values", operations::settable(served, &[], operations::is_set).collect()),
            input: shape("input", changes.map(operations::as_change).collect()),
        }
    }

    fn of(&self, place: &str) -> &Parameter {
        match place {
            "key" => &self.key,
            "values" => &self.values,
            _ => &self.input,
        }
    }
}

/// Whether the name is one that operations use for themselves, or would be taken for it.
fn is_reserved(name: &str) -> bool {
    let folded = fold(name);
    RESERVED.iter().any(|reserved| fold(reserved) == folded)
}

/// The generic operations.
pub(super) fn offering(offer: &Offer, own: &[Operation], related: bool) -> (Vec<(Action, Operation)>, Types) {
    let own: HashMap<&str, &Operation> = own.iter().map(|operation| (&*operation.name, operation)).collect();
    let first = (0..offer.tables.len()).find(|index| offer.concealed.is_readable(*index));
    let first = first.and_then(|index| offer.table(index));
    let open = Collection { open: true, pages: pages(offer), ..Collection::default() };
    let mut all = vec![
        (Action::Tables, operations::tables()),
        (Action::TableSchema, table_schema(first.map(|served| &**served))),
    ];
    let mut define = |verb: Verb, name: &str, category: Category, words: &str, rest: Vec<Parameter>| {
        let mut operation = Operation::new(name, category, words);
        operation.is_indirect = true;
        operation.parameters = std::iter::once(table_name()).chain(rest).collect();
        operation.returns = match verb {
            Verb::List | Verb::Search => Returns::page("JsonObject"),
            _ => Returns::object("The record"),
        };
        if matches!(verb, Verb::List | Verb::Search | Verb::Get) {
            operation.computed_fields = computed_fields_of_all(offer);
        }
        operation.examples.extend(examples::generic(offer, verb, &own));
        all.push((Action::Generic(verb), operation));
    };
    let questions = |family: Family| parameters_with_fields(&open, family, FIELDS);
    let paging = format!("Pages of {}, no more than {}.", open.pages.default, open.pages.largest);
    let listing = format!("List the records of a table: filter, sort, select fields, sum. {paging}");
    define(Verb::List, "list_records", Category::Read, &listing, questions(Family::List));
    let searching = format!("Search the records of a table by words in its text. {paging}");
    define(Verb::Search, "search_records", Category::Read, &searching, questions(Family::Search));
    let selection = questions(Family::List).into_iter().filter(|one| ["fields", "preset"].contains(&&*one.name));
    let getting = std::iter::once(key()).chain(selection).collect();
    define(Verb::Get, "get_record", Category::Read, "Get one record of a table by its key.", getting);
    let may = |test: fn(&ExposedTable) -> bool| offer.tables.iter().any(|served| test(served));
    let controls = |names: &[&str]| -> Vec<Parameter> {
        let schema = Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) };
        let all = [
            Parameter::optional(
                "if_match",
                Schema::string()
                    .describe("The '_etag' the record had when it was read: refused if it has changed since."),
            ),
            Parameter::optional("dry_run", schema.describe("Only tell the changes there would be; change nothing.")),
        ];
        all.into_iter().filter(|one| names.contains(&&*one.name)).collect()
    };
    let object = |words: &str| Schema::new(Kind::Object(Shape::default())).describe(words);
    if may(|served| served.table.may.insert) {
        let values =
            Parameter::required("values", object("The columns and their values; get_table_schema tells them."));
        let rest = std::iter::once(values).chain(controls(&["dry_run"])).collect();
        define(Verb::Create, "create_record", Category::Create, "Create one record of a table.", rest);
    }
    if may(|served| served.table.may.update) {
        let input = Parameter::required(
            "input",
            object("The columns to change. Objects are merged, lists replaced; null clears a column."),
        );
        let rest = [key(), input].into_iter().chain(controls(&["if_match", "dry_run"])).collect();
        define(Verb::Update, "update_record", Category::Update, "Change one record of a table.", rest);
    }
    if may(|served| served.table.may.delete) {
        let rest = std::iter::once(key()).chain(controls(&["if_match", "dry_run"])).collect();
        define(Verb::Delete, "delete_record", Category::Delete, "Delete one record of a table.", rest);
    }
    if related {
        let mut operation = {
            let root = offer.relationships.first().and_then(|known| offer.tables.get(known.to));
            let any = relationship_root::any_table(root.map(|root| &**root));
            operations::query_relationships(any, &offer.relationships, root.map(|root| &**root))
        };
        // Naming hundreds of references would defeat the purpose.
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

/// How many computed fields an operation for all tables names. Naming hundreds would defeat the purpose.
const MAX_COMPUTED_NAMED: usize = 3;

/// Some computed fields of the tables, each with its table; `get_table_schema` tells the others.
fn computed_fields_of_all(offer: &Offer) -> Vec<ComputedField> {
    let shown = offer.tables.iter().enumerate().filter(|(index, _)| offer.concealed.is_readable(*index));
    let mut named: Vec<ComputedField> = Vec::new();
    for (_, served) in shown {
        for field in computed_fields(&served.collection) {
            if named.len() == MAX_COMPUTED_NAMED {
                return named;
            }
            if !named.iter().any(|known| known.name == field.name) {
                let words = format!("Of '{}'. get_table_schema tells those of each table.", served.words.plural);
                named.push(ComputedField { description: Some(words.into()), ..field });
            }
        }
    }
    named
}

/// What the fields of records are.
const FIELDS: &str = "the columns of the table, which get_table_schema tells";

fn pages(offer: &Offer) -> Pages {
    offer.tables.first().map_or_else(Pages::default, |served| served.collection.pages)
}

fn table_name() -> Parameter {
    Parameter::required("table_name", any_case().describe("The table, as list_tables names it."))
}

/// The name of a table. Tables are found by their names in any case, so rules have to hold for any case.
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
    operation.is_indirect = true;
    operation.parameters = vec![table_name()];
    operation.examples.extend(example.map(|served| Example {
        description: None,
        params: Map::from_iter([("table_name".to_owned(), served.words.plural.as_str().into())]),
    }));
    operation.returns = Returns::object("{table_name, columns, key, references, computed, presets, left_out?}");
    operation
}

/// The tables as a collection.
pub(crate) fn tables_collection() -> Collection {
    let field = |name: &str, of: FieldType| Field { name: name.into(), of, nullable: true, description: None };
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
        pages: Pages { default: 100, largest: 1_000, ..Pages::default() },
        ..Collection::default()
    }
}

/// The tables as items of that collection.
pub(crate) fn tables(offer: &Offer) -> Vec<Value> {
    let item = |served: &Arc<ExposedTable>| {
        let may = served.table.may;
        let mut item = Map::new();
        item.insert("name".to_owned(), served.words.plural.as_str().into());
        // The database's own name, where it is another.
        if *served.label != *served.words.plural {
            item.insert("table".to_owned(), (&*served.label).into());
        }
        item.insert("writable".to_owned(), (may.insert || may.update || may.delete).into());
        item.insert("searchable".to_owned(), offer.offers(&Verb::Search.of(served)).into());
        item.insert("columns".to_owned(), served.table.columns.len().into());
        if let Some(comment) = &served.table.comment {
            item.insert("description".to_owned(), comment.chars().take(200).collect::<String>().into());
        }
        Value::Object(item)
    };
    let shown = offer.tables.iter().enumerate().filter(|(index, _)| offer.concealed.is_shown(*index));
    shown.map(|(_, served)| item(served)).collect()
}

/// What there is to know about a table.
pub(crate) fn schema_of(offer: &Offer, index: usize, served: &ExposedTable) -> Value {
    let refers_to = operations::references(served, &offer.relationships, &offer.tables);
    let columns: Vec<Value> = served
        .table
        .columns
        .iter()
        .map(|column| {
            let mut shown = json!({ "name": &*column.name, "type": column.of.words(), "nullable": column.nullable });
            if let Some(shown) = shown.as_object_mut() {
                if operations::is_renamed(column) {
                    shown.insert("column".to_owned(), (&*column.sql_name).into());
                }
                if matches!(
                    column.of,
                    FieldType::Time | FieldType::Date | FieldType::Uuid | FieldType::Bytes | FieldType::Json
                ) {
                    shown.insert("format".to_owned(), format!("{:?}", column.of).to_lowercase().into());
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
                shown.extend(constraints_of(column));
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
    let key: Vec<&str> = served.table.key_columns().map(|column| &*column.name).collect();
    let related = |known: &&super::Relationship| known.from == index || known.to == index;
    let references: Vec<&str> = offer.relationships.iter().filter(related).map(|known| &*known.name).collect();
    let computed: Vec<&str> = served.collection.computed.iter().map(|computed| &*computed.name).collect();
    let mut schema = json!({
        "table_name": served.words.plural, "columns": columns, "key": key, "references": references,
        "computed": computed, "presets": served.collection.preset_names(),
    });
    let secrets = &served.table.withheld.secrets;
    if let Some(schema) = schema.as_object_mut().filter(|_| !secrets.is_empty()) {
        // Because their names look like secrets.
        schema.insert("left_out".to_owned(), secrets.iter().map(|name| Value::from(&**name)).collect());
    }
    schema
}

/// What constraints demand of a column, in the words of introspection.
fn constraints_of(column: &Column) -> Map<String, Value> {
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

/// Whole numbers without a fraction.
fn number(bound: f64) -> Value {
    format!("{bound}").parse::<i64>().map_or_else(|_| bound.into(), Value::from)
}

/// There is no table of that name. Suggested are the names that list_tables has, whichever of a table's names is near.
pub(crate) fn no_table(offer: &Offer, name: &str) -> Failure {
    let aliases: Vec<(String, &str)> = offer
        .tables
        .iter()
        .enumerate()
        .filter(|(index, _)| offer.concealed.is_shown(*index))
        .flat_map(|(_, served)| served.names().into_iter().map(|alias| (alias, served.words.plural.as_str())))
        .collect();
    let found = suggest::near(name, aliases.iter().map(|(alias, _)| alias.as_str()), 6);
    let mut near: Vec<&str> = Vec::new();
    for (_, plural) in found.iter().filter_map(|found| aliases.iter().find(|(alias, _)| alias == found)) {
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
