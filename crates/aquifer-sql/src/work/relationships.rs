//! Follows references from one row, level by level. Each row is visited once and each reference reported once
//! (R-COL-10).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::response::Data;
use aquifer_protocol::warning::Warning;
use aquifer_query::CursorKey;
use aquifer_query::budget::{Budget, estimate_text, estimate_value};
use aquifer_query::collection::Collection;
use aquifer_query::evaluate::{PageEnd, page_truncated};
use aquifer_query::plan::{Page, Plan};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::OperationOutput;
use super::read::not_found;
use crate::rows::CellType;
use crate::schema::exposed_table::{ExposedTable, ExposedTables};
use crate::schema::relationship::{Direction, Relationship};
use crate::schema::row_name::{self, format_key};
use crate::sql::scope::{PathTarget, Scope};
use crate::sql::select::write_equals;
use crate::statement::{Dialect, Statement};
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// The maximum number of reported references, which bounds the memory.
const MAX_RELATIONSHIPS: usize = 5_000;
/// How many keys are looked up in one statement.
const VALUES_PER_STATEMENT: usize = 500;

/// A walk along references.
pub(crate) struct RelationshipWalk {
    pub(crate) tables: ExposedTables,
    pub(crate) relationships: Arc<[Relationship]>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    /// The table and key of the first row.
    pub(crate) root: (usize, Vec<Value>),
    pub(crate) direction: Direction,
    pub(crate) only: Option<usize>,
    pub(crate) depth: u32,
    pub(crate) first: usize,
    pub(crate) skip: usize,
    /// Whether the caller asked for a page.
    pub(crate) is_paged: bool,
    /// The requested parts of the answer; empty means all.
    pub(crate) include: Vec<String>,
    pub(crate) key: CursorKey,
    /// The maximum number of tokens of the answer.
    pub(crate) max_tokens: Option<usize>,
}

/// A row: its table, its key, and the values of its references.
struct Node {
    table: usize,
    id: Arc<str>,
    key: Vec<Value>,
    values: Map<String, Value>,
}

/// A reference that was followed.
struct Edge {
    relationship: usize,
    outgoing: bool,
    depth: u32,
    /// The row it was found from, and the row it leads to.
    from: Arc<str>,
    to: Arc<Node>,
}

impl RelationshipWalk {
    /// The collection and plan that a cursor of this walk is bound to.
    pub(crate) fn binding(&self) -> (Collection, Plan) {
        let (table, key) = &self.root;
        let name = format!(
            "relationships/{table}/{}/{:?}/{:?}/{}",
            Value::from(key.clone()),
            self.direction,
            self.only,
            self.depth
        );
        let collection = Collection { name: name.into(), key: vec!["n".into()], ..Collection::default() };
        let plan = Plan {
            text: None,
            filter: None,
            sort: Vec::new(),
            select: Vec::new(),
            aggregates: Vec::new(),
            items: true,
            page: Page::Forward { size: 0, after: None },
            table: false,
            embeds: Vec::new(),
            edges: false,
            total: false,
            max_tokens: None,
        };
        (collection, plan)
    }

    fn exposed_table(&self, table: usize) -> Result<&Arc<ExposedTable>, WorkError> {
        self.tables.get(table).ok_or_else(|| Failure::internal("a relationship refers to an unknown table").into())
    }

    /// The columns of a table that keys and references use.
    fn columns(&self, table: usize) -> Result<Vec<Arc<str>>, WorkError> {
        let mut columns: Vec<Arc<str>> =
            self.exposed_table(table)?.table.key_columns().map(|column| column.name.clone()).collect();
        for relationship in self.relationships.iter() {
            let own = if relationship.from == table { relationship.columns.as_slice() } else { &[] };
            let referred = if relationship.to == table { relationship.to_columns.as_slice() } else { &[] };
            for name in own.iter().chain(referred) {
                if !columns.contains(name) {
                    columns.push(name.clone());
                }
            }
        }
        Ok(columns)
    }

    /// Rows of a table with any of these values in these columns, in key order.
    async fn rows<S: Session>(
        &self,
        session: &mut S,
        table: usize,
        by: &[Arc<str>],
        wanted: &[Vec<Value>],
        max_count: usize,
    ) -> Result<Vec<Node>, WorkError> {
        let exposed = self.exposed_table(table)?;
        let columns = self.columns(table)?;
        let mut nodes = Vec::new();
        for chunk in wanted.chunks(VALUES_PER_STATEMENT) {
            if nodes.len() >= max_count {
                break;
            }
            let scope = Scope::new(exposed, self.dialect, self.now);
            let (statement, cell_types) = select_by_values(&scope, &columns, by, chunk, max_count - nodes.len());
            for row in session.rows(&statement, &cell_types).await? {
                let values: Map<String, Value> = columns.iter().map(|name| name.to_string()).zip(row).collect();
                let key: Vec<Value> = exposed
                    .table
                    .key_columns()
                    .map(|column| values.get(&*column.name).cloned().unwrap_or(Value::Null))
                    .collect();
                let id = format!("{}:{}", exposed.words.plural, format_key(&key)).into();
                nodes.push(Node { table, id, key, values });
            }
        }
        Ok(nodes)
    }

