//! An MCP server as a source of the engine.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::SharedClock;
use aquifer_engine::shape::{Controls, ResultShape};
use aquifer_engine::source::{
    Answer, Call, Context, FetchRequest, LiveSource, Outcome, ResourceSource, SourceCapabilities, SourceStatus,
};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::resources;
use super::tool_call;
use super::tool_result;
use crate::catalog::capture::Origin;
use crate::catalog::snapshot::CatalogSnapshot;
use crate::client::aql;
use crate::client::connection::{Connection, ProtocolMode};
use crate::client::delivery::Delivery;
use crate::client::pending_calls::CallOrigin;
use crate::error::{RpcError, UpstreamError};
use crate::settings::Settings;
use crate::supervisor::PinStore;
use crate::supervisor::lifecycle::Supervisor;

/// The shortest and the longest time to answer a ping after a call timed out. In between, the timeout of calls applies.
const PING_TIMEOUT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// How long introspection waits for a tool list.
const LISTING_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a call to an unknown or quarantined operation waits for the first tool list.
const CONFIRMATION_TIMEOUT: Duration = Duration::from_secs(5);

/// An MCP server that answers calls. Dropping the last handle ends its process and all children.
pub struct Upstream {
    supervisor: Arc<Supervisor>,
    stop: CancellationToken,
    _stop_guard: DropGuard,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("settings", &self.supervisor.settings).finish_non_exhaustive()
    }
}

impl Upstream {
    /// Creates an upstream whose definitions are pinned in memory. A cached catalog is served immediately. The server
    /// is contacted in the background, repeatedly until it answers. Must be called inside a tokio runtime.
    pub fn new(settings: Settings, clock: SharedClock) -> Arc<Self> {
        let supervisor = Supervisor::new(settings, clock.clone(), PinStore::in_memory(clock));
        // An in-memory store answers immediately.
        let mode = supervisor.load_cache().now_or_never().unwrap_or_default();
        Self::supervise(supervisor, mode)
    }

    /// Creates an upstream whose definitions are pinned in a state store. Waits briefly for the pins: without them no
    /// cached operation could be called.
    pub async fn open(settings: Settings, clock: SharedClock, pin_store: PinStore) -> Arc<Self> {
        let supervisor = Supervisor::new(settings, clock, pin_store);
        let mode = supervisor.load_cache().await;
        Self::supervise(supervisor, mode)
    }

    fn supervise(supervisor: Supervisor, mode: ProtocolMode) -> Arc<Self> {
        let supervisor = Arc::new(supervisor);
        let stop = crate::tasks::stop_token();
        let (task, stopped) = (supervisor.clone(), stop.clone());
        crate::tasks::spawn(async move {
            stopped.run_until_cancelled(task.clone().run(mode)).await;
            // Drops the last handles of the connection and wakes the calls that wait for it.
            task.connection.store(None);
            task.state.send_replace(crate::supervisor::lifecycle::State::Down(crate::error::unavailable_failure(
                &task.settings.name,
                "it was stopped",
            )));
        });
        Arc::new(Self { supervisor, _stop_guard: stop.clone().drop_guard(), stop })
    }

    /// Waits until it is connected and has listed its tools, or has failed to.
    pub async fn ready(&self) -> Result<(), Failure> {
        self.supervisor.wait_started().await.map(|_| ())
    }

    /// Whether it is connected now.
    pub fn is_connected(&self) -> bool {
        self.supervisor.connection.load().as_ref().is_some_and(|connection| connection.is_alive())
    }

    /// Whether its tools are known, from itself, from the cache or from a reviewed adapter.
    pub fn is_known(&self) -> bool {
        self.supervisor.snapshot.load().is_known
    }

    /// The operations that are quarantined until somebody accepts their definitions.
    pub fn quarantined(&self) -> Vec<Arc<str>> {
        self.supervisor.snapshot.load().quarantined().keys().cloned().collect()
    }

