//! Following references from one row on, level by level, each row visited once and each reference told once (R-COL-10).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::CursorKey;
use aquifer_query::collection::Collection;
use aquifer_query::plan::{Page, Plan};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Done;
use super::read::{not_found, shown};
use crate::exposed_table::ExposedTable;
use crate::offer::Relationship;
use crate::rows::Reader;
use crate::session::{Fault, Session, Work};
use crate::sql::select::equals;
use crate::sql::value::{Scope, Thing};
use crate::statement::{Dialect, Statement};

/// References beyond this are not told: nobody reads them, and every one costs memory.
const MAX_COUNT: usize = 5_000;
/// Keys looked for in one statement.
const CHUNK: usize = 500;

/// Which way references are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Incoming,
    Outgoing,
    Both,
}

impl Direction {
    /// The direction that a caller asked for.
    pub(crate) fn from_params(params: &Map<String, Value>) -> Self {
        match params.get("direction").and_then(Value::as_str) {
            Some("incoming") => Direction::Incoming,
            Some("outgoing") => Direction::Outgoing,
            _ => Direction::Both,
        }
    }

    fn allows(self, outgoing: bool) -> bool {
        match self {
            Direction::Both => true,
            Direction::Outgoing => outgoing,
            Direction::Incoming => !outgoing,
        }
    }
}

/// A walk along references.
pub(crate) struct Walk {
    pub(crate) tables: Vec<Arc<ExposedTable>>,
    pub(crate) relationships: Arc<[Relationship]>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    /// The table and the key of the first row.
    pub(crate) root: (usize, Vec<Value>),
    pub(crate) direction: Direction,
    pub(crate) only: Option<usize>,
    pub(crate) depth: u32,
    pub(crate) first: usize,
    pub(crate) skip: usize,
    /// Parts of the answer; empty is all.
    pub(crate) include: Vec<String>,
    pub(crate) key: CursorKey,
}

/// A row: its table, its key, and the values that references are made of.
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
    /// The row it was met from, and the one it led to.
    from: Arc<str>,
    to: Arc<Node>,
}