    /// Every reference up to `max_count`, level by level.
    async fn walk<S: Session>(
        &self,
        session: &mut S,
        root: Arc<Node>,
        max_count: usize,
    ) -> Result<Vec<Edge>, WorkError> {
        let mut visited: HashMap<Arc<str>, Arc<Node>> = HashMap::from([(root.id.clone(), root.clone())]);
        let mut reported: HashSet<(usize, Arc<str>, Arc<str>)> = HashSet::new();
        let mut edges = Vec::new();
        let mut frontier = vec![root];
        for depth in 1..=self.depth {
            let mut next = Vec::new();
            for (index, relationship) in self.relationships.iter().enumerate() {
                if self.only.is_some_and(|only| only != index) {
                    continue;
                }
                for outgoing in [true, false] {
                    if !self.direction.allows(outgoing) || edges.len() >= max_count {
                        continue;
                    }
                    // The other side of the reference depends on the direction.
                    let (here, there, ours, theirs) = if outgoing {
                        (relationship.from, relationship.to, &relationship.columns, &relationship.to_columns)
                    } else {
                        (relationship.to, relationship.from, &relationship.to_columns, &relationship.columns)
                    };
                    let here: Vec<&Arc<Node>> = frontier.iter().filter(|node| node.table == here).collect();
                    let wanted = distinct(here.iter().filter_map(|node| node.values(ours)));
                    let limit = max_count - edges.len() + reported.len();
                    let nodes = self.rows(session, there, theirs, &wanted, limit).await?;
                    for node in nodes {
                        let node = visited.get(&node.id).cloned().unwrap_or_else(|| {
                            let node = Arc::new(node);
                            visited.insert(node.id.clone(), node.clone());
                            next.push(node.clone());
                            node
                        });
                        let values = node.values(theirs);
                        for near in here.iter().filter(|near| {
                            let pairs = near.values(ours).zip(values.as_ref());
                            pairs
                                .is_some_and(|(ours, theirs)| ours.iter().zip(theirs).all(|(a, b)| is_same_value(a, b)))
                        }) {
                            let (source, target) = if outgoing { (&near.id, &node.id) } else { (&node.id, &near.id) };
                            if edges.len() < max_count && reported.insert((index, source.clone(), target.clone())) {
                                edges.push(Edge {
                                    relationship: index,
                                    outgoing,
                                    depth,
                                    from: near.id.clone(),
                                    to: node.clone(),
                                });
                            }
                        }
                    }
                }
            }
            frontier = next;
            if frontier.is_empty() {
                break;
            }
        }
        Ok(edges)
    }

    /// A row as answers refer to it.
    fn reference(&self, node: &Node) -> Value {
        let mut reference = Map::new();
        if let Some(exposed) = self.tables.get(node.table) {
            reference.insert("element_type".to_owned(), exposed.words.plural.as_str().into());
            reference.insert("element_name".to_owned(), format_key(&node.key).into());
            for (column, value) in exposed.table.key_columns().zip(&node.key) {
                reference.insert(column.name.to_string(), value.clone());
            }
        }
        Value::Object(reference)
    }

    /// The answer, with a smaller page if the whole one would exceed the budget.
    fn answer(&self, root: &Node, mut edges: Vec<Edge>) -> OperationOutput {
        let cut = edges.len() > MAX_RELATIONSHIPS;
        edges.truncate(MAX_RELATIONSHIPS);
        let asked = edges.len().saturating_sub(self.skip).min(self.first);
        let Some(max_tokens) = self.max_tokens else { return self.page(root, &edges, asked, cut) };
        let room = Budget::new(max_tokens).remaining();
        let mut shown = asked;
        loop {
            let mut output = self.page(root, &edges, shown, cut);
            let tokens = match &output.data {
                Data::Value(data) => estimate_value(data),
                Data::Text(data) => estimate_text(data.get().as_bytes()),
            };
            if tokens <= room || shown <= 1 {
                if shown < asked {
                    let page = Page::Forward { size: self.first, after: None };
                    output.warnings.push(page_truncated(&page, shown, asked, PageEnd::Tokens(max_tokens)));
                }
                return output;
            }
            shown = (shown * room / tokens).clamp(1, shown - 1);
        }
    }

