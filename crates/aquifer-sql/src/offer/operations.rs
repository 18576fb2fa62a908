//! The operations of tables.

use std::sync::Arc;

use aquifer_engine::Offering;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Backing, Example, Operation, RelationshipCapabilities, Returns, Role};
use aquifer_protocol::schema::{
    Comparison, Format, Kind, Parameter, Pattern, Range, Schema, Shape, Span, Types, sample,
};
use aquifer_query::parameters::{aggregation_support, computed_fields, parameters, types};
use aquifer_query::{Family, FieldType};
use serde_json::{Map, Value, json};

use super::{Concealed, Relationship, Verb};
use crate::model::{Column, Key, PostgresRead, Store};
use crate::served::Served;

/// How far relationships are followed.
pub(crate) const DEEPEST: u32 = 5;

/// Types that the protocol has under these names already.
const TAKEN: &[&str] = &[
    "SemanticCategory",
    "OperationInput",
    "OperationResult",
    "OperationSuccess",
    "OperationFailure",
    "EndpointPermissions",
    "FieldSelection",
    "PageInfo",
    "Sort",
];

pub(super) fn of_tables(tables: &[Arc<Served>], relationships: &[Relationship], concealed: &Concealed) -> Offering {
    let mut offering = Offering { types: types(), ..Offering::default() };
    for served in tables {
        let type_name = enter_type(served, relationships, tables, &mut offering.types);
        let references = references(served, relationships, tables);
        for verb in Verb::ALL {
            offering.operations.extend(operation(verb, served, &type_name, &references));
        }
    }
    if !relationships.is_empty() {
        let names = tables
            .iter()
            .enumerate()
            .filter(|(index, served)| matches!(served.table.key, Key::Columns(_)) && concealed.is_readable(*index));
        let names: Vec<&str> = names.map(|(_, served)| served.words.plural.as_str()).collect();
        let root = relationships.first().and_then(|known| tables.get(known.to));
        offering.operations.push(query_relationships(&names, relationships, root.map(|root| &**root)));
    }
    offering
}

/// `Order` for the rows of `orders`.
fn type_name(served: &Served) -> String {
    let name = aquifer_protocol::catalog::pascal_case(&served.words.singular);
    if TAKEN.contains(&name.as_str()) { format!("{name}Row") } else { name }
}

fn enter_type(served: &Served, relationships: &[Relationship], tables: &[Arc<Served>], types: &mut Types) -> Arc<str> {
    let references = references(served, relationships, tables);
    let fields = served
        .table
        .columns
        .iter()
        .map(|column| {
            let schema = Schema { nullable: column.nullable, ..described(column, &references) };
            Parameter { required: true, ..Parameter::optional(&column.name, schema) }
        })
        .collect();
    let about = format!("{}{}", about(served), left_out(served));
    let mut name: Arc<str> = type_name(served).into();
    while types.contains_key(&name) {
        name = format!("{name}Row").into();
    }
    types.insert(name.clone(), Arc::new(Schema::object(fields).describe(about.trim())));
    name
}

/// What callers should know about columns they do not see. Those that the operator has hidden are not spoken of.
pub(super) fn left_out(served: &Served) -> String {
    let withheld = &served.table.withheld;
    let mut words = String::new();
    if withheld.prevents_create {
        words.push_str(" Rows cannot be created here: a column without a default is left out.");
    }
    if !withheld.secrets.is_empty() {
        let looks = if withheld.secrets.len() == 1 { "looks like a secret" } else { "look like secrets" };
        words.push_str(&format!(" Left out: {} ({looks}).", withheld.secrets.join(", ")));
    }
    words
}

/// Where columns refer to: `customers.id`.
fn references(served: &Served, relationships: &[Relationship], tables: &[Arc<Served>]) -> Vec<(Arc<str>, String)> {
    let own = relationships.iter().filter(|known| {
        tables.get(known.from).is_some_and(|from| from.words == served.words) && known.columns.len() == 1
    });
    own.filter_map(|known| {
        let to = tables.get(known.to)?;
        Some((known.columns.first()?.clone(), format!("{}.{}", to.words.plural, known.to_columns.first()?)))
    })
    .collect()
}

fn about(served: &Served) -> String {
    match &served.table.comment {
        Some(comment) => format!(" {}", comment.trim()),
        None => String::new(),
    }
}

/// What a list or a search takes. Places of rows without a key can only be counted from the start.
fn questions(served: &Served, family: Family) -> Vec<Parameter> {
    let mut all = parameters(&served.collection, family);
    if served.table.key == Key::None {
        all.retain(|parameter| !["last", "before"].contains(&&*parameter.name));
    }
    all
}

