//! A database as a source: creation, calls, and reflection after schema changes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use aquifer_engine::clock::SharedClock;
use aquifer_engine::rehearsal::RehearsalResult;
use aquifer_engine::source::{
    Call, LiveSource, Outcome, Resolution, SourceStatus, TableLines, TableSource, TableSummary,
};
use aquifer_engine::store::StateStore;
use aquifer_engine::table_model::TableModel;
use aquifer_engine::{Context, Offering, Source, Validity};
use aquifer_protocol::error::{Code, Failure, FailureReason, Problem};
use aquifer_query::evaluate::evaluate;
use aquifer_query::plan::Plan;
use aquifer_query::{CursorKey, FieldType, QueryKind, parse_query};
use arc_swap::{ArcSwap, ArcSwapOption};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::backend::Backend;
use super::reflection::{PublishedSchema, ReflectionState};
use crate::error::SqlError;
use crate::offer::{ANY_REFERENCE, Action, Offer, Verb, generic as generic_tables};
use crate::postgres::Postgres;
use crate::schema::exposed_table::ExposedTable;
use crate::schema::name_store::NameStore;
use crate::schema::relationship::Direction;
use crate::settings::{Settings, Target};
use crate::sqlite::{Location, Sqlite};
use crate::work::OperationOutput;
use crate::work::change::{ChangeContext, Create, Delete, Update};
use crate::work::relationships::{RelationshipWalk, parse_root_key};
use crate::work::session::WorkError;
use crate::work::traced::CallWork;

/// The first and the longest pause between attempts to reach a database.
const RETRY_INTERVALS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A request for rows of one table.
pub(super) struct TableRequest {
    pub(super) params: Map<String, Value>,
    pub(super) max_tokens: Option<usize>,
    validity: Validity,
    pub(super) context: Arc<Context>,
}

/// A database that serves as a source.
pub struct Database {
    pub(super) settings: Settings,
    pub(super) backend: Backend,
    pub(super) key: CursorKey,
    pub(super) clock: SharedClock,
    pub(super) offer: ArcSwap<Offer>,
    pub(super) changes: watch::Sender<u64>,
    /// Allows only one reflection at a time.
    pub(super) reflection: tokio::sync::Mutex<ReflectionState>,
    pub(super) misconfigured: AtomicBool,
    pub(super) published: Mutex<PublishedSchema>,
    /// The operations that policy restricts. `None` until policy has been evaluated.
    pub(super) restricted: ArcSwapOption<HashSet<Arc<str>>>,
}

impl Database {
    /// Creates a database without reflecting it. Until [`Self::reflect`] succeeds, it offers only `list_tables`.
    pub fn new(settings: Settings, key: CursorKey, clock: SharedClock) -> Result<Arc<Self>, Failure> {
        Self::with_store(settings, key, clock, None)
    }

    /// Like [`Self::new`], with a store that keeps table names across restarts.
    pub fn with_store(
        settings: Settings,
        key: CursorKey,
        clock: SharedClock,
        store: Option<Arc<dyn StateStore>>,
    ) -> Result<Arc<Self>, Failure> {
        // An invalid pattern in `exclude` must not leave its tables exposed.
        let problems = settings.pattern_problems();
        if !problems.is_empty() {
            let reason = "its settings have an invalid pattern".to_owned();
            let error = SqlError::Unavailable { reason, cause: problems.join("; ") };
            return Err(error.into_failure(&settings.name, None));
        }
        let backend = match &settings.target {
            Target::Sqlite(path) => Backend::Sqlite(Sqlite::new(Location::File(path.clone()), &settings)),
            Target::Memory(name) => Backend::Sqlite(Sqlite::new(Location::Memory(name.clone()), &settings)),
            Target::Postgres(url) => {
                let postgres = Postgres::new(url, &settings);
                Backend::Postgres(Box::new(postgres.map_err(|error| error.into_failure(&settings.name, None))?))
            }
        };
        let location = match &backend {
            Backend::Sqlite(_) => settings.target.location(),
            Backend::Postgres(postgres) => Some(postgres.location().to_owned()),
        };
        // In-memory databases and stores do not keep names.
        let names = store.filter(|store| store.outlives_process()).zip(location).map(|(store, location)| {
            let location = format!("{location} {}", settings.schemas.join(","));
            NameStore::new(store, &settings, &location)
        });
        Ok(Arc::new(Self {
            offer: ArcSwap::from_pointee(Offer::unknown("it has not been opened yet")),
            backend,
            settings,
            key,
            clock,
            changes: watch::Sender::new(0),
            reflection: tokio::sync::Mutex::new(ReflectionState::new(names)),
            misconfigured: AtomicBool::new(false),
            published: Mutex::default(),
            restricted: ArcSwapOption::empty(),
        }))
    }

