//! Builds the operations of tables.

use std::sync::Arc;

use aquifer_engine::Offering;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::operation::{Backing, Example, Operation, RelationshipCapabilities, Returns, Role};
use aquifer_protocol::protocol_types::is_taken;
use aquifer_protocol::published::Direction;
use aquifer_protocol::schema::{Kind, Parameter, Range, Schema, Shape, Types};
use aquifer_protocol::spelling::fold;
use aquifer_query::parameters::{aggregation_support, computed_fields, is_type_name, parameters, types};
use aquifer_query::{FieldType, QueryKind};

use super::column_schema::{constrained, schema, with_default};
use super::{ConcealedTables, Verb, column_description, examples, relationship_root};
use crate::schema::exposed_table::ExposedTable;
use crate::schema::model::{Column, Key};
use crate::schema::relationship::Relationship;

/// The maximum depth of `query_relationships`.
pub(crate) const MAX_RELATIONSHIP_DEPTH: u32 = 5;

/// The result type of `query_relationships`.
const RELATED_ROWS: &str = "RelatedRows";

/// The portable name of every reference between tables, whatever its own name.
pub(crate) const ANY_REFERENCE: &str = "references";

pub(super) fn build_operations(
    tables: &[Arc<ExposedTable>],
    relationships: &[Relationship],
    concealed: &ConcealedTables,
) -> Offering {
    let mut offering = Offering { types: types(), ..Offering::default() };
    for exposed in tables {
        let type_name = enter_type(exposed, relationships, tables, &mut offering.types);
        let references = references(exposed, relationships, tables);
        for verb in Verb::ALL {
            offering.operations.extend(operation(verb, exposed, &type_name, &references));
        }
    }
    if !relationships.is_empty() {
        let roots = tables
            .iter()
            .enumerate()
            .filter(|(index, exposed)| matches!(exposed.table.key, Key::Columns(_)) && concealed.is_readable(*index));
        let roots: Vec<&ExposedTable> = roots.map(|(_, exposed)| &**exposed).collect();
        let root = relationship_root::schema(&roots);
        offering.types.extend([related_rows()]);
        offering.operations.push(query_relationships(root, relationships));
    }
    offering
}

/// The type name of a row: `Order` for `orders`.
fn type_name(exposed: &ExposedTable) -> String {
    let name = aquifer_protocol::catalog::pascal_case(&exposed.words.singular);
    let is_taken = is_taken(&name) || is_type_name(&name) || name == RELATED_ROWS;
    if is_taken { format!("{name}Row") } else { name }
}

fn enter_type(
    exposed: &ExposedTable,
    relationships: &[Relationship],
    tables: &[Arc<ExposedTable>],
    types: &mut Types,
) -> Arc<str> {
    let references = references(exposed, relationships, tables);
    let fields = exposed
        .table
        .columns
        .iter()
        .map(|column| {
            let schema = described(column, constrained(column), &references);
            let schema = Schema { nullable: column.nullable, read_only: column.generated, ..schema };
            Parameter { required: true, ..Parameter::optional(&column.name, schema) }
        })
        .collect();
    let about = format!("{}{}{}", about(exposed), table_note(exposed, &exposed.words.singular), left_out(exposed));
    let mut name: Arc<str> = type_name(exposed).into();
    while types.contains_key(&name) {
        name = format!("{name}Row").into();
    }
    types.insert(name.clone(), Arc::new(Schema::object(fields).describe(about.trim())));
    name
}

/// A note for callers about omitted columns. Columns in `hide` are not mentioned.
pub(super) fn left_out(exposed: &ExposedTable) -> String {
    let withheld = &exposed.table.withheld;
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

/// The targets of referring columns: `customers.id`.
pub(super) fn references(
    exposed: &ExposedTable,
    relationships: &[Relationship],
    tables: &[Arc<ExposedTable>],
) -> Vec<(Arc<str>, String)> {
    let own = relationships.iter().filter(|known| {
        tables.get(known.from).is_some_and(|from| from.words == exposed.words) && known.columns.len() == 1
    });
    own.filter_map(|known| {
        let to = tables.get(known.to)?;
        Some((known.columns.first()?.clone(), format!("{}.{}", to.words.plural, known.to_columns.first()?)))
    })
    .collect()
}

fn about(exposed: &ExposedTable) -> String {
    match &exposed.table.comment {
        Some(comment) => format!(" {}", comment.trim()),
        None => String::new(),
    }
}

/// Names the table if its word differs from its name.
fn table_note(exposed: &ExposedTable, word: &str) -> String {
    let label = &*exposed.label;
    if label == word || !can_be_quoted(label) { String::new() } else { format!(" Table '{label}'.") }
}

/// Whether a name of the database can be quoted in a description.
fn can_be_quoted(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_control) && !looks_like_a_leak(&format!("'{name}'."))
}

