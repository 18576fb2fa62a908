//! Runs a task with the tools of the source itself and through each MCP-AQL surface.

use serde_json::{Map, Value};

use crate::aql::{AqlServer, CONFIRMATION, Found};
use crate::catalog::Catalog;
use crate::count::TokenCounts;
use crate::model_view::{self, NonText};
use crate::report::{self, Answer, Outcome, Step, StepKind, SurfaceKind, TaskRun};
use crate::server::{Server, ServerError};
use crate::task::{self, Task, merge_params};

/// Why an operation is not called, and how to allow it.
const MAY_WRITE: &str = "it may write (--allow-writes)";

/// The source's own tools and their servers.
pub(crate) struct DirectTools<'a, S> {
    pub(crate) servers: Vec<&'a S>,
    tools: Vec<Value>,
    /// The server of each tool.
    owners: Vec<&'a S>,
}

impl<S> Default for DirectTools<'_, S> {
    fn default() -> Self {
        Self { servers: Vec::new(), tools: Vec::new(), owners: Vec::new() }
    }
}

impl<'a, S: Server> DirectTools<'a, S> {
    pub(crate) fn add(&mut self, server: &'a S, tools: Vec<Value>) {
        self.servers.push(server);
        self.owners.extend(tools.iter().map(|_| server));
        self.tools.extend(tools);
    }

    pub(crate) fn has_servers(&self) -> bool {
        !self.servers.is_empty()
    }

    pub(crate) fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// The tool that performs a task, with its server and name.
    fn tool(&self, task: &Task) -> Option<(&'a S, &Value, &str)> {
        let named = self.tools.iter().zip(&self.owners).filter_map(|(tool, owner)| {
            let name = tool.get("name")?.as_str()?;
            Some((*owner, tool, name))
        });
        let mut named = named.filter(|(owner, _, name)| match &task.tool {
            Some(wanted) => wanted == name,
            None => owner.operation(name) == task.operation,
        });
        named.next()
    }
}

/// Everything that is needed to run a task.
pub(crate) struct TaskRunner<'a, S> {
    pub(crate) direct: &'a DirectTools<'a, S>,
    pub(crate) served: &'a [AqlServer<'a, S>],
    /// The server that was introspected.
    pub(crate) first: &'a AqlServer<'a, S>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) allow_writes: bool,
}

/// A run and its answer.
struct CompletedRun {
    run: TaskRun,
    data: Option<Value>,
    read: Option<TokenCounts>,
}

