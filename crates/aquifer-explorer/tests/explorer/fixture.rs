//! An explorer over a source whose calls need approvals, and an audit in a temporary directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aquifer_engine::clock::{Clock, SteadyClock};
use aquifer_engine::rehearsal::{ChangeKind, Preview, RehearsalResult};
use aquifer_engine::source::{Call, Offering};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_engine::{Answer, Caller, Context, Engine, Outcome, Reply, Source};
use aquifer_explorer::login::SESSION_HEADER;
use aquifer_explorer::{ApiError, AuditFiles, CallFeed, Explorer, Operator, login};
use aquifer_gate::audit::{Audit, AuditSettings};
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, Effects, SettledBy};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Schema};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::trust::Trust;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, StatusCode};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{Folder, PageAnswer, open, send};

/// Rows that can be deleted.
struct Rows;

impl Source for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    fn offering(&self) -> Offering {
        let mut operation = Operation::new("delete_row", Category::Delete, "Deletes a row.");
        operation.parameters = vec![Parameter::required("id", Schema::string())];
        (operation.origin.native, operation.safety.has_safe_dry_run, operation.origin.trust) =
            (true, true, Trust::Validated);
        let mut mail = Operation::new("mail_row", Category::Execute, "Mails a row.");
        mail.parameters = vec![Parameter::required("recipient", Schema::string())];
        mail.origin.trust = Trust::Validated;
        mail.safety.danger = Danger::Destructive;
        mail.safety.effects = Effects::only(Effect::Sends, "its name says 'mail'");
        mail.safety.effects.settled_by = SettledBy::KnownDestinations;
        Offering { operations: vec![operation, mail], ..Offering::default() }
    }

    fn rehearse(&self, call: Call) -> BoxFuture<'_, RehearsalResult> {
        let preview = Preview {
            change: ChangeKind::Delete,
            noun: "row".to_owned(),
            key: vec![("id".to_owned(), call.params["id"].clone())],
            ..Preview::default()
        };
        std::future::ready(RehearsalResult::WouldDo(Box::new(preview))).boxed()
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

/// A program around the explorer that has nothing to configure.
struct NoConfiguration {
    gate: Arc<SafetyGate>,
    files: AuditFiles,
}

fn unavailable<T: Send + 'static>() -> BoxFuture<'static, Result<T, ApiError>> {
    std::future::ready(Err(ApiError::Unavailable("not in this test".to_owned()))).boxed()
}

impl Operator for NoConfiguration {
    fn gate(&self) -> Arc<SafetyGate> {
        self.gate.clone()
    }

    fn audit_files(&self) -> AuditFiles {
        self.files.clone()
    }

    fn settings(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        unavailable()
    }

    fn review(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        unavailable()
    }

    fn decide_review(&self, _decision: Value, _person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        unavailable()
    }

    fn preview_rules(&self, _change: Value) -> BoxFuture<'_, Result<Value, ApiError>> {
        unavailable()
    }

    fn apply_rules(&self, _change: Value, _person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        unavailable()
    }
}

/// The system's clock, put forward.
#[derive(Clone, Default)]
pub(crate) struct Wall(Arc<AtomicI64>);

impl Wall {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// An explorer and everything around it.
pub(crate) struct Fixture {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) clock: Arc<SteadyClock>,
    /// The machine's clock, which can be put forward.
    pub(crate) wall: Wall,
    pub(crate) audit: Audit,
    pub(crate) folder: Folder,
    router: Router,
}

