//! The measurement: connect, look around, do the tasks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::aql::Aql;
use crate::count::Counts;
use crate::offender::Offender;
use crate::report::{FORMAT, Introspection, Kind, Report, Spread, Surface};
use crate::seen::{self, Apart};
use crate::server::{Server, Unanswered};
use crate::task::{self, Known, Task};
use crate::ways::{Direct, Ways};

/// Details that are looked at; of more, as many at even distances.
const MAX_DETAILS: usize = 500;

/// Operations that are searched for by their names, at even distances, too. Whatever the tasks are, it is the same figure.
const SEARCHES: usize = 10;

/// The parameter of operations that have to be confirmed.
const CONFIRMATION: &str = "confirmation_token";

/// What is measured.
#[derive(Debug)]
pub struct Subject<'a, S> {
    /// What it is called in the report.
    pub name: String,
    /// The servers whose own tools a model would get.
    pub direct: &'a [S],
    /// The same behind MCP-AQL, once for each mode; or a running server of any kind.
    pub served: &'a [S],
}

/// What is done with it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What a model is to do; else tasks are found among the operations that only read.
    pub tasks: Option<Vec<Task>>,
    /// Whether tasks may call what writes.
    pub allow_writes: bool,
    /// Whether no task is done at all.
    pub no_calls: bool,
}

/// Measures it. Nothing is called that may write, unless a task names it and the options allow it.
pub async fn measure<S: Server>(subject: &Subject<'_, S>, options: &Options) -> Result<Report, Unanswered> {
    let mut report = Report {
        format: FORMAT,
        subject: subject.name.clone(),
        surfaces: Vec::new(),
        introspection: None,
        tasks: Vec::new(),
        largest_tools: Vec::new(),
        largest_operations: Vec::new(),
        remarks: Vec::new(),
    };
    let mut direct = Direct::default();
    for server in subject.direct {
        direct.add(server, server.tools().await?);
    }
    let mut served: Vec<Aql<'_, S>> = Vec::new();
    for server in subject.served {
        let tools = server.tools().await?;
        match Aql::find(server, &tools).await? {
            Some(aql) => {
                report.surfaces.push(surface(aql.kind, &tools, &[server]));
                served.push(aql);
            }
            // A running server that does not speak it: its tools are what a model gets.
            None => direct.add(server, tools),
        }
    }
    if direct.is_there() {
        report.surfaces.push(surface(Kind::Direct, direct.tools(), &direct.servers));
        report.largest_tools = Offender::largest(direct.tools().iter().map(Offender::tool).collect());
    }
    report.surfaces.sort_by_key(|surface| surface.surface);
    // Where there is one tool, nothing but introspection is paid for.
    let first = served.iter().find(|aql| aql.kind == Kind::Single).or(served.first());
    let Some(first) = first else {
        report.remarks.push("it does not speak MCP-AQL: there is nothing to introspect".to_owned());
        return Ok(report);
    };
    let mut catalogue = Catalogue::read(first).await?;
    if catalogue.details.len() < catalogue.operations.len() {
        let (some, all) = (catalogue.details.len(), catalogue.operations.len());
        report.remarks.push(format!("details were looked at for {some} of {all} operations"));
    }
    report.largest_operations = Offender::largest(catalogue.details.values().map(Offender::operation).collect());

    let tasks = match (&options.tasks, options.no_calls) {
        (_, true) => Vec::new(),
        (Some(tasks), _) => tasks.clone(),
        (None, _) => task::find(&catalogue.known()),
    };
    if tasks.is_empty() && !options.no_calls {
        report
            .remarks
            .push("no operation only reads and needs no parameters: write tasks into a file (--tasks)".to_owned());
    }
    for task in &tasks {
        catalogue.look(first, &task.operation).await?;
    }
    let ways = Ways { direct: &direct, served: &served, first, catalogue: &catalogue, options };
    for task in &tasks {
        report.tasks.push(ways.of(task).await?);
    }
    report.introspection = Some(Introspection {
        surface: first.kind,
        operations: catalogue.operations.len(),
        list: catalogue.list,
        search: Spread::of(&catalogue.searches(first).await?),
        detail: Spread::of(&catalogue.costs),
    });
    Ok(report)
}

fn surface<S: Server>(kind: Kind, tools: &[Value], servers: &[&S]) -> Surface {
    let instructions: Vec<Counts> = servers.iter().filter_map(|server| server.instructions()).map(Counts::of).collect();
    Surface {
        surface: kind,
        tools: tools.len(),
        connect: Counts::of(&seen::tools(tools)),
        instructions: (!instructions.is_empty()).then(|| instructions.into_iter().sum()),
        apart: tools.iter().map(seen::icons).fold(Apart::default(), Apart::and),
    }
}

