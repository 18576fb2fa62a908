//! Long-running operations: they return an execution at once, which can be queried and cancelled.

use std::sync::Arc;

use aquifer_engine::{Context, Outcome};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::{Lifecycle, Returns};
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape, Types};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::adapter::{Adapter, Handler};
use crate::answer::Reply;
use crate::describe::{OperationDraft, collection};
use crate::execution::{Execution, Executions};
use crate::extract::CallParts;

impl<S: Send + Sync + 'static> Adapter<S> {
    /// Adds a finished draft as an operation that runs in the background.
    pub(crate) fn add_long_running<F>(
        mut self,
        mut draft: OperationDraft,
        handler: impl Fn(CallParts<S>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Failure>> + Send + 'static,
    {
        let operation = &mut draft.operation;
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
        operation.capabilities.lifecycle = Some(Lifecycle::standard());
        operation.returns = register_state_type(&mut draft.types);
        let name = operation.name.clone();
        let executions = self.executions.clone();
        let handler = Arc::new(handler);
        let run: Handler<S> = Box::new(move |mut call| {
            let mut take = |name: &str, is_ours: bool| is_ours && call.take_flag(name);
            let (wait, is_dry_run) = (take("wait", !has_wait), take("dry_run", !has_dry_run));
            if is_dry_run {
                let state = json!({ "operation": name, "status": "pending", "dry_run": true });
                return std::future::ready(Outcome::from(Ok(state))).boxed();
            }
            let context = call.context().call().clone();
            let (caller, handler) = (context.caller.clone(), handler.clone());
            let operation = name.clone();
            let started = executions.start(&name, &caller, move |reporter| {
                call.execution = Some(reporter);
                async move {
                    let Reply { data, warnings, .. } = handler(call).await?;
                    // The state of an execution has no room for warnings.
                    for warning in warnings {
                        tracing::warn!(
                            operation = &*operation,
                            code = warning.code(),
                            "a warning of a long-running operation"
                        );
                    }
                    Ok(data)
                }
                .boxed()
            });
            async move {
                match started {
                    Ok(execution) if wait => Outcome::from(Ok(wait_to_end(&execution, &context).await)),
                    Ok(execution) => Outcome::from(Ok(execution.to_value())),
                    Err(failure) => Outcome::Failed(failure),
                }
            }
            .boxed()
        });
        // Added last, so that following descriptions (an example, the danger level) apply to this operation.
        self = self.with_execution_operations();
        self.push(draft, run);
        self
    }

    fn with_execution_operations(mut self) -> Self {
        if self.operations.iter().any(|(operation, _)| &*operation.name == "get_execution") {
            return self;
        }
        let mut types = Types::new();
        let returns = register_state_type(&mut types);
        let id = || Parameter::required("execution_id", Schema::string().describe("The execution's id."));

        let mut get = OperationDraft::new("get_execution", Category::Read, "Get the state of an execution.");
        get.types.clone_from(&types);
        get.operation.parameters = vec![id()];
        get.operation.returns = returns.clone();
        let handler = on_execution(&self.executions, |execution| execution.to_value());
        self.push(get, handler);

        let description = "List the executions you started, newest first.";
        let mut list = OperationDraft::new("list_executions", Category::Read, description);
        list.types.clone_from(&types);
        list.returned = Some(collection::describe(&Schema::named(&returns.type_name), &types));
        list.finish();
        list.operation.returns = Returns::page(&returns.type_name);
        let executions = self.executions.clone();
        let listing: Handler<S> = Box::new(move |call| {
            let items: Vec<Value> =
                executions.list(call.caller()).iter().map(|execution| execution.to_value()).collect();
            std::future::ready(Outcome::from(Ok(json!({ "items": items })))).boxed()
        });
        self.push(list, listing);

        let description = "Cancel an execution. A finished one is not changed.";
        let mut cancel = OperationDraft::new("cancel_execution", Category::Execute, description);
        cancel.types = types;
        cancel.operation.parameters = vec![id(), dry_run()];
        cancel.operation.returns = returns;
        cancel.operation.safety.danger = Danger::Reversible;
        let executions = self.executions.clone();
        let cancelling: Handler<S> = Box::new(move |mut call| {
            let is_dry_run = call.take_flag("dry_run");
            let found = find_execution(&executions, &mut call);
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
        self.push(cancel, cancelling);
        self
    }
}

/// Every EXECUTE operation supports a dry run (R-REQ-9).
fn dry_run() -> Parameter {
    let schema = Schema { default: Some(Value::Bool(false)), ..Schema::new(Kind::Boolean) };
    Parameter::optional("dry_run", schema.describe("Only check the request, do nothing."))
}

fn find_execution<S>(executions: &Executions, call: &mut CallParts<S>) -> Result<Arc<Execution>, Failure> {
    let id: String = call.parameter("execution_id")?;
    executions.find(&id, call.caller())
}

fn on_execution<S: 'static>(executions: &Arc<Executions>, show: fn(&Execution) -> Value) -> Handler<S> {
    let executions = executions.clone();
    Box::new(move |mut call| {
        let found = find_execution(&executions, &mut call).map(|execution| show(&execution));
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