    fn page(&self, root: &Node, edges: &[Edge], first: usize, cut: bool) -> OperationOutput {
        let more = edges.len() > self.skip + first;
        let page: Vec<&Edge> = edges.iter().skip(self.skip).take(first).collect();
        let shows = |part: &str| self.include.is_empty() || self.include.iter().any(|wanted| wanted == part);
        let mut data = Map::new();
        // The published response always has it, whatever was asked for.
        data.insert("root".to_owned(), self.reference(root));
        let name = |edge: &Edge| self.relationships.get(edge.relationship).map(|known| known.name.to_string());
        if shows("relationships") {
            let record = |edge: &&Edge| {
                let direction = if edge.outgoing { "outgoing" } else { "incoming" };
                json!({ "type": name(edge), "direction": direction, "target": self.reference(&edge.to), "depth": edge.depth })
            };
            data.insert("relationships".to_owned(), page.iter().map(record).collect());
        }
        let mut graph = Map::new();
        if shows("graph.nodes") {
            let mut seen = HashSet::new();
            let all = std::iter::once(root).chain(page.iter().map(|edge| &*edge.to));
            let nodes = all.filter(|node| seen.insert(node.id.clone())).map(|node| {
                let kind = self.tables.get(node.table).map(|exposed| exposed.words.plural.as_str());
                json!({ "id": &*node.id, "element_type": kind, "element_name": format_key(&node.key) })
            });
            graph.insert("nodes".to_owned(), nodes.collect());
        }
        if shows("graph.edges") {
            let edges = page.iter().map(|edge| {
                let (source, target) =
                    if edge.outgoing { (&edge.from, &edge.to.id) } else { (&edge.to.id, &edge.from) };
                json!({ "source": &**source, "target": &**target, "type": name(edge) })
            });
            graph.insert("edges".to_owned(), edges.collect());
        }
        if !graph.is_empty() {
            data.insert("graph".to_owned(), Value::Object(graph));
        }
        let mut info = json!({ "hasNextPage": more, "hasPreviousPage": self.skip > 0 });
        if let (Some(info), false) = (info.as_object_mut(), page.is_empty()) {
            let (collection, plan) = self.binding();
            let seal = |count: usize| Value::from(self.key.seal(&[count.into()], &collection, &plan));
            info.insert("startCursor".to_owned(), seal(self.skip + 1));
            info.insert("endCursor".to_owned(), seal(self.skip + page.len()));
        }
        // The published response has no such member, so it is there only if there are pages.
        if more || self.is_paged {
            data.insert("pageInfo".to_owned(), info);
        }
        let mut warnings = Vec::new();
        if cut && !more {
            warnings.push(Warning::new(
                "RESULT_TRUNCATED",
                format!("Only the first {MAX_RELATIONSHIPS} relationships are returned"),
            ));
        }
        OperationOutput::new(Value::Object(data), warnings).within_budget()
    }
}

impl Node {
    /// The values of these columns, unless one is missing.
    fn values(&self, columns: &[Arc<str>]) -> Option<Vec<Value>> {
        values_at(&self.values, columns)
    }
}

/// The values of these columns, unless one is missing.
pub(super) fn values_at(row: &Map<String, Value>, columns: &[Arc<str>]) -> Option<Vec<Value>> {
    columns.iter().map(|name| row.get(&**name).filter(|value| !value.is_null()).cloned()).collect()
}

/// Whether two values are equal for the database that matched them: it may ignore case or compare numbers of different
/// types.
fn is_same_value(ours: &Value, theirs: &Value) -> bool {
    fn number(value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
            _ => None,
        }
    }
    match (ours, theirs) {
        _ if ours == theirs => true,
        (Value::String(ours), Value::String(theirs)) => {
            ours.trim_end().to_lowercase() == theirs.trim_end().to_lowercase()
        }
        _ => number(ours).zip(number(theirs)).is_some_and(|(ours, theirs)| ours == theirs),
    }
}

pub(super) fn distinct(all: impl Iterator<Item = Vec<Value>>) -> Vec<Vec<Value>> {
    let mut seen = HashSet::new();
    all.filter(|values| seen.insert(Value::from(values.clone()).to_string())).collect()
}