    /// Creates a database and reflects it.
    pub async fn open(settings: Settings, key: CursorKey, clock: SharedClock) -> Result<Arc<Self>, Failure> {
        let database = Self::new(settings, key, clock)?;
        // Boxed to keep the callers' futures small.
        database.reflect().boxed().await?;
        Ok(database)
    }

    /// Whether the last reflection failed because the settings do not match the tables. Retrying does not fix that.
    pub fn is_misconfigured(&self) -> bool {
        self.misconfigured.load(Ordering::Relaxed)
    }

    /// Retries the reflection with growing pauses until it succeeds. Stops when the database is dropped, because it is
    /// no longer served.
    pub async fn reflect_with_retry(database: Weak<Self>) {
        let (mut pause, max_pause) = RETRY_INTERVALS;
        while let Some(database) = database.upgrade() {
            match database.reflect().await {
                Ok(()) => return,
                // The database may have been released in the meantime.
                Err(_) if Arc::strong_count(&database) == 1 => return,
                Err(failure) => {
                    let cause = failure.cause().unwrap_or_default();
                    tracing::warn!(source = database.settings.name, cause, "{}", failure.message());
                    database.offer.store(Arc::new(Offer::unknown(failure.explanation())));
                    database.changes.send_modify(|count| *count += 1);
                }
            }
            drop(database);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(max_pause);
        }
    }

    /// Answers a call, and reflects again if the schema has changed.
    async fn answer(&self, call: Call) -> Result<OperationOutput, Failure> {
        let offer = self.offer.load_full();
        let answer = self.answer_with_known_schema(call, &offer).await;
        let saw_other_schema =
            answer.as_ref().is_err_and(|failure| failure.reason() == Some(&FailureReason::SchemaChanged));
        let changed = matches!(&self.backend, Backend::Sqlite(sqlite) if sqlite.has_changed());
        if changed || (saw_other_schema && self.is_current(&offer)) {
            self.reflect_or_log().boxed().await;
        }
        answer
    }

    async fn answer_with_known_schema(&self, call: Call, known: &Arc<Offer>) -> Result<OperationOutput, Failure> {
        let mut offer = known.clone();
        // A dry run that is proven to change nothing may run without confirmation, so the proof must be current.
        if call.operation.safety.has_safe_dry_run && call.params.get("dry_run") == Some(&Value::Bool(true)) {
            offer = self.renew_proof(offer, &call.name).boxed().await?;
        }
        let no_operation = || {
            Failure::new(
                Code::NotFoundOperation,
                "This operation no longer exists: the tables have changed. Use introspect again",
            )
        };
        let Some(action) = offer.action(&call.name) else {
            return Err(no_operation().detail("operation", &*call.name));
        };
        let now = self.clock.now();
        let Call { name, params, validity, max_tokens, operation, context, .. } = call;
        let (verb, index) = match action {
            Action::Table(verb, index) => (verb, index),
            // Rare paths are boxed here and below, to keep the common future small.
            Action::Relationships => {
                let answer = self.query_relationships(&offer, now, &params, max_tokens, &context).boxed().await;
                let Err(failure) = answer else { return answer };
                let newer = self.newer_offer(&offer, &name, &params, failure).boxed().await?;
                return self.query_relationships(&newer, now, &params, max_tokens, &context).boxed().await;
            }
            Action::Tables => return self.list_tables(&params, max_tokens).boxed().await,
            Action::TableSchema => {
                let index = find_named_table(&offer, &params)?;
                let exposed = offer.table(index).ok_or_else(no_operation)?;
                let data = generic_tables::describe_table(&offer, index, exposed);
                return Ok(OperationOutput::new(data, Vec::new()));
            }
            Action::QuerySql => return self.query_sql(&offer, &operation, &params, &context).boxed().await,
            // The engine resolves generic requests before it calls the source.
            Action::Generic(_) => return Err(Failure::internal("a generic request was not resolved")),
        };
        let exposed = offer.table(index).ok_or_else(no_operation)?.clone();
        let request = TableRequest { params, max_tokens, validity, context };
        match verb {
            Verb::List | Verb::Search | Verb::Get => self.read(verb, &name, exposed, offer, now, request).await,
            Verb::Create | Verb::Update | Verb::Delete => {
                self.change(verb, (exposed, index), &offer, now, request).boxed().await
            }
        }
    }

