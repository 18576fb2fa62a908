//! An MCP server as a source: lazy, supervised, alone in its misery.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::{Answer, Call, Context, FetchRequest, Outcome, SourceCapabilities, SourceStatus};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::answer;
use crate::calls::CallOrigin;
use crate::delivery::Delivery;
use crate::error::UpstreamError;
use crate::link::{Link, ProtocolMode};
use crate::message::RpcError;
use crate::pinning::Pinning;
use crate::resources;
use crate::served::{Origin, Served};
use crate::settings::Settings;
use crate::supervisor::Supervisor;
use crate::tool_call;

/// How long an upstream that did not answer a call may take to answer whether it is alive: as long as a call, within
/// these.
const PING: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// How long introspection waits for tools that are being listed.
const LISTED_IN: Duration = Duration::from_secs(2);

/// How long a call of an unknown or quarantined operation waits for a server that is being asked for the first time.
const CONFIRMED_IN: Duration = Duration::from_secs(5);

/// An MCP server that answers calls. When the last handle is dropped, its process and all its children are gone.
pub struct Upstream {
    supervisor: Arc<Supervisor>,
    stop: CancellationToken,
    _stops: DropGuard,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("settings", &self.supervisor.settings).finish_non_exhaustive()
    }
}

impl Upstream {
    /// An upstream whose definitions are pinned for as long as it lives. If its catalog is in the cache, it is offered at
    /// once. In any case the server is asked in the background, again and again until it answers. Must be called inside a
    /// tokio runtime.
    pub fn new(settings: Settings, clock: SharedClock) -> Arc<Self> {
        let supervisor = Supervisor::new(settings, clock.clone(), Pinning::in_memory(clock));
        // A memory answers at once.
        let mode = supervisor.remember().now_or_never().unwrap_or_default();
        Self::supervise(supervisor, mode)
    }

    /// The same with definitions that are pinned in a state store. Waits a moment for what is pinned there: without it
    /// nothing that is remembered could be called.
    pub async fn open(settings: Settings, clock: SharedClock, pinning: Pinning) -> Arc<Self> {
        let supervisor = Supervisor::new(settings, clock, pinning);
        let mode = supervisor.remember().await;
        Self::supervise(supervisor, mode)
    }

    fn supervise(supervisor: Supervisor, mode: ProtocolMode) -> Arc<Self> {
        let supervisor = Arc::new(supervisor);
        let stop = CancellationToken::new();
        let (task, stopped) = (supervisor.clone(), stop.clone());
        tokio::spawn(async move {
            stopped.run_until_cancelled(task.clone().run(mode)).await;
            // The connection's last handles; what waits for them is told.
            task.link.store(None);
            task.state.send_replace(crate::supervisor::State::Down(crate::error::unavailable(
                &task.settings.name,
                "it was stopped",
            )));
        });
        Arc::new(Self { supervisor, _stops: stop.clone().drop_guard(), stop })
    }

    /// Waits until it is connected and has said what it offers, or has failed to.
    pub async fn ready(&self) -> Result<(), Failure> {
        self.supervisor.live().await.map(|_| ())
    }

    /// Whether it is connected now.
    pub fn is_up(&self) -> bool {
        self.supervisor.link.load().as_ref().is_some_and(|link| link.is_alive())
    }

    /// Whether it is known what it offers, from itself, from before or from a reviewed adapter.
    pub fn is_known(&self) -> bool {
        self.supervisor.served.load().is_known
    }

    /// The operations that cannot be called until somebody accepts their definitions.
    pub fn quarantined(&self) -> Vec<Arc<str>> {
        self.supervisor.served.load().refused().keys().cloned().collect()
    }

    /// Ends the connection and its process for good.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    async fn answer(&self, call: Call) -> Result<Answer, Failure> {
        let supervisor = &*self.supervisor;
        let served = supervisor.served.load_full();
        if served.tool(&call.name).is_none() && is_status(&call.name) && served.admit(&call.name).is_ok() {
            supervisor.live().await?;
            let operations = supervisor.served.load().len();
            return Ok(Answer::new(json!({ "available": true, "operations": operations })));
        }
        let Call { name, operation, params, context, uri_prefix, validity } = call;
        // What is known to be wrong is refused before anything is started.
        let mut arguments = prepared(&served, &name, &operation, params)?;
        let mut known = served;
        let mut delivery: Option<Delivery> = None;
        for attempt in 0..2 {
            let link = supervisor.live().await?;
            let now = supervisor.served.load_full();
            if !Arc::ptr_eq(&known, &now) {
                // Its tools are others by now: what was right may no longer be.
                let params = known.tool(&name).map(|tool| tool.params(arguments)).unwrap_or_default();
                arguments = prepared(&now, &name, &operation, params)?;
                known = now;
            }
            let tool = known.tool(&name).ok_or_else(|| gone(&name))?;
            // One record for all attempts, so that a call that may change something is sent once.
            let delivery = delivery.get_or_insert_with(|| Delivery::for_tool(tool.only_reads(), validity.clone()));
            if !tool.only_reads() {
                delivery.restrict();
            }
            let result = tool_call::call(supervisor, &link, &known, &tool.name, &arguments, &context, delivery).await;
            match result.and_then(|result| answer::read(&result, &supervisor.sanitizer, uri_prefix.as_deref())) {
                Ok(answer) => return Ok(answer),
                Err(error) if attempt == 0 && error.is_transient() && delivery.may_start_again() => {}
                Err(error) => {
                    if let Some(error) = error.as_unknown_tool()
                        && self.turns_out_gone(error, &link, &name, tool.only_reads()).await
                    {
                        return Err(gone(&name));
                    }
                    if matches!(error, UpstreamError::TimedOut) {
                        end_if_dead(link, supervisor.settings.timeout);
                    }
                    let Settings { name, max_answer_bytes, .. } = &supervisor.settings;
                    return Err(error.into_call_failure(delivery, name, &supervisor.sanitizer, *max_answer_bytes));
                }
            }
        }
        Err(Failure::internal("a third attempt at two"))
    }

    /// Has the tools listed again after the upstream said that there is no such tool, and says whether that is so. A tool's own
    /// error does not say that nothing was done: one that may have changed something is never called gone.
    async fn turns_out_gone(&self, error: &RpcError, link: &Link, operation: &str, only_reads: bool) -> bool {
        self.supervisor.list_soon(link)
            && (error.is_refusal() || only_reads)
            && self.supervisor.live_within(LISTED_IN).await
            && self.supervisor.served.load().tool(operation).is_none()
    }
}