impl Walk {
    /// What a cursor of this walk is bound to.
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
            edges: false,
            total: false,
        };
        (collection, plan)
    }

    fn served(&self, table: usize) -> Result<&Arc<ExposedTable>, Fault> {
        self.tables.get(table).ok_or_else(|| Failure::internal("a relationship with a table that is not there").into())
    }

    /// Columns of a table that keys and references are made of.
    fn columns(&self, table: usize) -> Result<Vec<Arc<str>>, Fault> {
        let mut columns: Vec<Arc<str>> =
            self.served(table)?.table.key_columns().map(|column| column.name.clone()).collect();
        for known in self.relationships.iter() {
            let own = if known.from == table { known.columns.as_slice() } else { &[] };
            let referred = if known.to == table { known.to_columns.as_slice() } else { &[] };
            for name in own.iter().chain(referred) {
                if !columns.contains(name) {
                    columns.push(name.clone());
                }
            }
        }
        Ok(columns)
    }

    /// Rows of a table with any of these values in these columns, in the order of their key.
    async fn rows<S: Session>(
        &self,
        session: &mut S,
        table: usize,
        by: &[Arc<str>],
        wanted: &[Vec<Value>],
        most: usize,
    ) -> Result<Vec<Node>, Fault> {
        let served = self.served(table)?;
        let columns = self.columns(table)?;
        let mut nodes = Vec::new();
        for chunk in wanted.chunks(CHUNK) {
            if nodes.len() >= most {
                break;
            }
            let scope = Scope::new(served, self.dialect, self.now);
            let (statement, readers) = select(&scope, &columns, by, chunk, most - nodes.len());
            for row in session.rows(&statement, &readers).await? {
                let values: Map<String, Value> = columns.iter().map(|name| name.to_string()).zip(row).collect();
                let key: Vec<Value> = served
                    .table
                    .key_columns()
                    .map(|column| values.get(&*column.name).cloned().unwrap_or(Value::Null))
                    .collect();
                let id = format!("{}:{}", served.words.plural, shown(&key)).into();
                nodes.push(Node { table, id, key, values });
            }
        }
        Ok(nodes)
    }

    /// Every reference up to `most`, level by level.
    async fn walk<S: Session>(&self, session: &mut S, root: Arc<Node>, most: usize) -> Result<Vec<Edge>, Fault> {
        let mut visited: HashMap<Arc<str>, Arc<Node>> = HashMap::from([(root.id.clone(), root.clone())]);
        let mut told: HashSet<(usize, Arc<str>, Arc<str>)> = HashSet::new();
        let mut edges = Vec::new();
        let mut frontier = vec![root];
        for depth in 1..=self.depth {
            let mut next = Vec::new();
            for (index, known) in self.relationships.iter().enumerate() {
                if self.only.is_some_and(|only| only != index) {
                    continue;
                }
                for outgoing in [true, false] {
                    if !self.direction.allows(outgoing) || edges.len() >= most {
                        continue;
                    }
                    // Seen from the referring row the others are referred to, and the other way round.
                    let (here, there, ours, theirs) = if outgoing {
                        (known.from, known.to, &known.columns, &known.to_columns)
                    } else {
                        (known.to, known.from, &known.to_columns, &known.columns)
                    };
                    let here: Vec<&Arc<Node>> = frontier.iter().filter(|node| node.table == here).collect();
                    let wanted = distinct(here.iter().filter_map(|node| node.at(ours)));
                    let limit = most - edges.len() + told.len();
                    let found = self.rows(session, there, theirs, &wanted, limit).await?;
                    for node in found {
                        let node = visited.get(&node.id).cloned().unwrap_or_else(|| {
                            let node = Arc::new(node);
                            visited.insert(node.id.clone(), node.clone());
                            next.push(node.clone());
                            node
                        });
                        let values = node.at(theirs);
                        for near in here.iter().filter(|near| {
                            let pairs = near.at(ours).zip(values.as_ref());
                            pairs.is_some_and(|(ours, theirs)| ours.iter().zip(theirs).all(|(a, b)| alike(a, b)))
                        }) {
                            let (source, target) = if outgoing { (&near.id, &node.id) } else { (&node.id, &near.id) };
                            if edges.len() < most && told.insert((index, source.clone(), target.clone())) {
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

    /// A row as others refer to it.
    fn reference(&self, node: &Node) -> Value {
        let mut reference = Map::new();
        if let Some(served) = self.tables.get(node.table) {
            reference.insert("element_type".to_owned(), served.words.plural.as_str().into());
            reference.insert("element_name".to_owned(), shown(&node.key).into());
            for (column, value) in served.table.key_columns().zip(&node.key) {
                reference.insert(column.name.to_string(), value.clone());
            }
        }
        Value::Object(reference)
    }

    fn answer(&self, root: &Node, mut edges: Vec<Edge>) -> Done {
        let cut = edges.len() > MAX_COUNT;
        edges.truncate(MAX_COUNT);
        let more = edges.len() > self.skip + self.first;
        let page: Vec<Edge> = edges.into_iter().skip(self.skip).take(self.first).collect();
        let shows = |part: &str| self.include.is_empty() || self.include.iter().any(|wanted| wanted == part);
        let mut data = Map::new();
        if shows("root") {
            data.insert("root".to_owned(), self.reference(root));
        }
        let name = |edge: &Edge| self.relationships.get(edge.relationship).map(|known| known.name.to_string());
        if shows("relationships") {
            let record = |edge: &Edge| {
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
                let kind = self.tables.get(node.table).map(|served| served.words.plural.as_str());
                json!({ "id": &*node.id, "element_type": kind, "element_name": shown(&node.key) })
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
        data.insert("pageInfo".to_owned(), info);
        let mut warnings = Vec::new();
        if cut && !more {
            warnings
                .push(Warning::new("RESULT_TRUNCATED", format!("Only the first {MAX_COUNT} relationships are told")));
        }
        Done { data: Value::Object(data).into(), warnings }
    }
}

impl Node {
    /// The values of these columns, unless one is missing.
    fn at(&self, columns: &[Arc<str>]) -> Option<Vec<Value>> {
        values_at(&self.values, columns)
    }
}

/// The values of these columns, unless one is missing.
pub(super) fn values_at(row: &Map<String, Value>, columns: &[Arc<str>]) -> Option<Vec<Value>> {
    columns.iter().map(|name| row.get(&**name).filter(|value| !value.is_null()).cloned()).collect()
}

/// Whether two values are one to the database that has matched them: it may compare text in any case, and numbers of
/// different types.
fn alike(ours: &Value, theirs: &Value) -> bool {
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

pub(super) fn select(
    scope: &Scope<'_>,
    columns: &[Arc<str>],
    by: &[Arc<str>],
    wanted: &[Vec<Value>],
    most: usize,
) -> (Statement, Vec<Reader>) {
    let mut statement = Statement::new(scope.dialect);
    let mut readers = Vec::new();
    let table = &scope.served.table;
    statement.push("SELECT ");
    for column in columns.iter().filter_map(|name| table.column(name)) {
        if !readers.is_empty() {
            statement.push(", ");
        }
        readers.push(scope.output(&mut statement, Thing::Column(column)));
    }
    statement.push(" FROM ").name(&table.quoted).push(" AS t WHERE ");
    let by: Vec<&crate::model::Column> = by.iter().filter_map(|name| table.column(name)).collect();
    if let [column] = by.as_slice()
        && !column.is_shown_as_text()
    {
        let values: Vec<Value> = wanted.iter().filter_map(|values| values.first().cloned()).collect();
        if values.is_empty() {
            statement.push("FALSE");
        } else {
            scope.comparable(&mut statement, Thing::Column(column));
            crate::sql::operand::any_of(&mut statement, Thing::Column(column), &column.of, &values);
        }
    } else {
        statement.push("(");
        for (index, values) in wanted.iter().enumerate() {
            statement.push(if index == 0 { "(" } else { " OR (" });
            for (position, (column, value)) in by.iter().zip(values).enumerate() {
                if position > 0 {
                    statement.push(" AND ");
                }
                equals(scope, &mut statement, column, value);
            }
            statement.push(")");
        }
        statement.push(if wanted.is_empty() { "FALSE)" } else { ")" });
    }
    for (index, column) in table.key_columns().enumerate() {
        statement.push(if index == 0 { " ORDER BY " } else { ", " });
        scope.comparable(&mut statement, Thing::Column(column));
    }
    statement.push(" LIMIT ").count(most);
    (statement, readers)
}

impl Work for Walk {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        true
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let (table, key) = &self.root;
        let served = self.served(*table)?.clone();
        let by: Vec<Arc<str>> = served.table.key_columns().map(|column| column.name.clone()).collect();
        let found = self.rows(session, *table, &by, std::slice::from_ref(key), 1).await?;
        let root = found.into_iter().next().map(Arc::new).ok_or_else(|| not_found(&served, key))?;
        let most = (self.skip + self.first + 1).min(MAX_COUNT + 1);
        let edges = self.walk(session, root.clone(), most).await?;
        Ok((self.answer(&root, edges), false))
    }
}

/// The values of a key as a caller gave them, in the order of the key.
pub(crate) fn key_of(served: &ExposedTable, given: &Map<String, Value>) -> Result<Vec<Value>, Failure> {
    let mut key = Vec::new();
    let valid: Vec<&str> = served.table.key_columns().map(|column| &*column.name).collect();
    for column in served.table.key_columns() {
        let Some(value) = given.get(&*column.name) else {
            let path = format!("root.{}", column.name);
            return Err(Failure::new(
                aquifer_protocol::error::Code::ValidationMissingParam,
                format!(
                    "Missing required parameter '{path}'. Expected: the key of '{}': {}",
                    served.words.plural,
                    valid.join(", ")
                ),
            )
            .detail("param_name", path));
        };
        let accepted = aquifer_query::value::coerce(&column.of, value);
        key.push(accepted.ok_or_else(|| {
            let looks = aquifer_query::value::expected_format(&column.of);
            Failure::invalid_value(&format!("root.{}", column.name), format!("must be {looks}"))
        })?);
    }
    let known = |name: &str| {
        name == "element_type"
            || name == "element_name"
            || served.table.key_columns().any(|column| *column.name == *name)
    };
    if let Some(unknown) = given.keys().find(|name| !known(name)) {
        let shown: String = unknown.chars().filter(|c| c.is_alphanumeric() || *c == '_').take(64).collect();
        return Err(Failure::new(
            aquifer_protocol::error::Code::ValidationUnknownField,
            format!("Unknown field '{shown}' in 'root'. Valid: element_type, {}", valid.join(", ")),
        )
        .detail("param_name", "root"));
    }
    Ok(key)
}
