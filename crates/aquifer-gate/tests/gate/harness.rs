//! Two sources behind a real gate, with a manual clock and short helpers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_engine::clock::{Clock, MonotonicClock, SharedClock, SteadyClock, SystemClock};
use aquifer_engine::source::{Call, FetchRequest, Offering, ResourceSource, SourceCapabilities};
use aquifer_engine::store::{MemoryStore, Record, SpendResult, StateStore, StoreError};
use aquifer_engine::{Answer, Caller, Context, Engine, EngineBuilder, Mount, Outcome, Reply, Settings, Source};
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::ApprovalNotifier;
use aquifer_gate::confirm::approvals::{self, Approval, ApprovalError};
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, Effects, SettledBy};
use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::trust::Trust;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// The clocks of a machine, set by hand, and the steady clock of a process on it.
#[derive(Clone)]
pub(crate) struct ManualClock {
    wall: Wall,
    monotonic: Monotonic,
    pub(crate) steady: Arc<SteadyClock>,
}

#[derive(Clone)]
struct Wall(Arc<Mutex<Timestamp>>);

#[derive(Clone, Default)]
struct Monotonic(Arc<Mutex<Duration>>);

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

impl MonotonicClock for Monotonic {
    fn elapsed(&self) -> Duration {
        *self.0.lock()
    }
}

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self::over(Wall(Arc::new(Mutex::new("2026-01-28T12:00:00Z".parse().unwrap()))))
    }

    fn over(wall: Wall) -> Self {
        let monotonic = Monotonic::default();
        let steady = Arc::new(SteadyClock::with_monotonic(Arc::new(wall.clone()), monotonic.clone()));
        Self { wall, monotonic, steady }
    }

    /// Another process on the same machine: it has the same wall clock, but knows nothing about earlier times.
    pub(crate) fn other_process(&self) -> Self {
        Self::over(self.wall.clone())
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.pass(i64::try_from(seconds).unwrap() * 1000);
    }

    /// Lets time pass; a negative value sets the wall clock back.
    pub(crate) fn pass(&self, milliseconds: i64) {
        *self.wall.0.lock() += SignedDuration::from_millis(milliseconds);
        *self.monotonic.0.lock() += Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
    }

    /// Sets the wall clock.
    pub(crate) fn set_wall(&self, seconds: i64) {
        *self.wall.0.lock() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.steady.now()
    }
}

/// The machine's own clock.
pub(crate) fn system_clock() -> Arc<SteadyClock> {
    Arc::new(SteadyClock::new(Arc::new(SystemClock)))
}

/// A store that can fail.
pub(crate) struct FaultyStore {
    pub(crate) inner: Arc<dyn StateStore>,
    pub(crate) down: AtomicBool,
    /// The store never answers.
    pub(crate) silent: AtomicBool,
    pub(crate) asked: Mutex<usize>,
}

impl FaultyStore {
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    fn is_gone(&self) -> bool {
        self.down.load(Ordering::SeqCst) || self.silent.load(Ordering::SeqCst)
    }

    fn or_down<'a, T: Send + 'a>(
        &'a self,
        asked: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        *self.asked.lock() += 1;
        if self.silent.load(Ordering::SeqCst) {
            return std::future::pending().boxed();
        }
        if self.down.load(Ordering::SeqCst) {
            return std::future::ready(Err(StoreError("taken away".to_owned()))).boxed();
        }
        asked
    }
}

impl StateStore for FaultyStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.or_down(self.inner.get(key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        // Futures of the inner store do their work when they are created, so none is created while the store is down.
        if self.is_gone() {
            return self.or_down(std::future::pending().boxed());
        }
        self.or_down(self.inner.compare_and_set(key, expected, value, keep))
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.or_down(self.inner.list(prefix, limit))
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        if self.is_gone() {
            return self.or_down(std::future::pending().boxed());
        }
        self.or_down(self.inner.spend(key, amount, limit, window))
    }
}

/// All calls that reached a source.
pub(crate) type CallLog = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A source with operations of every danger level.
struct ThingSource {
    name: String,
    trust: Trust,
    done: CallLog,
}

pub(crate) const OPERATIONS: &[(&str, Category)] = &[
    ("get_thing", Category::Read),
    ("create_thing", Category::Create),
    ("delete_thing", Category::Delete),
    ("erase_thing", Category::Delete),
    ("purge_thing", Category::Delete),
    ("drop_thing", Category::Delete),
    ("send_thing", Category::Execute),
    ("fetch_page", Category::Read),
    ("add_guest", Category::Create),
];