/// The parameters of a list or search. Without a key, pages can only be read forward.
fn query_parameters(exposed: &ExposedTable, family: QueryKind) -> Vec<Parameter> {
    let mut all = parameters(&exposed.collection, family);
    if exposed.table.key == Key::None {
        all.retain(|parameter| !["last", "before"].contains(&&*parameter.name));
    }
    all
}

fn operation(
    verb: Verb,
    exposed: &ExposedTable,
    type_name: &Arc<str>,
    references: &[(Arc<str>, String)],
) -> Option<Operation> {
    let has_key = matches!(exposed.table.key, Key::Columns(_));
    let may = exposed.table.may;
    let possible = match verb {
        Verb::List => true,
        Verb::Search => !exposed.collection.text.is_empty(),
        Verb::Get => has_key,
        Verb::Create => may.insert && exposed.table.columns.iter().all(|column| is_optional(column) || is_set(column)),
        Verb::Update => may.update && has_key && exposed.table.columns.iter().any(|column| can_change(exposed, column)),
        Verb::Delete => may.delete && has_key,
    };
    possible.then(|| define(verb, exposed, type_name, references))
}

/// Whether a row can be created without the column.
fn is_optional(column: &Column) -> bool {
    column.nullable || column.has_default || column.generated
}

/// Whether a caller may set the column when creating a row.
pub(super) fn is_set(column: &Column) -> bool {
    !column.generated && column.may_insert
}

fn is_key(exposed: &ExposedTable, column: &Column) -> bool {
    exposed.table.key_columns().any(|key| key.name == column.name)
}

pub(super) fn can_change(exposed: &ExposedTable, column: &Column) -> bool {
    !column.generated && column.may_update && !is_key(exposed, column)
}

