//! Long-running operations: they return an execution at once, which can be queried and cancelled.

use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::{Lifecycle, Operation, Returns};
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape, Types};
use futures::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Adapter, Ctx, Handler, collection, describe, parse_params, to_value};
use crate::execution::{Execution, Executions, Reporter};
use crate::source::{Context, Outcome};

impl<S: Send + Sync + 'static> Adapter<S> {
    /// Adds an EXECUTE operation that runs in the background, with the lifecycle of the specification.
    ///
    /// The call returns the state of the execution at once, or with `wait: true` after it has ended. The first such operation
    /// also adds `get_execution`, `list_executions` and `cancel_execution` to the adapter.
    #[must_use]
    pub fn execute_long<P, R, F>(mut self, handler: impl Fn(Ctx<S>, P, Reporter) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        let described = describe::describe_operation::<P>(Category::Execute, &mut self.types).and_then(|operation| {
            // Registered, so that the type of `result` is documented.
            describe::describe_returns::<R>(&mut self.types)?;
            Ok(operation)
        });
        let mut operation = match described {
            Ok(operation) => operation,
            Err(problem) => {
                self.problems.push(problem);
                return self;
            }
        };
        let has_wait = operation.parameter("wait").is_some();
        if !has_wait {
            let wait = Schema { default: Some(Value::Bool(false)), ..Schema::new(Kind::Boolean) };
            operation.parameters.push(Parameter::optional(
                "wait",
                wait.describe("Respond when the execution has ended; progress is reported meanwhile."),
            ));
        }
        let has_dry_run = operation.parameter("dry_run").is_some();
        if !has_dry_run {
            operation.parameters.push(dry_run());
        }
        operation.lifecycle = Some(Lifecycle::standard());
        operation.returns = register_state_type(&mut self.types);
        let name = operation.name.clone();
        let executions = self.executions.clone();
        let handler = Arc::new(handler);
        let run: Handler<S> = Box::new(move |cx, mut params| {
            let wait = if has_wait { None } else { params.remove("wait") };
            let wait = wait.and_then(|wait| wait.as_bool()).unwrap_or(false);
            let is_dry_run = !has_dry_run && params.remove("dry_run") == Some(Value::Bool(true));
            if is_dry_run {
                let state = parse_params::<P>(params)
                    .map(|_| json!({ "operation": name, "status": "pending", "dry_run": true }));
                return std::future::ready(Outcome::from(state)).boxed();
            }
            let started = parse_params::<P>(params).and_then(|params| {
                let (caller, handler) = (cx.context.caller.clone(), handler.clone());
                let inner = cx.clone();
                executions.start(&name, &caller, move |reporter| {
                    async move { handler(inner, params, reporter).await.and_then(to_value) }.boxed()
                })
            });
            async move {
                match started {
                    Ok(execution) if wait => Outcome::from(Ok(wait_to_end(&execution, &cx.context).await)),
                    Ok(execution) => Outcome::from(Ok(execution.to_value())),
                    Err(failure) => Outcome::Failed(failure),
                }
            }
            .boxed()
        });
        // Added last, so that following descriptions (an example, the danger level) apply to this operation.
        self = self.with_execution_operations();
        self.operations.push((operation, run));
        self
    }

    fn with_execution_operations(mut self) -> Self {
        if self.operations.iter().any(|(operation, _)| &*operation.name == "get_execution") {
            return self;
        }
        let returns = register_state_type(&mut self.types);
        let id = || Parameter::required("execution_id", Schema::string().describe("The execution's id."));

        let mut get = Operation::new("get_execution", Category::Read, "Get the state of an execution.");
        get.parameters = vec![id()];
        get.returns = returns.clone();
        self.operations.push((get, on_execution(&self.executions, |execution| execution.to_value())));

        let mut list =
            Operation::new("list_executions", Category::Read, "List the executions you started, newest first.");
        list.returns = Returns::page(&returns.type_name);
        let executions = self.executions.clone();
        let listing: Handler<S> = Box::new(move |cx, _| {
            let items: Vec<Value> =
                executions.list(&cx.context.caller).iter().map(|execution| execution.to_value()).collect();
            std::future::ready(Outcome::from(Ok(json!({ "items": items })))).boxed()
        });
        let collection = collection::describe(&Schema::named(&returns.type_name), &self.types);
        match self.make_queryable(list, collection) {
            Ok(list) => self.operations.push((list, listing)),
            Err(problem) => self.problems.push(problem),
        }

        let mut cancel = Operation::new(
            "cancel_execution",
            Category::Execute,
            "Cancel an execution. A finished one is not changed.",
        );
        cancel.parameters = vec![id(), dry_run()];
        cancel.returns = returns;
        cancel.danger = Danger::Reversible;
        let executions = self.executions.clone();
        let cancelling: Handler<S> = Box::new(move |cx, params| {
            let found = executions.find(execution_id(&params), &cx.context.caller);
            let is_dry_run = params.get("dry_run") == Some(&Value::Bool(true));
            async move {
                let execution = match found {
                    Ok(execution) => execution,
                    Err(failure) => return Outcome::Failed(failure),
                };
                if !is_dry_run {
                    execution.cancel();
                    execution.wait_finished(|_| {}).await;
                }
                Outcome::from(Ok(execution.to_value()))
            }
            .boxed()
        });
        self.operations.push((cancel, cancelling));
        self
    }
}