    /// Ends the connection and its process for good.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    async fn execute(&self, call: Call) -> Result<Answer, Failure> {
        let supervisor = &*self.supervisor;
        let snapshot = supervisor.snapshot.load_full();
        if snapshot.tool(&call.name).is_none()
            && is_status_operation(&call.name)
            && snapshot.check_quarantine(&call.name).is_ok()
        {
            supervisor.wait_connected().await?;
            let operations = supervisor.snapshot.load().len();
            return Ok(Answer::new(json!({ "available": true, "operations": operations })));
        }
        let Call { name, operation, params, context, uri_prefix, validity, .. } = call;
        // Invalid calls fail before anything is started.
        let mut arguments = prepare_arguments(&snapshot, &name, &operation, params)?;
        let mut known = snapshot;
        let mut delivery: Option<Delivery> = None;
        for attempt in 0..2 {
            let connection = supervisor.wait_connected().await?;
            let now = supervisor.snapshot.load_full();
            if !Arc::ptr_eq(&known, &now) {
                // The tools have changed, so the arguments are checked again.
                let params = known.tool(&name).map(|tool| tool.params(arguments)).unwrap_or_default();
                arguments = prepare_arguments(&now, &name, &operation, params)?;
                known = now;
            }
            let tool = known.tool(&name).ok_or_else(|| removed_failure(&name))?;
            // One record for all attempts ensures that a call that may change data is sent only once.
            let delivery = delivery.get_or_insert_with(|| Delivery::for_tool(tool.only_reads(), validity.clone()));
            if !tool.only_reads() {
                delivery.restrict();
            }
            let result = match &tool.endpoint {
                None => {
                    tool_call::call(supervisor, &connection, &known, &tool.name, &arguments, &context, delivery).await
                }
                Some(endpoint) => {
                    let wrapped = aql::wrap_arguments(&tool.name, &arguments);
                    tool_call::call(supervisor, &connection, &known, endpoint, &wrapped, &context, delivery)
                        .await
                        .and_then(|result| aql::unwrap_result(&result))
                }
            };
            match result
                .and_then(|result| tool_result::read_result(&result, &supervisor.sanitizer, uri_prefix.as_deref()))
            {
                Ok(answer) => return Ok(answer),
                Err(error) if attempt == 0 && error.is_transient() && delivery.may_start_again() => {}
                Err(error) => {
                    if let Some(error) = error.as_unknown_tool()
                        && self.is_removed(error, &connection, &name, tool.only_reads()).await
                    {
                        return Err(removed_failure(&name));
                    }
                    if matches!(error, UpstreamError::TimedOut) {
                        end_if_dead(connection, supervisor.settings.timeout);
                    }
                    let Settings { name, max_answer_bytes, .. } = &supervisor.settings;
                    return Err(error.into_call_failure(
                        delivery.is_in_doubt(),
                        name,
                        &supervisor.sanitizer,
                        *max_answer_bytes,
                    ));
                }
            }
        }
        Err(Failure::internal("more attempts than allowed"))
    }

    /// Lists the tools again after the upstream reported an unknown tool, and returns whether it was removed. An error
    /// of the tool itself does not prove that nothing was executed, so a tool that may have changed data is never
    /// reported as removed.
    async fn is_removed(&self, error: &RpcError, connection: &Connection, operation: &str, only_reads: bool) -> bool {
        self.supervisor.request_relist(connection)
            && (error.is_refusal() || only_reads)
            && self.supervisor.wait_connected_within(LISTING_TIMEOUT).await
            && self.supervisor.snapshot.load().tool(operation).is_none()
    }
}

/// Pings an upstream after a call timed out. If it does not answer, the connection is closed, and the next call starts
/// it again.
fn end_if_dead(connection: Arc<Connection>, timeout: Duration) {
    let timeout = timeout.clamp(PING_TIMEOUT.0, PING_TIMEOUT.1);
    tokio::spawn(async move {
        let origin = Arc::new(CallOrigin::internal());
        let ping = connection.request(
            "ping",
            None,
            origin,
            timeout,
            |_| json!({ "_meta": connection.meta(None).unwrap_or_default() }),
        );
        if let Err(UpstreamError::TimedOut) = ping.await {
            connection.shared.close(&crate::error::Outage::new("it does not answer", "no answer to a ping"));
        }
    });
}