impl Source for ThingSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn offering(&self) -> Offering {
        let operations = OPERATIONS.iter().map(|(name, category)| {
            let mut operation = Operation::new(name, *category, "Does it.");
            operation.origin.trust = self.trust;
            if *name == "send_thing" {
                operation.safety.danger = Danger::Destructive;
                operation.safety.effects = Effects::only(Effect::Sends, "its name says 'send'");
                operation.safety.effects.destinations.push("email".into());
                operation.safety.effects.settled_by = SettledBy::KnownDestinations;
            }
            if ["fetch_page", "add_guest"].contains(name) {
                operation.origin.native = false;
                operation.safety.effects.destinations.push("email".into());
            }
            let mut secret = Parameter::optional("pass_code", Schema::string());
            secret.sensitive = true;
            operation.parameters = vec![
                Parameter::required("id", Schema::string()),
                Parameter::optional("note", Schema::string()),
                Parameter::optional("email", Schema::default()),
                Parameter::optional("deep", Schema::default()),
                secret,
            ];
            if *name == "purge_thing" {
                let mode = Schema { default: Some(json!("soft")), ..Schema::string() };
                operation.parameters.push(Parameter::optional("mode", mode));
                let depth = Parameter::optional("depth", Schema { default: Some(json!(1)), ..Schema::default() });
                let option = Kind::Object(Shape { fields: vec![depth], ..Shape::default() });
                let list = Kind::Array(Some(Box::new(Schema { kind: option, ..Schema::default() })));
                let options = Schema { kind: list, default: Some(json!([])), ..Schema::default() };
                operation.parameters.push(Parameter::optional("options", options));
            }
            if *name == "erase_thing" {
                operation.safety.safeguards.message = Some("Erase '{id}' ({pass_code})? It is gone then.".into());
                operation.safety.safeguards.reasons = vec!["It is gone".into()];
                operation.safety.safeguards.cooldown = Duration::from_secs(5);
            }
            operation
        });
        Offering { operations: operations.collect(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        // A read returns what it was given.
        let shown = call.params.get("deep").filter(|_| *call.name == *"fetch_page").cloned();
        let done = (self.name.clone(), call.name.to_string(), Value::Object(call.params));
        self.done.lock().push(done);
        std::future::ready(Outcome::Done(Answer::new(shown.unwrap_or_else(|| json!("done"))))).boxed()
    }

    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        Some(self)
    }
}

impl ResourceSource for ThingSource {
    fn capabilities(&self) -> SourceCapabilities {
        SourceCapabilities { resources: true, ..SourceCapabilities::default() }
    }

    fn fetch(&self, _wanted: FetchRequest, _context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        std::future::ready(Ok(json!([{ "uri": "memo://1" }]))).boxed()
    }
}

/// Sources behind a gate that lets callers confirm with a token, unless a test says otherwise.
pub(crate) struct Harness {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) clock: ManualClock,
    pub(crate) done: CallLog,
    gate: Mutex<Arc<SafetyGate>>,
    mounts: Vec<Mount>,
}

impl Harness {
    /// Certified sources, so that everything is allowed, at least with confirmation.
    pub(crate) fn new(settings: &GateSettings) -> Self {
        Self::with(settings, Trust::Certified, |_, clock| Audit::disabled(clock))
    }

    pub(crate) fn with(
        settings: &GateSettings,
        trust: Trust,
        audit: impl FnOnce(Arc<dyn StateStore>, SharedClock) -> Audit,
    ) -> Self {
        let clock = ManualClock::new();
        let memory = Arc::new(MemoryStore::new(clock.steady.clone(), 100_000));
        Self::over(settings, trust, memory, clock, audit)
    }

    /// Over a store that others may share.
    pub(crate) fn over(
        settings: &GateSettings,
        trust: Trust,
        inner: Arc<dyn StateStore>,
        clock: ManualClock,
        audit: impl FnOnce(Arc<dyn StateStore>, SharedClock) -> Audit,
    ) -> Self {
        let shared: SharedClock = clock.steady.clone();
        let store = Arc::new(FaultyStore {
            inner,
            down: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            asked: Mutex::new(0),
        });
        let audit = audit(store.clone(), shared.clone());
        let gate =
            Arc::new(SafetyGate::new(&with_tokens(settings), audit, store.clone(), clock.steady.clone()).unwrap());
        let done = CallLog::default();
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let source =
            |name: &str| Mount::new(Arc::new(ThingSource { name: name.to_owned(), trust, done: done.clone() }));
        let mounts = vec![source("alpha"), source("beta")];
        let builder = Engine::builder(surface).gate(gate.clone()).store(store.clone()).clock(shared);
        let engine = mounts.iter().cloned().fold(builder, EngineBuilder::mount).build().unwrap();
        Self { engine, store, clock, done, gate: Mutex::new(gate), mounts }
    }