fn operation(
    verb: Verb,
    served: &Served,
    type_name: &Arc<str>,
    references: &[(Arc<str>, String)],
) -> Option<Operation> {
    let has_key = matches!(served.table.key, Key::Columns(_));
    let may = served.table.may;
    let possible = match verb {
        Verb::List => true,
        Verb::Search => !served.collection.text.is_empty(),
        Verb::Get => has_key,
        Verb::Create => may.insert && served.table.columns.iter().all(|column| is_optional(column) || is_set(column)),
        Verb::Update => may.update && has_key && served.table.columns.iter().any(|column| can_change(served, column)),
        Verb::Delete => may.delete && has_key,
    };
    possible.then(|| define(verb, served, type_name, references))
}

/// Whether a row can be made without the column.
fn is_optional(column: &Column) -> bool {
    column.nullable || column.has_default || column.generated
}

/// Whether a caller may set it when making a row.
fn is_set(column: &Column) -> bool {
    !column.generated && column.may_insert
}

fn is_key(served: &Served, column: &Column) -> bool {
    served.table.key_columns().any(|key| key.name == column.name)
}

fn can_change(served: &Served, column: &Column) -> bool {
    !column.generated && column.may_update && !is_key(served, column)
}

fn define(verb: Verb, served: &Served, type_name: &Arc<str>, references: &[(Arc<str>, String)]) -> Operation {
    let (one, many) = (&served.words.singular, &served.words.plural);
    let (spoken, spoken_many) = (one.replace('_', " "), many.replace('_', " "));
    let pages = served.collection.pages;
    let about = about(served);
    let (category, description) = match verb {
        Verb::List => (
            Category::Read,
            format!(
                "List {spoken_many}: filter, sort, select fields, sum.{about} Pages of {}, no more than {}.{}",
                pages.default,
                pages.largest,
                left_out(served)
            ),
        ),
        Verb::Search => {
            let index =
                if served.table.index.is_some() { "" } else { " There is no index for it, so it reads every row." };
            (
                Category::Read,
                format!(
                    "Search {spoken_many} by words in {}.{about}{index} Pages of {}, no more than {}; ranked pages may shift while rows change.",
                    served.collection.text.join(", "),
                    pages.default,
                    pages.largest
                ),
            )
        }
        Verb::Get => (Category::Read, format!("Get one {spoken} by its key.{about}")),
        Verb::Create => (Category::Create, format!("Create one {spoken}.{about}")),
        Verb::Update => (Category::Update, format!("Change one {spoken}: only the fields in 'input'.{about}")),
        Verb::Delete => (Category::Delete, format!("Delete one {spoken}.{about}")),
    };
    let mut operation = Operation::new(&verb.of(served), category, &description);
    let table = served.table.name.clone();
    operation.backing = match served.table.schema.clone() {
        Some(schema) => Backing::TableInSchema { schema, table },
        None => Backing::Table(table),
    };
    operation.has_safe_dry_run = match verb {
        Verb::Create => served.table.rehearsal.create,
        Verb::Update => served.table.rehearsal.update,
        Verb::Delete => served.table.rehearsal.delete,
        // There is nothing to rehearse.
        Verb::List | Verb::Search | Verb::Get => false,
    };
    operation.returns = match verb {
        Verb::List | Verb::Search => Returns {
            type_name: "object".into(),
            description: format!("{{items: {type_name}[], pageInfo}}, or {{aggregations}}").into(),
        },
        _ => Returns { type_name: type_name.clone(), description: format!("The {spoken}").into() },
    };
    operation.parameters = match verb {
        Verb::List => questions(served, Family::List),
        Verb::Search => questions(served, Family::Search),
        Verb::Get => {
            let selection = parameters(&served.collection, Family::List).into_iter();
            keys(served, references).chain(selection.filter(|one| ["fields", "preset"].contains(&&*one.name))).collect()
        }
        Verb::Create => settable(served, references, is_set).chain([dry_run()]).collect(),
        Verb::Update => {
            let changes = settable(served, references, |column| can_change(served, column));
            let fields = changes.map(|field| Parameter { required: false, ..field }).collect();
            let input = Schema::object(fields)
                .describe("The fields to change. Objects are merged, lists replaced; null clears a field.");
            keys(served, references).chain([Parameter::required("input", input), if_match(), dry_run()]).collect()
        }
        Verb::Delete => keys(served, references).chain([if_match(), dry_run()]).collect(),
    };
    if matches!(verb, Verb::List | Verb::Search | Verb::Get) {
        operation.computed_fields = computed_fields(&served.collection);
    }
    if matches!(verb, Verb::List | Verb::Search) {
        operation.aggregation_support = Some(aggregation_support(&served.collection));
        operation.examples = vec![Example { description: None, params: example(verb, served) }];
    }
    operation
}