/// The arguments under the upstream's names, if the current tool is the one that was judged and takes all of them. Their
/// values were checked against the catalog; rules that it cannot express are left to the upstream.
fn prepare_arguments(
    snapshot: &CatalogSnapshot,
    name: &str,
    operation: &Operation,
    params: Map<String, Value>,
) -> Result<Value, Failure> {
    snapshot.check_quarantine(name)?;
    let tool = snapshot.tool(name).ok_or_else(|| removed_failure(name))?;
    let is_same_tool = operation.origin.backing.tool().is_none_or(|judged| *judged == *tool.name);
    if !is_same_tool || tool.danger > operation.safety.danger || tool.category != operation.category {
        return Err(changed_failure(name));
    }
    if !tool.call.open && params.keys().any(|name| !tool.call.takes(name)) {
        return Err(changed_failure(name));
    }
    Ok(Value::Object(tool.call.arguments(params)))
}

fn is_status_operation(name: &str) -> bool {
    name.trim_end_matches('_') == "upstream_status"
}

fn removed_failure(operation: &str) -> Failure {
    Failure::new(
        Code::NotFoundOperation,
        "This operation is gone: the upstream's tools have changed. Use introspect again",
    )
    .detail("operation", operation)
}

fn changed_failure(operation: &str) -> Failure {
    Failure::new(
        Code::ConflictVersionMismatch,
        "The tool behind this operation has changed since it was introspected. Use introspect again, then repeat",
    )
    .detail("operation", operation)
}

impl Source for Upstream {
    fn name(&self) -> &str {
        &self.supervisor.settings.name
    }

    fn offering(&self) -> Offering {
        let Supervisor { snapshot, settings, observed, .. } = &*self.supervisor;
        snapshot.load().observed_offering(settings, observed)
    }

    fn version(&self) -> Option<Arc<str>> {
        let file_version = self.supervisor.settings.adapter.as_ref().map(|adapter| adapter.version.as_str().into());
        file_version.or_else(|| self.supervisor.snapshot.load().version.clone())
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match self.execute(call).await {
                Ok(answer) => Outcome::Done(answer),
                Err(failure) => Outcome::Failed(failure),
            }
        }
        .boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }

    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        Some(self)
    }
}

impl LiveSource for Upstream {
    fn record_observation(&self, operation: &str, shape: &ResultShape) -> bool {
        let Supervisor { snapshot, settings, observed, changes, .. } = &*self.supervisor;
        let is_new = settings.controls_of(operation) != Controls::None
            && snapshot.load().tool(operation).is_some_and(|tool| observed.record(&tool.name, shape));
        if is_new {
            changes.send_modify(|count| *count += 1);
        }
        is_new && shape.rows().is_known()
    }

    fn removed_operation(&self, operation: &str) -> Option<Operation> {
        self.supervisor.snapshot.load().removed(operation).cloned()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.supervisor.changes.subscribe())
    }

    fn generation(&self) -> u64 {
        *self.supervisor.changes.borrow()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        // A server that announced changed tools lists them soon. Quarantined definitions may have been accepted.
        async move {
            self.supervisor.refresh_pins().await;
            let stale = self
                .supervisor
                .connection
                .load_full()
                .is_some_and(|connection| connection.is_alive() && !connection.is_fresh());
            if stale && !self.supervisor.wait_connected_within(LISTING_TIMEOUT).await {
                tracing::debug!(source = self.supervisor.settings.name, "the changed tools are not listed yet");
            }
        }
        .boxed()
    }

    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        async move {
            let is_unconfirmed = {
                let snapshot = self.supervisor.snapshot.load();
                matches!(snapshot.origin, Origin::Cache | Origin::Nothing) && snapshot.failure.is_none()
            };
            if is_unconfirmed && !self.supervisor.wait_connected_within(CONFIRMATION_TIMEOUT).await {
                tracing::debug!(source = self.supervisor.settings.name, "the cached catalog is not confirmed yet");
            }
        }
        .boxed()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async move {
            let connection = self.supervisor.wait_connected().await?;
            connection.shared.tools_changed.send_modify(|count| *count += 1);
            self.supervisor.wait_connected().await.map(|_| ())
        }
        .boxed()
    }

    fn status(&self) -> SourceStatus {
        self.supervisor.status()
    }
}

impl ResourceSource for Upstream {
    fn capabilities(&self) -> SourceCapabilities {
        **self.supervisor.source_capabilities.load()
    }

    fn fetch(&self, target: FetchRequest, context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        resources::fetch(&self.supervisor, target, context).boxed()
    }
}