pub(super) fn select_by_values(
    scope: &Scope<'_>,
    columns: &[Arc<str>],
    by: &[Arc<str>],
    wanted: &[Vec<Value>],
    max_count: usize,
) -> (Statement, Vec<CellType>) {
    let mut statement = Statement::new(scope.dialect);
    let mut cell_types = Vec::new();
    let table = &scope.exposed.table;
    statement.push("SELECT ");
    for column in columns.iter().filter_map(|name| table.column(name)) {
        if !cell_types.is_empty() {
            statement.push(", ");
        }
        cell_types.push(scope.write_output(&mut statement, PathTarget::Column(column)));
    }
    statement.push(" FROM ").name(&table.quoted).push(" AS t WHERE ");
    let by: Vec<&crate::schema::model::Column> = by.iter().filter_map(|name| table.column(name)).collect();
    if let [column] = by.as_slice()
        && !column.is_shown_as_text()
    {
        let values: Vec<Value> = wanted.iter().filter_map(|values| values.first().cloned()).collect();
        if values.is_empty() {
            statement.push("FALSE");
        } else {
            scope.write_comparable(&mut statement, PathTarget::Column(column));
            crate::sql::operand::write_any_of(&mut statement, PathTarget::Column(column), &column.field_type, &values);
        }
    } else {
        statement.push("(");
        for (index, values) in wanted.iter().enumerate() {
            statement.push(if index == 0 { "(" } else { " OR (" });
            for (position, (column, value)) in by.iter().zip(values).enumerate() {
                if position > 0 {
                    statement.push(" AND ");
                }
                write_equals(scope, &mut statement, column, value);
            }
            statement.push(")");
        }
        statement.push(if wanted.is_empty() { "FALSE)" } else { ")" });
    }
    for (index, column) in table.key_columns().enumerate() {
        statement.push(if index == 0 { " ORDER BY " } else { ", " });
        scope.write_comparable(&mut statement, PathTarget::Column(column));
    }
    statement.push(" LIMIT ").count(max_count);
    (statement, cell_types)
}

impl Work for RelationshipWalk {
    type Output = OperationOutput;

    fn needs_snapshot(&self) -> bool {
        true
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        let (table, key) = &self.root;
        let exposed = self.exposed_table(*table)?.clone();
        let by: Vec<Arc<str>> = exposed.table.key_columns().map(|column| column.name.clone()).collect();
        let rows = self.rows(session, *table, &by, std::slice::from_ref(key), 1).await?;
        let root = rows.into_iter().next().map(Arc::new).ok_or_else(|| not_found(&exposed, key))?;
        let max_count = (self.skip + self.first + 1).min(MAX_RELATIONSHIPS + 1);
        let edges = self.walk(session, root.clone(), max_count).await?;
        Ok((self.answer(&root, edges), TransactionEnd::Rollback))
    }
}

/// The key values that a caller gave, in key order.
pub(crate) fn parse_root_key(exposed: &ExposedTable, mut root: Map<String, Value>) -> Result<Vec<Value>, Failure> {
    row_name::expand(exposed, &mut root);
    let mut key = Vec::new();
    let valid: Vec<&str> = exposed.table.key_columns().map(|column| &*column.name).collect();
    for column in exposed.table.key_columns() {
        let Some(value) = root.get(&*column.name) else {
            // A text that is not a key of this table, and nothing else.
            if root.contains_key("element_name") && !valid.iter().any(|name| root.contains_key(*name)) {
                let problem = format!("must be the key as text: {}", valid.join(","));
                return Err(Failure::invalid_value("root.element_name", problem));
            }
            let path = format!("root.{}", column.name);
            return Err(Failure::new(
                aquifer_protocol::error::Code::ValidationMissingParam,
                format!(
                    "Missing required parameter '{path}'. Expected: the key of '{}': {}",
                    exposed.words.plural,
                    valid.join(", ")
                ),
            )
            .detail("param_name", path));
        };
        let accepted = aquifer_query::value::coerce(&column.field_type, value);
        key.push(accepted.ok_or_else(|| {
            let looks = aquifer_query::value::expected_format(&column.field_type);
            Failure::invalid_value(&format!("root.{}", column.name), format!("must be {looks}"))
        })?);
    }
    let is_valid_name = |name: &str| {
        name == "element_type"
            || name == "element_name"
            || exposed.table.key_columns().any(|column| *column.name == *name)
    };
    if let Some(unknown) = root.keys().find(|name| !is_valid_name(name)) {
        let shown: String = unknown.chars().filter(|c| c.is_alphanumeric() || *c == '_').take(64).collect();
        return Err(Failure::new(
            aquifer_protocol::error::Code::ValidationUnknownField,
            format!("Unknown field '{shown}' in 'root'. Valid: element_type, element_name, {}", valid.join(", ")),
        )
        .detail("param_name", "root"));
    }
    Ok(key)
}