    /// The offer, reflected again if the catalog has changed since. Fails if the dry run of the operation is not proven
    /// safe.
    pub(super) async fn renew_proof(&self, mut offer: Arc<Offer>, operation: &str) -> Result<Arc<Offer>, Failure> {
        /// How often the check is repeated because the catalog keeps changing.
        const MAX_ATTEMPTS: usize = 3;
        let Backend::Postgres(postgres) = &self.backend else { return Ok(offer) };
        for _ in 0..MAX_ATTEMPTS {
            let Some(Action::Table(verb, index)) = offer.action(operation) else { return Ok(offer) };
            let Some(exposed) = offer.table(index) else { return Ok(offer) };
            let dry_run = &exposed.table.dry_run;
            let is_proven = match verb {
                Verb::Create => dry_run.create,
                Verb::Update => dry_run.update,
                Verb::Delete => dry_run.delete,
                Verb::List | Verb::Search | Verb::Get => true,
            };
            if !is_proven {
                break;
            }
            let now = postgres.fingerprint().await.map_err(|error| self.failure_from(error, None))?;
            if dry_run.fingerprint.as_deref() == Some(&*now) {
                return Ok(offer);
            }
            self.reflect().await?;
            offer = self.offer.load_full();
        }
        let cause = "a dry run is no longer proven to change nothing".to_owned();
        Err(SqlError::SchemaChanged { message: None, cause }.into_failure(&self.settings.name, None))
    }

    async fn change(
        &self,
        verb: Verb,
        (exposed, index): (Arc<ExposedTable>, usize),
        offer: &Arc<Offer>,
        now: Timestamp,
        request: TableRequest,
    ) -> Result<OperationOutput, Failure> {
        let TableRequest { params, validity, context: call, .. } = request;
        let dry_run = || params.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
        let if_match = || params.get("if_match").and_then(Value::as_str).map(str::to_owned);
        let context = |dry_run| self.change_context(&exposed, index, offer, now, dry_run);
        let outcome = match verb {
            Verb::List | Verb::Search | Verb::Get => return Err(Failure::internal("a read is not a change")),
            Verb::Create => {
                let context = context(dry_run());
                let values = take_column_values(&exposed, params)?;
                let work = CallWork { work: Create { context, values }, context: call };
                self.backend.write(work, &validity).await
            }
            Verb::Update => {
                let key = read_key(&exposed, &params)?;
                let input = match params.get("input") {
                    Some(Value::Object(input)) => take_column_values(&exposed, input.clone())?,
                    _ => Map::new(),
                };
                let update = Update { context: context(dry_run()), key, input, if_match: if_match() };
                self.backend.write(CallWork { work: update, context: call }, &validity).await
            }
            Verb::Delete => {
                let key = read_key(&exposed, &params)?;
                let delete = Delete { context: context(dry_run()), key, if_match: if_match() };
                self.backend.write(CallWork { work: delete, context: call }, &validity).await
            }
        };
        match outcome {
            Ok(output) => Ok(output),
            Err(error) => {
                let error = self.explain_schema_error(error, offer).await;
                Err(self.failure_of_verb(error, verb, &exposed))
            }
        }
    }

    /// The context for changing a row.
    pub(super) fn change_context(
        &self,
        exposed: &Arc<ExposedTable>,
        index: usize,
        offer: &Offer,
        now: Timestamp,
        dry_run: bool,
    ) -> ChangeContext {
        ChangeContext {
            exposed: exposed.clone(),
            index,
            tables: offer.tables.clone(),
            references: offer.references.clone(),
            unreadable: self.unreadable_tables(offer),
            dialect: self.backend.dialect(),
            now,
            dry_run,
        }
    }

    pub(super) fn failure_of_verb(&self, error: WorkError, verb: Verb, exposed: &ExposedTable) -> Failure {
        match error {
            // If no other value is invalid, the key must be.
            WorkError::Sql(SqlError::InvalidValue { problem, column: None, cause }) if verb != Verb::Create => {
                let mut key = exposed.table.key_columns().map(|column| column.name.to_string());
                let column = key.next().filter(|_| key.next().is_none());
                self.failure_from(SqlError::InvalidValue { problem, column, cause }.into(), Some(exposed))
            }
            error => self.failure_from(error, Some(exposed)),
        }
    }