fn keys<'a>(served: &'a Served, references: &'a [(Arc<str>, String)]) -> impl Iterator<Item = Parameter> + 'a {
    let columns = served.table.key_columns();
    columns
        .filter_map(|column| Some(Parameter::required(served.parameter(&column.name)?, described(column, references))))
}

fn settable<'a>(
    served: &'a Served,
    references: &'a [(Arc<str>, String)],
    fits: impl Fn(&Column) -> bool + 'a,
) -> impl Iterator<Item = Parameter> + 'a {
    let columns = served.table.columns.iter().zip(&served.parameters);
    columns.filter(move |(column, _)| fits(column)).map(|(column, name)| {
        let schema = Schema { nullable: column.nullable, ..described(column, references) };
        Parameter { required: !is_optional(column), ..Parameter::optional(name, schema) }
    })
}

fn dry_run() -> Parameter {
    let schema = Schema { default: Some(false.into()), ..Schema::of(Kind::Boolean) };
    Parameter::optional("dry_run", schema.describe("Only tell the changes there would be; change nothing."))
}

fn if_match() -> Parameter {
    let words = "The '_etag' the row had when it was read: refused if it has changed since.";
    Parameter::optional("if_match", Schema::string().describe(words))
}

/// The shape of a column's values, with what is known about its meaning.
fn described(column: &Column, references: &[(Arc<str>, String)]) -> Schema {
    let schema = schema(&column.of, column);
    let reference = references.iter().find(|(name, _)| *name == column.name).map(|(_, to)| format!("Refers to {to}."));
    let bytes = (column.of == FieldType::Bytes).then(|| "Bytes in base64.".to_owned());
    let own = column.comment.as_deref().map(|comment| comment.trim().to_owned());
    let words: Vec<String> = [own, reference, bytes].into_iter().flatten().collect();
    if words.is_empty() { schema } else { schema.describe(&words.join(" ")) }
}

fn schema(of: &FieldType, column: &Column) -> Schema {
    let formatted = |format| Schema { format: Some(format), ..Schema::string() };
    match of {
        FieldType::Text => {
            let length = Span { min: None, max: column.length };
            Schema { length, comparison: column.comparison, ..Schema::string() }
        }
        FieldType::Word(words) => {
            Schema { comparison: column.comparison, ..Schema::one_of(words.iter().map(|word| &**word)) }
        }
        FieldType::Integer => {
            let (minimum, maximum) = column.range.unzip();
            Schema { range: Range { minimum, maximum, ..Range::default() }, ..Schema::of(Kind::Integer) }
        }
        FieldType::Number => {
            let exact = matches!(&column.store, Store::Postgres(store) if store.read == PostgresRead::Decimal);
            if exact {
                let digits = Schema { pattern: Some(Pattern::new(r"^-?\d+(\.\d+)?$")), ..Schema::string() };
                let (above, below) = column.range.unzip();
                let number = Schema { range: Range { above, below, ..Range::default() }, ..Schema::of(Kind::Number) };
                Schema::of(Kind::Union(vec![number, digits]))
            } else {
                Schema::of(Kind::Number)
            }
        }
        FieldType::Boolean => Schema::of(Kind::Boolean),
        FieldType::Time => formatted(Format::DateTime),
        FieldType::Date => formatted(Format::Date),
        FieldType::Uuid => Schema { comparison: column.comparison, ..formatted(Format::Uuid) },
        FieldType::Bytes => {
            let base64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
            Schema { pattern: Some(Pattern::new(base64)), ..Schema::string() }
        }
        FieldType::List(element) => {
            let element = element.as_deref().map(|element| {
                let element = schema(element, &Column { length: None, range: None, ..bare(column) });
                Box::new(Schema { nullable: true, ..element })
            });
            // Rules need to know that much even of elements of which nothing else is known.
            let element = element.or_else(|| {
                let comparison = column.comparison;
                let unknown = Schema { nullable: true, comparison, ..Schema::of(Kind::Any) };
                (comparison != Comparison::Exact).then(|| Box::new(unknown))
            });
            Schema::of(Kind::Array(element))
        }
        FieldType::Json => Schema::of(Kind::Any),
    }
}

/// A column without what holds for the whole of its values only.
fn bare(column: &Column) -> Column {
    Column {
        name: column.name.clone(),
        quoted: column.quoted.clone(),
        of: column.of.clone(),
        is_guessed: column.is_guessed,
        store: column.store.clone(),
        nullable: true,
        has_default: false,
        generated: false,
        comment: None,
        length: None,
        range: None,
        may_insert: true,
        may_update: true,
        comparison: column.comparison,
        may_have_index: false,
    }
}