fn define(verb: Verb, exposed: &ExposedTable, type_name: &Arc<str>, references: &[(Arc<str>, String)]) -> Operation {
    let (one, many) = (&exposed.words.singular, &exposed.words.plural);
    let (spoken, spoken_many) = (one.replace('_', " "), many.replace('_', " "));
    let word = if matches!(verb, Verb::List | Verb::Search) { many } else { one };
    let about = format!("{}{}", about(exposed), table_note(exposed, word));
    let (category, description) = match verb {
        Verb::List => (
            Category::Read,
            format!("List {spoken_many}: filter, sort, select fields, sum.{about}{}", left_out(exposed)),
        ),
        Verb::Search => {
            let index =
                if exposed.table.index.is_some() { "" } else { " There is no index for it, so it reads every row." };
            (
                Category::Read,
                format!("Search {spoken_many} by words in {}.{about}{index}", exposed.collection.text.join(", ")),
            )
        }
        Verb::Get => (Category::Read, format!("Get one {spoken} by its key.{about}")),
        Verb::Create => (Category::Create, format!("Create one {spoken}.{about}")),
        Verb::Update => (Category::Update, format!("Change one {spoken}: only the fields in 'input'.{about}")),
        Verb::Delete => (Category::Delete, format!("Delete one {spoken}.{about}")),
    };
    let mut operation = Operation::new(&verb.operation_name(exposed), category, &description);
    let table = exposed.table.name.clone();
    operation.origin.backing = match exposed.table.schema.clone() {
        Some(schema) => Backing::TableInSchema { schema, table },
        None => Backing::Table(table),
    };
    operation.safety.has_safe_dry_run = match verb {
        Verb::Create => exposed.table.dry_run.create,
        Verb::Update => exposed.table.dry_run.update,
        Verb::Delete => exposed.table.dry_run.delete,
        // A read has no dry run.
        Verb::List | Verb::Search | Verb::Get => false,
    };
    operation.safety.tests_hidden =
        matches!(verb, Verb::Create | Verb::Update) && exposed.table.constraints_on_hidden().next().is_some();
    operation.returns = match verb {
        Verb::List | Verb::Search => Returns::page(type_name),
        _ => Returns { type_name: type_name.clone(), description: format!("The {spoken}").into() },
    };
    operation.parameters = match verb {
        Verb::List => query_parameters(exposed, QueryKind::List),
        Verb::Search => query_parameters(exposed, QueryKind::Search),
        Verb::Get => {
            let selection = parameters(&exposed.collection, QueryKind::List).into_iter();
            keys(exposed, references)
                .chain(selection.filter(|one| ["fields", "preset"].contains(&&*one.name)))
                .collect()
        }
        Verb::Create => settable(exposed, references, is_set).chain([dry_run()]).collect(),
        Verb::Update => {
            let changes = settable(exposed, references, |column| can_change(exposed, column));
            let fields = changes.map(as_change).collect();
            let input = Schema::object(fields)
                .describe("The fields to change. Objects are merged, lists replaced; null clears a field.");
            keys(exposed, references).chain([Parameter::required("input", input), if_match(), dry_run()]).collect()
        }
        Verb::Delete => keys(exposed, references).chain([if_match(), dry_run()]).collect(),
    };
    if matches!(verb, Verb::List | Verb::Search | Verb::Get) {
        operation.capabilities.computed_fields = computed_fields(&exposed.collection);
    }
    if matches!(verb, Verb::List | Verb::Search) {
        operation.capabilities.aggregation = Some(aggregation_support(&exposed.collection));
        operation.examples = vec![Example { description: None, params: examples::list(verb, exposed) }];
    }
    operation
}

pub(super) fn keys<'a>(
    exposed: &'a ExposedTable,
    references: &'a [(Arc<str>, String)],
) -> impl Iterator<Item = Parameter> + 'a {
    let columns = exposed.table.key_columns();
    columns.map(|column| {
        let schema = explained(column, described(column, schema(&column.field_type, column), references));
        Parameter::required(&column.name, schema)
    })
}

pub(super) fn settable<'a>(
    exposed: &'a ExposedTable,
    references: &'a [(Arc<str>, String)],
    fits: impl Fn(&Column) -> bool + 'a,
) -> impl Iterator<Item = Parameter> + 'a {
    exposed.table.columns.iter().filter(move |column| fits(column)).map(|column| {
        let schema = with_default(described(column, constrained(column), references), column);
        let schema = Schema { nullable: column.nullable, ..explained(column, schema) };
        Parameter { required: !is_optional(column), ..Parameter::optional(&column.name, schema) }
    })
}

fn dry_run() -> Parameter {
    let schema = Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) };
    Parameter::optional("dry_run", schema.describe("Report the changes without making them.")).shared()
}

fn if_match() -> Parameter {
    let words = "The '_etag' the row had when it was read: refused if it has changed since.";
    Parameter::optional("if_match", Schema::string().describe(words)).shared()
}

/// The parameter of a field that can be changed. Fields that are not given stay unchanged, whatever their default.
pub(super) fn as_change(field: Parameter) -> Parameter {
    let schema = Schema { default: None, ..field.schema };
    Parameter { required: false, schema, ..field }
}

/// The schema of a column's values, with its comment and references.
fn described(column: &Column, schema: Schema, references: &[(Arc<str>, String)]) -> Schema {
    let reference = references.iter().find(|(name, _)| *name == column.name).map(|(_, to)| format!("Refers to {to}."));
    let bytes = (column.field_type == FieldType::Bytes).then(|| "Bytes in base64.".to_owned());
    let own = column.comment.as_deref().map(|comment| comment.trim().to_owned());
    let named =
        (is_renamed(column) && can_be_quoted(&column.sql_name)).then(|| format!("Column '{}'.", column.sql_name));
    let words: Vec<String> = [named, own, reference, bytes].into_iter().flatten().collect();
    if words.is_empty() { schema } else { schema.describe(&words.join(" ")) }
}