    async fn list_tables(
        &self,
        params: &Map<String, Value>,
        max_tokens: Option<usize>,
    ) -> Result<OperationOutput, Failure> {
        // A database that was unavailable may be available now.
        if self.offer.load().tables.is_empty() {
            self.reflect().await?;
        }
        let offer = self.offer.load_full();
        let collection = generic_tables::tables_collection();
        let wanted = parse_query(&collection, QueryKind::List, params, &self.key)?;
        let plan = Plan { max_tokens, ..wanted.plan };
        let evaluated = evaluate(&collection, &plan, &generic_tables::tables(&offer), &self.key);
        let warnings = wanted.warnings.into_iter().chain(evaluated.warnings).collect();
        Ok(OperationOutput::new(evaluated.data, warnings).within_budget())
    }

    async fn query_relationships(
        &self,
        offer: &Arc<Offer>,
        now: Timestamp,
        params: &Map<String, Value>,
        max_tokens: Option<usize>,
        context: &Arc<Context>,
    ) -> Result<OperationOutput, Failure> {
        const MAX_PAGE_SIZE: u64 = 100;
        let root = params.get("root").and_then(Value::as_object).cloned().unwrap_or_default();
        let table = root.get("element_type").and_then(Value::as_str).unwrap_or_default();
        let index = offer.find_table("element_type", table)?;
        let exposed = offer.table(index).ok_or_else(|| generic_tables::unknown_table(offer, table))?;
        let key = parse_root_key(exposed, root.clone())?;
        if key.is_empty() {
            return Err(Failure::invalid_value("root", "names a table whose rows have no key"));
        }
        let only = match params.get("relationship").and_then(Value::as_str) {
            None | Some(ANY_REFERENCE) => None,
            Some(name) => Some(offer.relationships.iter().position(|known| &*known.name == name).ok_or_else(|| {
                let names = offer.relationships.iter().map(|known| &*known.name);
                let near = aquifer_protocol::suggest::near(name, names, 3);
                Failure::invalid_value("relationship", "is not a relationship of this database")
                    .detail("suggestions", near)
            })?),
        };
        let number = |name: &str| params.get(name).and_then(Value::as_u64);
        let requested = number("first").unwrap_or(20);
        let mut walk = RelationshipWalk {
            tables: offer.tables.clone(),
            relationships: offer.relationships.clone(),
            dialect: self.backend.dialect(),
            now,
            root: (index, key),
            direction: Direction::from_params(params),
            only,
            depth: number("depth").and_then(|depth| u32::try_from(depth).ok()).unwrap_or(1),
            first: usize::try_from(requested.min(MAX_PAGE_SIZE)).unwrap_or(100),
            skip: 0,
            is_paged: params.contains_key("first") || params.contains_key("after"),
            include: params
                .get("include")
                .and_then(Value::as_array)
                .map(|parts| parts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
            key: self.key.clone(),
            max_tokens,
        };
        if let Some(cursor) = params.get("after").and_then(Value::as_str) {
            if !params.contains_key("first") {
                return Err(Problem::paging(&["after"], "requires 'first'").into());
            }
            let (collection, plan) = walk.binding();
            let location = self.key.open(cursor, &collection, &plan);
            let skip =
                location.and_then(|location| location.first()?.as_u64()).and_then(|skip| usize::try_from(skip).ok());
            walk.skip = skip.ok_or_else(|| {
                Failure::invalid_value("after", "is not a cursor of this query. Start again without it")
            })?;
        }
        let walk = CallWork { work: walk, context: context.clone() };
        let mut output = match self.backend.read(Arc::new(walk)).await {
            Ok(output) => output,
            Err(error) => {
                let error = self.explain_schema_error(error, offer).await;
                return Err(self.failure_from(error, Some(exposed)));
            }
        };
        if requested > MAX_PAGE_SIZE {
            output.warnings.push(
                aquifer_protocol::warning::Warning::new(
                    "VALIDATION_PAGE_SIZE_CLAMPED",
                    "'first' was reduced to the largest page size",
                )
                .detail("requested", requested)
                .detail("applied", MAX_PAGE_SIZE),
            );
        }
        Ok(output)
    }

    pub(super) fn failure_from(&self, error: WorkError, exposed: Option<&ExposedTable>) -> Failure {
        match error {
            WorkError::Failure(failure) => failure,
            WorkError::Sql(error) => error.into_failure(&self.settings.name, exposed),
        }
    }
}

/// The table that a generic request names.
fn find_named_table(offer: &Offer, params: &Map<String, Value>) -> Result<usize, Failure> {
    offer.find_table("table_name", params.get("table_name").and_then(Value::as_str).unwrap_or_default())
}

/// The values of the key columns, in key order.
pub(super) fn read_key(exposed: &ExposedTable, params: &Map<String, Value>) -> Result<Vec<Value>, Failure> {
    let values = exposed.table.key_columns().map(|column| {
        let value = params.get(&*column.name)?;
        aquifer_query::value::coerce(&column.field_type, value).or_else(|| Some(value.clone()))
    });
    let values = values.collect::<Option<Vec<Value>>>();
    let values = values.ok_or_else(|| Failure::internal("a key lacks one of its columns"))?;
    check_values(exposed, exposed.table.key_columns().map(|column| &*column.name).zip(&values))?;
    Ok(values)
}

/// Rejects values that no database can store exactly: integers of more than 64 bits, and invalid base64 for bytes.
fn check_values<'a>(exposed: &ExposedTable, values: impl Iterator<Item = (&'a str, &'a Value)>) -> Result<(), Failure> {
    for (name, value) in values {
        let problem = match exposed.table.column(name).map(|column| &column.field_type) {
            Some(FieldType::Integer) if value.is_u64() && value.as_i64().is_none() => "does not fit into 64 bits",
            Some(field_type @ FieldType::Bytes)
                if !value.is_null() && aquifer_query::value::coerce(field_type, value).is_none() =>
            {
                "must be base64"
            }
            _ => continue,
        };
        return Err(Failure::invalid_value(name, problem));
    }
    Ok(())
}