/// A request that shows several controls at once.
fn example(verb: Verb, served: &Served) -> Map<String, Value> {
    let mut params = Map::new();
    let collection = &served.collection;
    if verb == Verb::Search {
        params.insert("query".to_owned(), "two words \"an exact phrase\"".into());
    }
    let word = collection.fields.iter().find_map(|field| match &field.of {
        FieldType::Word(words) => words.first().map(|word| (field, word)),
        _ => None,
    });
    if let Some((field, word)) = word {
        params.insert("filter".to_owned(), json!({ &*field.name: &**word }));
    }
    let sorted = collection.fields.iter().find(|field| matches!(field.of, FieldType::Time | FieldType::Date));
    if let Some(field) = sorted.or_else(|| collection.fields.iter().find(|field| field.of.is_ordered())) {
        params.insert("sort".to_owned(), json!({ "field": &*field.name, "order": "desc" }));
    }
    if let Some(fields) = collection.preset("minimal").filter(|fields| !fields.is_empty()) {
        params.insert("fields".to_owned(), fields.iter().map(|name| Value::from(&**name)).collect());
    }
    params.insert("first".to_owned(), 10.into());
    params
}

/// The one operation that follows references through all tables.
pub(super) fn query_relationships(tables: &[&str], relationships: &[Relationship], root: Option<&Served>) -> Operation {
    let example = root.and_then(example_of_following);
    let mut operation = Operation::new(
        "query_relationships",
        Category::Read,
        &format!(
            "Follow references between rows from one row on. Grammar: root {{element_type: table, and the columns of its key}}; \
             direction 'outgoing' leads to the rows referred to, 'incoming' to those referring, 'both' each way; relationship \
             'table.column' keeps to one kind; depth 1 to {DEEPEST}. Pages of 20, no more than 100; they may shift while rows change."
        ),
    );
    operation.is_indirect = true;
    let root = Shape {
        fields: vec![Parameter::required(
            "element_type",
            Schema::one_of(tables.iter().copied()).describe("The table."),
        )],
        ..Shape::default()
    };
    let names: Vec<&str> = relationships.iter().map(|known| &*known.name).collect();
    let sections = Schema::of(Kind::Array(Some(Box::new(Schema::one_of([
        "root",
        "relationships",
        "graph.nodes",
        "graph.edges",
    ])))));
    let depth = Schema { default: Some(1.into()), ..Schema::integer(1.0, f64::from(DEEPEST)) };
    let first = Schema { range: Range { minimum: Some(1.0), ..Range::default() }, ..Schema::of(Kind::Integer) };
    operation.parameters = vec![
        Parameter::required(
            "root",
            Schema::of(Kind::Object(root))
                .describe("The row to start from, such as {\"element_type\": \"customers\", \"id\": 5}."),
        ),
        Parameter::required("direction", Schema::one_of(["incoming", "outgoing", "both"])),
        Parameter::optional("relationship", Schema::one_of(names.iter().copied()).describe("Only this one.")),
        Parameter::optional("depth", depth.describe("How many steps to follow.")),
        Parameter::optional("include", sections.describe("Only these parts of the answer.")),
        Parameter::optional("first", first.describe("How many relationships; 20 unless said, 100 as the largest.")),
        Parameter::optional("after", Schema::string().describe("Go on after this cursor; needs 'first'.")),
    ];
    operation.returns = Returns {
        type_name: "object".into(),
        description: "{root, relationships[], graph {nodes, edges}, pageInfo}".into(),
    };
    operation.relationship_capabilities = Some(RelationshipCapabilities {
        supported: true,
        directions: vec!["incoming", "outgoing", "both"],
        relationship_types: relationships.iter().map(|known| known.name.clone()).collect(),
        max_depth: DEEPEST,
    });
    operation.examples.extend(example);
    operation
}

/// From a row of this table on, both ways.
fn example_of_following(root: &Served) -> Option<Example> {
    let mut from = Map::new();
    from.insert("element_type".to_owned(), root.words.plural.as_str().into());
    for column in root.table.key_columns() {
        let value = match column.of {
            FieldType::Bytes => json!("AA=="),
            _ => sample(&schema(&column.of, column), &Types::new())?,
        };
        from.insert(column.name.to_string(), value);
    }
    let params = json!({ "root": from, "direction": "both", "depth": 2, "first": 10 });
    Some(Example { description: None, params: params.as_object().cloned()? })
}

/// The tables themselves as a collection.
pub(crate) fn tables() -> Operation {
    let collection = super::generic::tables_collection();
    let mut operation = Operation::new("list_tables", Category::Read, "List the tables of this database.");
    operation.role = Role::Discovery;
    operation.parameters = parameters(&collection, Family::List);
    operation.aggregation_support = Some(aggregation_support(&collection));
    operation.returns = Returns {
        type_name: "object".into(),
        description: "{items: [{name, writable, searchable, columns, description}], pageInfo}".into(),
    };
    operation
}
