//! The measurement: connect, introspect, run the tasks.

use serde_json::Value;

use crate::aql::AqlServer;
use crate::catalog::Catalog;
use crate::count::TokenCounts;
use crate::definition_cost::DefinitionCost;
use crate::model_view::{self, NonText};
use crate::report::{CostSummary, FORMAT, Introspection, Report, Surface, SurfaceKind};
use crate::server::{Server, ServerError};
use crate::task::{self, Task};
use crate::task_runner::{DirectTools, TaskRunner};

/// The servers to measure.
#[derive(Debug)]
pub struct Subject<'a, S> {
    /// The name in the report.
    pub name: String,
    /// The servers whose own tools a model would get without MCP-AQL.
    pub direct: &'a [S],
    /// The same servers behind MCP-AQL, once for each mode; or a running server of any kind.
    pub served: &'a [S],
}

/// The options of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The tasks to run. By default, tasks are chosen among the read-only operations.
    pub tasks: Option<Vec<Task>>,
    /// Whether tasks may call operations that write.
    pub allow_writes: bool,
    /// Whether to skip all tasks.
    pub no_calls: bool,
}

/// Measures the servers. Calls nothing that may write unless a task names it and the options allow it.
pub async fn measure<S: Server>(subject: &Subject<'_, S>, options: &Options) -> Result<Report, ServerError> {
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
    let mut direct = DirectTools::default();
    for server in subject.direct {
        direct.add(server, server.tools().await?);
    }
    let mut served: Vec<AqlServer<'_, S>> = Vec::new();
    for server in subject.served {
        let tools = server.tools().await?;
        match AqlServer::detect(server, &tools).await? {
            Some(aql) => {
                report.surfaces.push(surface(aql.kind, &tools, &[server]));
                served.push(aql);
            }
            // A running server without MCP-AQL: a model gets its tools directly.
            None => direct.add(server, tools),
        }
    }
    if direct.has_servers() {
        report.surfaces.push(surface(SurfaceKind::Direct, direct.tools(), &direct.servers));
        report.largest_tools = DefinitionCost::largest(direct.tools().iter().map(DefinitionCost::from_tool).collect());
    }
    report.surfaces.sort_by_key(|surface| surface.kind);
    // Prefer the single tool: there, introspection is the only cost after connect.
    let first = served.iter().find(|aql| aql.kind == SurfaceKind::Single).or(served.first());
    let Some(first) = first else {
        report.remarks.push("the server does not speak MCP-AQL, so there is nothing to introspect".to_owned());
        return Ok(report);
    };
    let mut catalog = Catalog::fetch(first).await?;
    if catalog.details.len() < catalog.operations.len() {
        let (some, all) = (catalog.details.len(), catalog.operations.len());
        report.remarks.push(format!("details were measured for {some} of {all} operations"));
    }
    report.largest_operations =
        DefinitionCost::largest(catalog.details.values().map(DefinitionCost::from_operation).collect());

    let tasks = match (&options.tasks, options.no_calls) {
        (_, true) => Vec::new(),
        (Some(tasks), _) => tasks.clone(),
        (None, _) => task::choose(&catalog.summaries()),
    };
    if tasks.is_empty() && !options.no_calls {
        report
            .remarks
            .push("no read-only operation works without parameters; list tasks in a file (--tasks)".to_owned());
    }
    for task in &tasks {
        catalog.fetch_detail(first, &task.operation).await?;
    }
    let runner =
        TaskRunner { direct: &direct, served: &served, first, catalog: &catalog, allow_writes: options.allow_writes };
    for task in &tasks {
        report.tasks.push(runner.run(task).await?);
    }
    report.introspection = Some(Introspection {
        surface: first.kind,
        operations: catalog.operations.len(),
        list: catalog.list,
        search: CostSummary::from_costs(&catalog.measure_searches(first).await?),
        detail: CostSummary::from_costs(&catalog.costs),
    });
    Ok(report)
}

fn surface<S: Server>(kind: SurfaceKind, tools: &[Value], servers: &[&S]) -> Surface {
    let instructions: Vec<TokenCounts> =
        servers.iter().filter_map(|server| server.instructions()).map(TokenCounts::count).collect();
    Surface {
        kind,
        tools: tools.len(),
        connect: TokenCounts::count(&model_view::tools(tools)),
        instructions: (!instructions.is_empty()).then(|| instructions.into_iter().sum()),
        non_text: tools.iter().map(model_view::icons).fold(NonText::default(), NonText::and),
    }
}