/// The parameters that are column values.
pub(super) fn take_column_values(
    exposed: &ExposedTable,
    mut params: Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let names = exposed.table.columns.iter().map(|column| &column.name);
    let values: Map<String, Value> =
        names.filter_map(|name| Some((name.to_string(), params.remove(&**name)?))).collect();
    check_values(exposed, values.iter().map(|(name, value)| (name.as_str(), value)))?;
    Ok(values)
}

impl Source for Database {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn offering(&self) -> Offering {
        self.offer.load().offering.clone()
    }

    fn resolve(&self, operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        self.offer.load().resolve(operation, params)
    }

    fn rehearse(&self, call: Call) -> BoxFuture<'_, RehearsalResult> {
        self.rehearse_change(call).boxed()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match self.answer(call).await {
                Ok(output) => Outcome::Done(output.into()),
                Err(failure) => Outcome::Failed(failure),
            }
        }
        .boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }

    fn as_tables(&self) -> Option<&dyn TableSource> {
        Some(self)
    }
}

impl LiveSource for Database {
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn status(&self) -> SourceStatus {
        self.source_status()
    }

    fn generation(&self) -> u64 {
        *self.changes.borrow()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        match &self.backend {
            Backend::Sqlite(_) => self.refresh_if_outdated().boxed(),
            // Asking a server takes a round trip.
            Backend::Postgres(_) => std::future::ready(()).boxed(),
        }
    }

    fn check_before_refusal(&self) -> BoxFuture<'_, ()> {
        self.refresh_if_outdated().boxed()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.reflect().boxed()
    }
}

impl TableSource for Database {
    fn tables(&self) -> Vec<TableSummary> {
        self.offer.load().table_summaries()
    }

    fn describe_tables(&self, tables: Vec<Arc<str>>, is_whole: bool) -> BoxFuture<'_, TableLines> {
        self.describe(tables, is_whole).boxed()
    }

    fn examples(&self, operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        async move { self.examples_from_rows(&operation).await }.boxed()
    }

    fn table_models(&self) -> Vec<TableModel> {
        self.offer.load().table_models()
    }

    fn set_restricted(&self, restricted: HashSet<Arc<str>>) {
        self.restricted.store(Some(Arc::new(restricted)));
    }

    fn conceal(&self, denied: &HashSet<Arc<str>>) -> bool {
        self.conceal_denied(denied)
    }
}