/// An upstream that let a call run out of time is asked whether it is alive. If it does not say so, it is ended, and
/// the next call starts it again.
fn end_if_dead(link: Arc<Link>, timeout: Duration) {
    let timeout = timeout.clamp(PING.0, PING.1);
    tokio::spawn(async move {
        let nobody = Arc::new(CallOrigin::nobody());
        let ping =
            link.request("ping", None, nobody, timeout, |_| json!({ "_meta": link.meta(None).unwrap_or_default() }));
        if let Err(UpstreamError::TimedOut) = ping.await {
            link.shared.close(&crate::error::Gone::new("it does not answer", "a ping without an answer"));
        }
    });
}

/// The arguments under the upstream's own names, if the tool as it is now accepts them.
fn prepared(served: &Served, name: &str, operation: &Operation, params: Map<String, Value>) -> Result<Value, Failure> {
    served.admit(name)?;
    let tool = served.tool(name).ok_or_else(|| gone(name))?;
    let is_same_tool = operation.backing.tool().is_none_or(|judged| *judged == *tool.name);
    if !is_same_tool || tool.danger > operation.danger || tool.category != operation.category {
        return Err(changed(name));
    }
    if !tool.call.open && params.keys().any(|name| !tool.call.takes(name)) {
        return Err(changed(name));
    }
    let arguments = Value::Object(tool.call.arguments(params));
    tool.check(&arguments)?;
    Ok(arguments)
}

fn is_status(name: &str) -> bool {
    name.trim_end_matches('_') == "upstream_status"
}

fn gone(operation: &str) -> Failure {
    Failure::new(
        Code::NotFoundOperation,
        "This operation is gone: the upstream's tools have changed. Use introspect again",
    )
    .detail("operation", operation)
}

fn changed(operation: &str) -> Failure {
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
        self.supervisor.served.load().offering.clone()
    }

    fn removed_operation(&self, operation: &str) -> Option<Operation> {
        self.supervisor.served.load().removed(operation).cloned()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.supervisor.changes.subscribe())
    }

    fn generation(&self) -> u64 {
        *self.supervisor.changes.borrow()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        // A server that said its tools are others is about to list them: that is soon known. And somebody may have accepted
        // what is quarantined.
        async move {
            self.supervisor.freshen_pins().await;
            let stale = self.supervisor.link.load_full().is_some_and(|link| link.is_alive() && !link.is_fresh());
            if stale && !self.supervisor.live_within(LISTED_IN).await {
                tracing::debug!(source = self.supervisor.settings.name, "the changed tools are not listed yet");
            }
        }
        .boxed()
    }

    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        async move {
            let is_unconfirmed = {
                let served = self.supervisor.served.load();
                served.origin == Origin::Cache && served.failure.is_none()
            };
            if is_unconfirmed && !self.supervisor.live_within(CONFIRMED_IN).await {
                tracing::debug!(source = self.supervisor.settings.name, "the cached catalog is not confirmed yet");
            }
        }
        .boxed()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async move {
            let link = self.supervisor.live().await?;
            link.shared.tools_changed.send_modify(|count| *count += 1);
            self.supervisor.live().await.map(|_| ())
        }
        .boxed()
    }

    fn version(&self) -> Option<Arc<str>> {
        let of_file = self.supervisor.settings.adapter.as_ref().map(|adapter| adapter.version.as_str().into());
        of_file.or_else(|| self.supervisor.served.load().version.clone())
    }

    fn status(&self) -> SourceStatus {
        self.supervisor.status()
    }

    fn capabilities(&self) -> SourceCapabilities {
        **self.supervisor.source_capabilities.load()
    }

    fn fetch(&self, wanted: FetchRequest, context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        resources::fetch(&self.supervisor, wanted, context).boxed()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match self.answer(call).await {
                Ok(answer) => Outcome::Done(answer),
                Err(failure) => Outcome::Failed(failure),
            }
        }
        .boxed()
    }
}