    /// The same, with a server that skips operations of a batch that have to be confirmed.
    pub(crate) fn skipping(self) -> Self {
        let settings = Settings { on_confirmation: OnConfirmation::Skip, ..Settings::default() };
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let gate = self.gate.lock().clone();
        let builder = Engine::builder(surface).settings(settings).gate(gate).store(self.store.clone());
        let builder = builder.clock(self.clock.steady.clone());
        let engine = self.mounts.iter().cloned().fold(builder, EngineBuilder::mount).build().unwrap();
        Self { engine, ..self }
    }

    /// The same, with a gate that tells this notifier about approvals.
    pub(crate) fn notifying(self, settings: &GateSettings, notifier: Arc<dyn ApprovalNotifier>) -> Self {
        let audit = Audit::disabled(self.clock.steady.clone());
        let gate = SafetyGate::new(&with_tokens(settings), audit, self.store.clone(), self.clock.steady.clone());
        let gate = Arc::new(gate.unwrap().with_approval_notifier(notifier));
        self.engine.reconfigure(self.mounts.clone(), gate).unwrap();
        self
    }

    /// Replaces the rules.
    pub(crate) fn reload(&self, settings: &GateSettings) {
        self.put_in_force(&with_tokens(settings));
    }

    /// The same with the default: a person confirms.
    pub(crate) fn with_people(self, settings: &GateSettings) -> Self {
        self.put_in_force(settings);
        self
    }

    fn put_in_force(&self, settings: &GateSettings) {
        let audit = Audit::disabled(self.clock.steady.clone());
        let gate = SafetyGate::new(settings, audit, self.store.clone(), self.clock.steady.clone());
        let gate = Arc::new(gate.unwrap());
        self.engine.reconfigure(self.mounts.clone(), gate.clone()).unwrap();
        std::mem::replace(&mut *self.gate.lock(), gate).retire();
    }

    /// The gate in force.
    pub(crate) fn gate(&self) -> Arc<SafetyGate> {
        self.gate.lock().clone()
    }

    pub(crate) async fn ask(&self, request: Value) -> Value {
        self.ask_as(request, anna()).await
    }

    pub(crate) async fn ask_as(&self, request: Value, context: Context) -> Value {
        match self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(question) => json!({ "question": question.key, "message": question.message }),
        }
    }

    /// Takes the calls since the last time.
    pub(crate) fn done(&self) -> Vec<(String, String, Value)> {
        std::mem::take(&mut self.done.lock())
    }

    pub(crate) async fn token(&self, request: Value) -> String {
        let answer = self.ask(request).await;
        answer["error"]["details"]["confirmation_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// The settings of an operator who lets callers confirm their own calls.
pub(crate) fn with_tokens(settings: &GateSettings) -> GateSettings {
    let mut settings = settings.clone();
    settings.policy.model_confirms = true;
    settings
}

/// Approves a call after reading it.
pub(crate) async fn approve(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<Approval, ApprovalError> {
    let reviewed = approvals::get(store, id, clock).await?;
    approvals::approve(store, &reviewed, clock, "admin").await
}

/// Approves a call after all that was denied.
pub(crate) async fn approve_denied(
    store: &dyn StateStore,
    id: &str,
    clock: &dyn Clock,
) -> Result<Approval, ApprovalError> {
    let reviewed = approvals::get(store, id, clock).await?;
    approvals::approve_denied(store, &reviewed, clock, "admin").await
}

/// A caller with this identity.
pub(crate) fn caller(principal: Option<&str>, session: Option<&str>) -> Context {
    let caller = Caller { principal: principal.map(Into::into), session: session.map(Into::into) };
    Context::new(caller, "req_1")
}

pub(crate) fn anna() -> Context {
    caller(Some("anna"), Some("session_1"))
}

/// The client of this caller can ask its user.
pub(crate) fn with_person(context: Context) -> Context {
    Context { interaction: aquifer_engine::Interaction::Available, ..context }
}

pub(crate) fn answering(context: Context, key: &str, action: &str) -> Context {
    let answers: Map<String, Value> = [(key.to_owned(), json!({ "action": action }))].into_iter().collect();
    Context { answers: Arc::new(answers), ..context }
}

pub(crate) fn request(operation: &str, params: Value) -> Value {
    json!({ "operation": operation, "params": params })
}

/// The same request with a token.
pub(crate) fn with_token(mut request: Value, token: &str) -> Value {
    request["params"]["confirmation_token"] = token.into();
    request
}

pub(crate) fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_else(|| if answer["success"] == true { "done" } else { "?" })
}
