//! The measurement: connect, look around, do the tasks.

use serde_json::Value;

use crate::aql::Aql;
use crate::catalog::Catalogue;
use crate::count::Counts;
use crate::offender::Offender;
use crate::report::{FORMAT, Introspection, Kind, Report, Spread, Surface};
use crate::seen::{self, Apart};
use crate::server::{Server, Unanswered};
use crate::task::{self, Task};
use crate::ways::{Direct, Ways};

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
    let ways =
        Ways { direct: &direct, served: &served, first, catalogue: &catalogue, allow_writes: options.allow_writes };
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