impl<S: Server> TaskRunner<'_, S> {
    /// Runs a task with each set of tools.
    pub(crate) async fn run(&self, task: &Task) -> Result<report::Task, ServerError> {
        let plain = self.run_on(self.first, task, None).await?;
        let shapes = self.shapes(task, plain.data.as_ref());
        let mut answers = Vec::new();
        if let Some(read) = plain.read {
            answers.push(Answer { shape: "as it comes".to_owned(), params: Map::new(), read });
            for (name, params) in &shapes {
                let shaped_params = merge_params(&task.params, params);
                let described = self.catalog.detail(&task.operation);
                let reply = self.first.call(&task.operation, &shaped_params, described).await?;
                if reply.data().is_some() {
                    answers.push(Answer { shape: (*name).to_owned(), params: params.clone(), read: reply.read });
                }
            }
        }
        let mut runs: Vec<TaskRun> = self.run_direct(task).await?.into_iter().collect();
        let mut plain = Some(plain.run);
        for aql in self.served {
            runs.push(match plain.take_if(|_| std::ptr::eq(aql, self.first)) {
                Some(done) => done,
                None => self.run_on(aql, task, None).await?.run,
            });
            if let Some((_, shape)) = shapes.last() {
                runs.push(self.run_on(aql, task, Some(shape)).await?.run);
            }
        }
        runs.sort_by_key(|run| (run.surface, run.shaped));
        let Task { name, operation, search, .. } = task.clone();
        Ok(report::Task { name, operation, search, runs, answers })
    }

    /// The shapes in which the answer is requested. Operations that write are not called again for this.
    fn shapes(&self, task: &Task, data: Option<&Value>) -> Vec<(&'static str, Map<String, Value>)> {
        match data {
            Some(data) if self.catalog.is_read_only(&task.operation) => {
                if task.shaped.is_empty() {
                    task::shapes(self.catalog.parameters(&task.operation), data)
                } else {
                    vec![("shaped", task.shaped.clone())]
                }
            }
            _ => Vec::new(),
        }
    }

    /// Runs a task through MCP-AQL: search, detail unless the search returned the signature, call.
    async fn run_on(
        &self,
        aql: &AqlServer<'_, S>,
        task: &Task,
        shape: Option<&Map<String, Value>>,
    ) -> Result<CompletedRun, ServerError> {
        let mut steps = vec![Step { kind: StepKind::Connect, wrote: TokenCounts::default(), read: aql.connect }];
        let (mut found, mut described) = (None, None);
        if let Some(words) = &task.search {
            let (reply, result) = aql.find(words, &task.operation).await?;
            steps.push(reply.step(StepKind::Search));
            found = Some(!matches!(result, Found::Nothing));
            if let Found::Signature(signature) = result {
                described = Some(signature);
            }
        }
        if described.is_none() {
            let detail = aql.detail(&task.operation).await?;
            steps.push(detail.step(StepKind::Detail));
            described = detail.data().and_then(|data| data.get("operation")).cloned();
        }
        let mut run = TaskRun {
            surface: aql.kind,
            shaped: shape.is_some(),
            steps,
            total: TokenCounts::default(),
            found,
            outcome: Outcome::NotCalled,
            reason: self.reason_not_to_call(task),
            non_text: NonText::default(),
        };
        let (mut data, mut read) = (None, None);
        if run.reason.is_none() {
            let mut params = shape.map_or_else(|| task.params.clone(), |shape| merge_params(&task.params, shape));
            let mut reply = aql.call(&task.operation, &params, described.as_ref()).await?;
            if task.confirm
                && let Some(token) = reply.confirmation_token()
            {
                // A model pays for the question and for the second call.
                params.insert(CONFIRMATION.to_owned(), token.into());
                run.steps.push(reply.step(StepKind::Call));
                reply = aql.call(&task.operation, &params, described.as_ref()).await?;
            }
            run.steps.push(reply.step(StepKind::Call));
            run.non_text = reply.view.non_text;
            (run.outcome, run.reason) = match reply.data() {
                Some(answered) => {
                    (data, read) = (Some(answered.clone()), Some(reply.read));
                    (Outcome::Answered, None)
                }
                None => (Outcome::Refused, Some(reply.refusal())),
            };
        }
        run.total = total(&run.steps);
        Ok(CompletedRun { run, data, read })
    }

    /// Why an operation is not called.
    fn reason_not_to_call(&self, task: &Task) -> Option<String> {
        let operation = &task.operation;
        if !self.catalog.has_operation(operation) {
            Some(format!("there is no operation '{operation}'"))
        } else if !self.catalog.is_read_only(operation) && !self.allow_writes {
            Some(MAY_WRITE.to_owned())
        } else {
            None
        }
    }

    /// Runs a task with the tool of the source itself.
    async fn run_direct(&self, task: &Task) -> Result<Option<TaskRun>, ServerError> {
        if !self.direct.has_servers() {
            return Ok(None);
        }
        let read = TokenCounts::count(&model_view::tools(self.direct.tools()));
        let mut run = TaskRun {
            surface: SurfaceKind::Direct,
            shaped: false,
            steps: vec![Step { kind: StepKind::Connect, wrote: TokenCounts::default(), read }],
            total: TokenCounts::default(),
            found: None,
            outcome: Outcome::NotCalled,
            reason: None,
            non_text: NonText::default(),
        };
        match self.direct.tool(task) {
            None => run.reason = Some("no tool of the source is known to do it; name one as 'tool'".to_owned()),
            Some((owner, tool, name)) if !self.allow_writes && !self.only_reads(owner, tool, name) => {
                run.reason = Some(MAY_WRITE.to_owned());
            }
            Some((owner, _, name)) => {
                let arguments = Value::Object(task.arguments.as_ref().unwrap_or(&task.params).clone());
                let wrote = TokenCounts::count(&model_view::call(name, &arguments));
                match owner.call(name, &arguments).await {
                    Ok(result) => {
                        let view = model_view::result(&result);
                        run.steps.push(Step { kind: StepKind::Call, wrote, read: TokenCounts::count(&view.text) });
                        run.non_text = view.non_text;
                        run.outcome = if view.failed { Outcome::Refused } else { Outcome::Answered };
                        run.reason = view.failed.then(|| view.text.chars().take(200).collect());
                    }
                    Err(ServerError(reason)) => run.reason = Some(reason),
                }
            }
        }
        run.total = total(&run.steps);
        Ok(Some(run))
    }

    /// Whether a tool is known to only read: its operation only reads, or, if it has none, its server declares so.
    fn only_reads(&self, owner: &S, tool: &Value, name: &str) -> bool {
        let operation = owner.operation(name);
        if self.catalog.has_operation(&operation) {
            return self.catalog.is_read_only(&operation);
        }
        let hint = |name: &str| tool.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
        hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true)
    }
}

fn total(steps: &[Step]) -> TokenCounts {
    steps.iter().map(|step| step.wrote + step.read).sum()
}