/// The schema of a parameter, which always has a description. In the type of a row, the type says enough.
fn explained(column: &Column, schema: Schema) -> Schema {
    match schema.description {
        Some(_) => schema,
        None => {
            let words = column_description::describe(column, schema.length.max);
            schema.describe(&words)
        }
    }
}

/// Whether the field name differs from the column name by more than the case style.
pub(super) fn is_renamed(column: &Column) -> bool {
    fold(&column.name) != fold(&column.sql_name)
}

/// The operation that follows references between all tables.
pub(super) fn query_relationships(root: Schema, relationships: &[Relationship]) -> Operation {
    let mut operation = Operation::new(
        "query_relationships",
        Category::Read,
        &format!(
            "Follow references between rows from one row on. Grammar: root {{element_type: table, and every column of its key, \
             or element_name}}; direction 'outgoing' leads to the rows referred to, 'incoming' to those referring, 'both' each \
             way; relationship 'table.column' keeps to one kind, 'references' to none; depth 1 to {MAX_RELATIONSHIP_DEPTH}. Pages of 20, no more than 100; they may shift while rows change."
        ),
    );
    operation.routing.is_indirect = true;
    let names = || std::iter::once(ANY_REFERENCE).chain(relationships.iter().map(|known| &*known.name));
    let sections = Schema::new(Kind::Array(Some(Box::new(Schema::one_of([
        "root",
        "relationships",
        "graph.nodes",
        "graph.edges",
    ])))));
    let depth = Schema { default: Some(1.into()), ..Schema::integer(1.0, f64::from(MAX_RELATIONSHIP_DEPTH)) };
    // No default: what a request says about pages decides whether the answer says something about them.
    let first = Schema { range: Range { minimum: Some(0.0), ..Range::default() }, ..Schema::new(Kind::Integer) };
    operation.parameters = vec![
        Parameter::required("root", root),
        Parameter::required(
            "direction",
            Schema::one_of(Direction::ALL.map(Direction::as_str))
                .describe("Rows referring to it, rows it refers to, or both."),
        ),
        Parameter::optional("relationship", Schema::one_of(names()).describe("Only this one; 'references' is all.")),
        Parameter::optional("depth", depth.describe("How many steps to follow.")),
        Parameter::optional("include", sections.describe("Only these parts of the answer.")),
        Parameter::optional("first", first.describe("How many relationships: 20 by default, up to 100.")),
        Parameter::optional("after", Schema::string().describe("Continue after this cursor; needs 'first'.")),
    ];
    operation.returns = Returns {
        type_name: RELATED_ROWS.into(),
        description: "{root, relationships[], graph {nodes, edges}, pageInfo}".into(),
    };
    operation.capabilities.relationships = Some(RelationshipCapabilities {
        supported: true,
        directions: Direction::ALL.to_vec(),
        relationship_types: names().map(Arc::from).collect(),
        max_depth: MAX_RELATIONSHIP_DEPTH,
    });
    operation
}

/// The result of `query_relationships`.
pub(super) fn related_rows() -> (Arc<str>, Arc<Schema>) {
    let object = || Schema::new(Kind::Object(Shape::default()));
    let list = || Schema::new(Kind::Array(Some(Box::new(object()))));
    let schema = Schema::object(vec![
        Parameter::required("root", object().describe("The row to start from.")),
        Parameter::optional("relationships", list().describe("One for each pair of rows.")),
        Parameter::optional("graph", object().describe("The same data as {nodes, edges}.")),
        Parameter::optional("pageInfo", Schema::named("PageInfo")),
    ])
    .describe("Rows and their references.");
    (RELATED_ROWS.into(), Arc::new(schema))
}

/// The operation that lists the tables.
pub(crate) fn tables() -> Operation {
    let collection = super::generic::tables_collection();
    let mut operation = Operation::new("list_tables", Category::Read, "List the tables of this database.");
    operation.role = Role::Discovery;
    operation.parameters = parameters(&collection, QueryKind::List);
    operation.capabilities.aggregation = Some(aggregation_support(&collection));
    operation.returns = Returns {
        description: "{items: [{name, table?, writable, searchable, columns, description?}], pageInfo}".into(),
        ..Returns::page("JsonObject")
    };
    operation
}