/// What introspection says there is.
pub(crate) struct Catalogue {
    /// The operations and their semantic categories, as listed.
    operations: Vec<(String, String)>,
    /// Their details, as far as they were looked at.
    details: BTreeMap<String, Value>,
    /// What each of those costs.
    costs: Vec<(String, Counts)>,
    list: crate::report::List,
}

impl Catalogue {
    async fn read<S: Server>(aql: &Aql<'_, S>) -> Result<Self, Unanswered> {
        let (listed, list) = aql.list().await?;
        let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operations: Vec<(String, String)> =
            listed.iter().map(|one| (word(one, "name"), word(one, "semantic_category"))).collect();
        let every = operations.len().div_ceil(MAX_DETAILS).max(1);
        let looked_at: Vec<String> = operations.iter().step_by(every).map(|(name, _)| name.clone()).collect();
        let mut catalogue = Self { operations, details: BTreeMap::new(), costs: Vec::new(), list };
        for name in &looked_at {
            let cost = catalogue.look(aql, name).await?;
            catalogue.costs.extend(cost.map(|cost| (name.clone(), cost)));
        }
        Ok(catalogue)
    }

    /// Looks at one operation, if there is one of this name, and tells what that costs.
    async fn look<S: Server>(&mut self, aql: &Aql<'_, S>, operation: &str) -> Result<Option<Counts>, Unanswered> {
        let said = aql.detail(operation).await?;
        let detail = said.data().and_then(|data| data.get("operation"));
        if let Some(detail) = detail {
            self.details.insert(operation.to_owned(), detail.clone());
        }
        Ok(detail.map(|_| said.cost()))
    }

    /// What it costs to search for some of the operations by the words of their names.
    async fn searches<S: Server>(&self, aql: &Aql<'_, S>) -> Result<Vec<(String, Counts)>, Unanswered> {
        let every = self.operations.len().div_ceil(SEARCHES).max(1);
        let mut costs = Vec::new();
        for (name, _) in self.operations.iter().step_by(every) {
            let words = name.replace('_', " ");
            let (said, _) = aql.search(&words, name).await?;
            if said.data().is_some() {
                costs.push((words, said.cost()));
            }
        }
        Ok(costs)
    }

    fn known(&self) -> Vec<Known<'_>> {
        let known = |(name, _): &'_ (String, String)| self.details.get_key_value(name.as_str());
        self.operations
            .iter()
            .filter_map(known)
            .map(|(name, _)| Known { name, is_read: self.reads(name), parameters: self.parameters(name) })
            .collect()
    }

    /// Whether there is an operation of this name.
    pub(crate) fn has(&self, operation: &str) -> bool {
        self.operations.iter().any(|(name, _)| name == operation)
    }

    /// Whether an operation is known to read and nothing else: it was looked at, is READ, and nobody would have to confirm
    /// it. What is called READ and still asked about is not taken at its word.
    pub(crate) fn reads(&self, operation: &str) -> bool {
        let Some(detail) = self.detail(operation) else { return false };
        let listed = self.operations.iter().any(|(name, category)| name == operation && category == "READ");
        let permission = |name: &str| detail.pointer(&format!("/permissions/{name}")).and_then(Value::as_bool);
        let doubtful = permission("readOnly") == Some(false) || permission("destructive") == Some(true);
        listed && !doubtful && !task::takes(self.parameters(operation), CONFIRMATION)
    }

    /// Its detail, if it was looked at.
    pub(crate) fn detail(&self, operation: &str) -> Option<&Value> {
        self.details.get(operation)
    }

    /// The parameters it takes.
    pub(crate) fn parameters(&self, operation: &str) -> &[Value] {
        let parameters = self.detail(operation).and_then(|detail| detail.get("parameters"));
        parameters.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Parameters that concern items, which sums alone do not return: servers may refuse them beside sums.
const OF_ITEMS: &[&str] =
    &["first", "last", "limit", "offset", "page", "page_size", "sort", "order", "fields", "preset"];

/// Parameters laid over others.
pub(crate) fn laid_over(params: &Map<String, Value>, shape: &Map<String, Value>) -> Map<String, Value> {
    let has_items = !shape.contains_key("aggregate") || shape.get("include_items") == Some(&Value::Bool(true));
    let kept = params.iter().filter(|(name, _)| has_items || !OF_ITEMS.contains(&name.as_str()));
    kept.chain(shape).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_take_the_place_of_pages() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let params = map(json!({ "filter": {}, "first": 5, "sort": "id" }));
        for (shape, expected) in [
            (json!({ "fields": ["id"] }), json!({ "filter": {}, "first": 5, "sort": "id", "fields": ["id"] })),
            (json!({ "aggregate": {} }), json!({ "filter": {}, "aggregate": {} })),
            (
                json!({ "aggregate": {}, "include_items": true }),
                json!({ "filter": {}, "first": 5, "sort": "id", "aggregate": {}, "include_items": true }),
            ),
        ] {
            assert_eq!(laid_over(&params, &map(shape)), map(expected));
        }
    }
}