impl Fixture {
    /// With an audit in files.
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let settings = AuditSettings::in_directory(&folder.0);
        let files = AuditFiles { directory: Some(folder.0.clone()), is_in_store: false };
        Self::with(folder, settings, files)
    }

    pub(crate) fn with_audit(settings: AuditSettings, files: AuditFiles) -> Self {
        Self::with(Folder::new(), settings, files)
    }

    fn with(folder: Folder, settings: AuditSettings, files: AuditFiles) -> Self {
        let wall = Wall::default();
        let clock = Arc::new(SteadyClock::new(Arc::new(wall.clone())));
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), 10_000));
        let audit = Audit::open(settings, clock.clone(), store.clone()).unwrap();
        let policy = serde_json::from_value(json!({ "strength": { "destructive": "approval" } })).unwrap();
        let confirm = ConfirmSettings { allow_edits: true, ..ConfirmSettings::default() };
        let gate_settings = GateSettings { policy, confirm, ..GateSettings::default() };
        let gate = SafetyGate::new(&gate_settings, audit.clone(), store.clone(), clock.clone()).unwrap();
        let gate = Arc::new(gate);
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let builder = Engine::builder(surface).source(Arc::new(Rows)).gate(gate.clone()).store(store.clone());
        let engine = Arc::new(builder.clock(clock.clone()).build().unwrap());
        let explorer = Explorer {
            engine: engine.clone(),
            store: store.clone(),
            clock: clock.clone(),
            audit: audit.clone(),
            operator: Arc::new(NoConfiguration { gate, files }),
            feed: CallFeed::default(),
            started_at: Timestamp::now(),
        };
        Self { engine, store, clock, wall, audit, folder, router: explorer.router() }
    }

    /// Logs in with a new link. Returns the secret of the session.
    pub(crate) async fn log_in(&self) -> String {
        let token = login::create_link(&*self.store, &*self.clock, "admin").await.unwrap();
        let answer = send(&self.router, Method::POST, "/api/session", Some(json!({ "token": token })), &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.body["secret"].as_str().unwrap().to_owned()
    }

    /// What the page gets.
    pub(crate) async fn get(&self, session: &str, path: &str) -> PageAnswer {
        send(&self.router, Method::GET, path, None, &[(SESSION_HEADER, session)]).await
    }

    /// A request of the page whose answer is read piece by piece.
    pub(crate) async fn stream(&self, session: &str, path: &str) -> Body {
        open(&self.router, path, &[(SESSION_HEADER, session)]).await.into_body()
    }

    /// Logs out.
    pub(crate) async fn log_out(&self, session: &str) {
        let ended = send(&self.router, Method::DELETE, "/api/session", None, &[(SESSION_HEADER, session)]).await;
        assert_eq!(ended.status, StatusCode::NO_CONTENT, "{}", ended.body);
    }

    /// What the page sends.
    pub(crate) async fn post(&self, session: &str, path: &str, body: Value) -> PageAnswer {
        send(&self.router, Method::POST, path, Some(body), &[(SESSION_HEADER, session)]).await
    }

    /// Sends a request of an agent.
    pub(crate) async fn ask(&self, id: &str, token: Option<&str>) -> Value {
        self.call(json!({ "operation": "delete_row", "params": { "id": id } }), token).await
    }

    pub(crate) async fn mail(&self, recipient: &str, token: Option<&str>) -> Value {
        self.call(json!({ "operation": "mail_row", "params": { "recipient": recipient } }), token).await
    }

    async fn call(&self, mut request: Value, token: Option<&str>) -> Value {
        if let Some(token) = token {
            request["confirmation_token"] = token.into();
        }
        let caller = Caller { principal: Some("agent".into()), session: Some("session_1".into()) };
        let context = Context::new(caller, self.engine.next_request_id());
        match self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(question) => panic!("{}", question.message),
        }
    }

    /// A call that waits for an approval: the approval's id, and the agent's token.
    pub(crate) async fn waiting_call(&self, id: &str) -> (String, String) {
        let answer = self.ask(id, None).await;
        let detail = |name: &str| match answer["error"]["details"][name].as_str() {
            Some(text) => text.to_owned(),
            None => panic!("{answer}"),
        };
        (detail("approval_id"), detail("confirmation_token"))
    }
}