/// Every EXECUTE operation supports a dry run (R-REQ-9).
fn dry_run() -> Parameter {
    let schema = Schema { default: Some(Value::Bool(false)), ..Schema::new(Kind::Boolean) };
    Parameter::optional("dry_run", schema.describe("Only check the request, do nothing."))
}

fn execution_id(params: &serde_json::Map<String, Value>) -> &str {
    params.get("execution_id").and_then(Value::as_str).unwrap_or_default()
}

fn on_execution<S: 'static>(executions: &Arc<Executions>, show: fn(&Execution) -> Value) -> Handler<S> {
    let executions = executions.clone();
    Box::new(move |cx, params| {
        let found = executions.find(execution_id(&params), &cx.context.caller).map(|execution| show(&execution));
        std::future::ready(Outcome::from(found)).boxed()
    })
}

/// Waits for the end and reports progress. If the caller cancels, the execution is cancelled.
async fn wait_to_end(execution: &Arc<Execution>, context: &Context) -> Value {
    let cancel_if_dropped = CancelOnDrop(Some(execution.clone()));
    execution.wait_finished(|update| context.progress.report(update)).await;
    cancel_if_dropped.disarm();
    execution.to_value()
}

struct CancelOnDrop(Option<Arc<Execution>>);

impl CancelOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(execution) = &self.0 {
            execution.cancel();
        }
    }
}

fn register_state_type(types: &mut Types) -> Returns {
    let time = || Schema { format: Some(aquifer_protocol::schema::Format::DateTime), ..Schema::string() };
    let object = || Schema::new(Kind::Object(Shape::default()));
    let schema = Schema::object(vec![
        Parameter::optional("execution_id", Schema::string().describe("The execution's id; none after a dry run.")),
        Parameter::required("operation", Schema::string().describe("The operation that started it.")),
        Parameter::required("status", Schema::one_of(Lifecycle::standard().states).describe("Its status.")),
        Parameter::optional("started_at", time()),
        Parameter::optional("finished_at", time()),
        Parameter::optional("progress", object().describe("Progress: current, total, message.")),
        Parameter::optional("result", Schema::new(Kind::Any).describe("The result, once completed.")),
        Parameter::optional("error", object().describe("Why it failed: code, message, details.")),
    ])
    .describe("The state of an execution.");
    types.insert("ExecutionState".into(), Arc::new(schema));
    Returns { type_name: "ExecutionState".into(), description: "The execution's state.".into() }
}
