//! A database as a source: it is reflected, offers what was found, and answers calls.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::{Answer, Call, Outcome, Resolution};
use aquifer_engine::store::StateStore;
use aquifer_engine::{Offering, Source, Validity};
use aquifer_protocol::error::{Code, Failure};
use aquifer_query::evaluate::evaluate;
use aquifer_query::plan::Path;
use aquifer_query::{CursorKey, FieldType, QueryKind, parse_fields, parse_query};
use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::error::SqlError;
use crate::exposed_table::ExposedTable;
use crate::looking::{Looking, Shown};
use crate::name_store::NameStore;
use crate::offer::{Action, Offer, Verb, generic as generic_tables};
use crate::postgres::Postgres;
use crate::session::{Fault, Valid, Work};
use crate::settings::{Settings, Target};
use crate::sqlite::{Place, Sqlite};
use crate::statement::Dialect;
use crate::work::Done;
use crate::work::change::{Common, Create, Delete, Update};
use crate::work::read::{Get, Query};
use crate::work::relationships::{Direction, Walk, key_of};

/// How often a database that could not be reached is tried again, first and later.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A database that answers calls.
pub struct Database {
    pub(crate) settings: Settings,
    pub(crate) backend: Backend,
    key: CursorKey,
    pub(crate) clock: SharedClock,
    pub(crate) offer: ArcSwap<Offer>,
    pub(crate) changes: watch::Sender<u64>,
    /// Only one look at a time.
    pub(crate) looking: tokio::sync::Mutex<Looking>,
    pub(crate) misconfigured: AtomicBool,
    pub(crate) shown: Mutex<Shown>,
}

pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Backend {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Backend::Sqlite(_) => Dialect::Sqlite,
            Backend::Postgres(_) => Dialect::Postgres,
        }
    }

    pub(crate) async fn read<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        match self {
            Backend::Sqlite(sqlite) => sqlite.read(work).await,
            Backend::Postgres(postgres) => postgres.read(work).await,
        }
    }

    async fn write<W: Work>(&self, work: W, validity: &Validity) -> Result<W::Output, Fault> {
        let work = Valid { work, validity: validity.clone() };
        match self {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => postgres.write(work).await,
        }
    }
}

impl Database {
    /// A database that nobody has looked into yet. Until somebody does, it offers only `list_tables`.
    pub fn new(settings: Settings, key: CursorKey, clock: SharedClock) -> Result<Arc<Self>, Failure> {
        Self::with_store(settings, key, clock, None)
    }

    /// The same, with a store that remembers what tables are called, so that their names survive a restart.
    pub fn with_store(
        settings: Settings,
        key: CursorKey,
        clock: SharedClock,
        store: Option<Arc<dyn StateStore>>,
    ) -> Result<Arc<Self>, Failure> {
        // An invalid pattern in `exclude` must not leave its tables in.
        let problems = settings.pattern_problems();
        if !problems.is_empty() {
            let reason = "its settings have an invalid pattern".to_owned();
            let error = SqlError::Unavailable { reason, cause: problems.join("; ") };
            return Err(error.into_failure(&settings.name, None));
        }
        let backend = match &settings.target {
            Target::Sqlite(path) => Backend::Sqlite(Sqlite::new(Place::File(path.clone()), &settings)),
            Target::Memory(name) => Backend::Sqlite(Sqlite::new(Place::Memory(name.clone()), &settings)),
            Target::Postgres(url) => {
                let postgres = Postgres::new(url, &settings);
                Backend::Postgres(Box::new(postgres.map_err(|error| error.into_failure(&settings.name, None))?))
            }
        };
        let place = match &backend {
            Backend::Sqlite(_) => settings.target.place(),
            Backend::Postgres(postgres) => Some(postgres.place().to_owned()),
        };
        // What ends with the process needs no memory beyond it.
        let names = store.filter(|store| store.outlives_process()).zip(place).map(|(store, place)| {
            let place = format!("{place} {}", settings.schemas.join(","));
            NameStore::new(store, &settings, &place)
        });
        Ok(Arc::new(Self {
            offer: ArcSwap::from_pointee(Offer::unknown("nobody has tried yet")),
            backend,
            settings,
            key,
            clock,
            changes: watch::Sender::new(0),
            looking: tokio::sync::Mutex::new(Looking::new(names)),
            misconfigured: AtomicBool::new(false),
            shown: Mutex::default(),
        }))
    }

    /// A database that has been looked into.
    pub async fn open(settings: Settings, key: CursorKey, clock: SharedClock) -> Result<Arc<Self>, Failure> {
        let database = Self::new(settings, key, clock)?;
        // Boxed, so that callers' futures do not hold all that looking takes, level upon level.
        database.look().boxed().await?;
        Ok(database)
    }

    /// Whether the last look failed because the settings do not fit the tables. Looking again does not mend that.
    pub fn is_misconfigured(&self) -> bool {
        self.misconfigured.load(Ordering::Relaxed)
    }

    /// Tries to look until it succeeds, at growing intervals. Ends when nobody holds the database any more: one that is no
    /// longer served is not looked for.
    pub async fn reflect_with_retry(database: Weak<Self>) {
        let (mut pause, longest) = RETRY;
        while let Some(database) = database.upgrade() {
            match database.look().await {
                Ok(()) => return,
                // It may have been let go of meanwhile.
                Err(_) if Arc::strong_count(&database) == 1 => return,
                Err(failure) => {
                    let cause = failure.cause().unwrap_or_default();
                    tracing::warn!(source = database.settings.name, cause, "{}", failure.message());
                    database.offer.store(Arc::new(Offer::unknown(reason(&failure))));
                    database.changes.send_modify(|count| *count += 1);
                }
            }
            drop(database);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Answers, and looks again where the tables turned out to be others.
    async fn answer(&self, call: Call) -> Result<Done, Failure> {
        let answer = self.answer_as_known(call).await;
        let met_others = matches!(&answer, Err(failure) if is_schema_change(failure));
        let changed = matches!(&self.backend, Backend::Sqlite(sqlite) if sqlite.has_changed());
        if (met_others || changed)
            && let Err(failure) = self.look().boxed().await
        {
            tracing::debug!(source = self.settings.name, cause = failure.cause(), "{}", failure.message());
        }
        answer
    }

    async fn answer_as_known(&self, call: Call) -> Result<Done, Failure> {
        let mut offer = self.offer.load_full();
        // Nobody may have been asked about a rehearsal that is proven to change nothing, so the proof has to hold now.
        if call.operation.has_safe_dry_run && call.params.get("dry_run") == Some(&Value::Bool(true)) {
            offer = self.with_current_proof(offer, &call.name).boxed().await?;
        }
        let gone = || {
            Failure::new(
                Code::NotFoundOperation,
                "This operation is gone: the tables have changed. Use introspect again",
            )
        };
        let Some(action) = offer.action(&call.name) else {
            return Err(gone().detail("operation", &*call.name));
        };
        let now = self.clock.now();
        let Call { params, validity, .. } = call;
        let (verb, index) = match action {
            Action::Table(verb, index) => (verb, index),
            // What is rare is boxed, here and below, so that what is not need not carry it along.
            Action::Relationships => return self.relationships(&offer, now, &params).boxed().await,
            Action::Tables => return self.tables(&params).boxed().await,
            Action::TableSchema => {
                let index = named(&offer, &params)?;
                let served = offer.table(index).ok_or_else(gone)?;
                let data = generic_tables::schema_of(&offer, index, served);
                return Ok(Done { data: data.into(), warnings: Vec::new() });
            }
            // The engine has it resolved before it is called.
            Action::Generic(_) => return Err(Failure::internal("a generic request that was not resolved")),
        };
        let served = offer.table(index).ok_or_else(gone)?.clone();
        self.perform(verb, (served, index), &offer, now, params, &validity).await
    }

    /// The offer, renewed if the catalog has changed since it was made. Fails if the operation is not proven in it.
    async fn with_current_proof(&self, mut offer: Arc<Offer>, operation: &str) -> Result<Arc<Offer>, Failure> {
        /// How often the catalog may change meanwhile.
        const MAX_ATTEMPTS: usize = 3;
        let Backend::Postgres(postgres) = &self.backend else { return Ok(offer) };
        for _ in 0..MAX_ATTEMPTS {
            let Some(Action::Table(verb, index)) = offer.action(operation) else { return Ok(offer) };
            let Some(served) = offer.table(index) else { return Ok(offer) };
            let rehearsal = &served.table.rehearsal;
            let is_proven = match verb {
                Verb::Create => rehearsal.create,
                Verb::Update => rehearsal.update,
                Verb::Delete => rehearsal.delete,
                Verb::List | Verb::Search | Verb::Get => true,
            };
            if !is_proven {
                break;
            }
            let now = postgres.fingerprint().await.map_err(|fault| self.told(fault, None))?;
            if rehearsal.fingerprint.as_deref() == Some(&*now) {
                return Ok(offer);
            }
            self.look().await?;
            offer = self.offer.load_full();
        }
        let cause = "a rehearsal is no longer proven to change nothing".to_owned();
        Err(SqlError::SchemaChanged { cause }.into_failure(&self.settings.name, None))
    }

    async fn perform(
        &self,
        verb: Verb,
        (served, index): (Arc<ExposedTable>, usize),
        offer: &Offer,
        now: Timestamp,
        params: Map<String, Value>,
        validity: &Validity,
    ) -> Result<Done, Failure> {
        let dialect = self.backend.dialect();
        let dry_run = || params.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
        let if_match = || params.get("if_match").and_then(Value::as_str).map(str::to_owned);
        let common = |dry_run| Common {
            served: served.clone(),
            index,
            tables: offer.tables.clone(),
            references: offer.references.clone(),
            dialect,
            now,
            dry_run,
        };
        let outcome = match verb {
            Verb::List | Verb::Search => {
                let family = if verb == Verb::List { QueryKind::List } else { QueryKind::Search };
                let wanted = parse_query(&served.collection, family, &params, &self.key)?;
                let (key, served) = (self.key.clone(), served.clone());
                let query = Query { served, dialect, now, plan: wanted.plan, key };
                self.backend.read(query).await.map(|mut done| {
                    done.warnings.splice(0..0, wanted.warnings);
                    done
                })
            }
            Verb::Get => {
                let select = parts(&served, &params)?;
                let key = key(&served, &params)?;
                self.backend.read(Get { served: served.clone(), dialect, now, key, select }).await
            }
            Verb::Create => {
                let common = common(dry_run());
                let values = columns(&served, params)?;
                self.backend.write(Create { common, values }, validity).boxed().await
            }
            Verb::Update => {
                let key = key(&served, &params)?;
                let input = match params.get("input") {
                    Some(Value::Object(input)) => columns(&served, input.clone())?,
                    _ => Map::new(),
                };
                let update = Update { common: common(dry_run()), key, input, if_match: if_match() };
                self.backend.write(update, validity).boxed().await
            }
            Verb::Delete => {
                let key = key(&served, &params)?;
                let delete = Delete { common: common(dry_run()), key, if_match: if_match() };
                self.backend.write(delete, validity).boxed().await
            }
        };
        outcome.map_err(|fault| match fault {
            // What is wrong with none of the other values is wrong with the key.
            Fault::SqlError(SqlError::Invalid { problem, column: None, cause }) if verb != Verb::Create => {
                let mut key = served.table.key_columns().map(|column| column.name.to_string());
                let column = key.next().filter(|_| key.next().is_none());
                self.told(SqlError::Invalid { problem, column, cause }.into(), Some(&served))
            }
            fault => self.told(fault, Some(&served)),
        })
    }

    async fn tables(&self, params: &Map<String, Value>) -> Result<Done, Failure> {
        // A database that was not there may be there now.
        if self.offer.load().tables.is_empty() {
            self.look().await?;
        }
        let offer = self.offer.load_full();
        let collection = generic_tables::tables_collection();
        let wanted = parse_query(&collection, QueryKind::List, params, &self.key)?;
        let found = evaluate(&collection, &wanted.plan, &generic_tables::tables(&offer), &self.key);
        let warnings = wanted.warnings.into_iter().chain(found.warnings).collect();
        Ok(Done { data: found.data.into(), warnings })
    }

    async fn relationships(&self, offer: &Offer, now: Timestamp, params: &Map<String, Value>) -> Result<Done, Failure> {
        const MAX_BYTES: u64 = 100;
        let root = params.get("root").and_then(Value::as_object).cloned().unwrap_or_default();
        let table = root.get("element_type").and_then(Value::as_str).unwrap_or_default();
        let index = offer.find_table("element_type", table)?;
        let served = offer.table(index).ok_or_else(|| generic_tables::no_table(offer, table))?;
        let key = key_of(served, &root)?;
        if key.is_empty() {
            return Err(Failure::invalid_value("root", "names a table whose rows have no key"));
        }
        let only = match params.get("relationship").and_then(Value::as_str) {
            None => None,
            Some(name) => Some(offer.relationships.iter().position(|known| &*known.name == name).ok_or_else(|| {
                let names = offer.relationships.iter().map(|known| &*known.name);
                let near = aquifer_protocol::suggest::near(name, names, 3);
                Failure::invalid_value("relationship", "is not one of this database").detail("suggestions", near)
            })?),
        };
        let number = |name: &str| params.get(name).and_then(Value::as_u64);
        let wanted = number("first").unwrap_or(20);
        let mut walk = Walk {
            tables: offer.tables.clone(),
            relationships: offer.relationships.clone(),
            dialect: self.backend.dialect(),
            now,
            root: (index, key),
            direction: Direction::from_params(params),
            only,
            depth: number("depth").and_then(|depth| u32::try_from(depth).ok()).unwrap_or(1),
            first: usize::try_from(wanted.min(MAX_BYTES)).unwrap_or(100),
            skip: 0,
            include: params
                .get("include")
                .and_then(Value::as_array)
                .map(|parts| parts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
            key: self.key.clone(),
        };
        if let Some(cursor) = params.get("after").and_then(Value::as_str) {
            if !params.contains_key("first") {
                return Err(Failure::invalid_value("after", "needs 'first' beside it"));
            }
            let (collection, plan) = walk.binding();
            let place = self.key.open(cursor, &collection, &plan);
            let skip = place.and_then(|place| place.first()?.as_u64()).and_then(|skip| usize::try_from(skip).ok());
            walk.skip = skip.ok_or_else(|| {
                Failure::invalid_value("after", "is not a cursor of this query. Start again without it")
            })?;
        }
        let mut done = self.backend.read(walk).await.map_err(|fault| self.told(fault, Some(served)))?;
        if wanted > MAX_BYTES {
            done.warnings.push(
                aquifer_protocol::warning::Warning::new(
                    "VALIDATION_PAGE_SIZE_CLAMPED",
                    "'first' was reduced to the largest page",
                )
                .detail("requested", wanted)
                .detail("applied", MAX_BYTES),
            );
        }
        Ok(done)
    }

    fn told(&self, fault: Fault, served: Option<&ExposedTable>) -> Failure {
        match fault {
            Fault::Failure(failure) => failure,
            Fault::SqlError(error) => error.into_failure(&self.settings.name, served),
        }
    }
}

fn is_schema_change(failure: &Failure) -> bool {
    failure.code() == Code::UpstreamError && failure.details().contains_key("schema_changed")
}

/// Why it is unavailable, without repeating that it is.
fn reason(failure: &Failure) -> &str {
    failure.message().split_once(": ").map_or(failure.message(), |(_, reason)| reason)
}

/// The table a generic request is about.
fn named(offer: &Offer, params: &Map<String, Value>) -> Result<usize, Failure> {
    offer.find_table("table_name", params.get("table_name").and_then(Value::as_str).unwrap_or_default())
}

/// The parts of a single row that are wanted, its version among them unless each was named.
fn parts(served: &ExposedTable, params: &Map<String, Value>) -> Result<Arc<[Path]>, Failure> {
    let chosen = params.contains_key("fields") || params.contains_key("preset");
    if let Some(whole) = served.whole.get().filter(|_| !chosen) {
        return Ok(whole.clone());
    }
    let mut select = parse_fields(&served.collection, QueryKind::Get, params)?;
    let version = Path::field("_etag");
    if !params.get("fields").is_some_and(Value::is_array) && !select.contains(&version) {
        select.push(version);
    }
    let select: Arc<[Path]> = select.into();
    Ok(if chosen { select } else { served.whole.get_or_init(|| select).clone() })
}

/// The values of the key, in its order.
fn key(served: &ExposedTable, params: &Map<String, Value>) -> Result<Vec<Value>, Failure> {
    let values = served.table.key_columns().map(|column| {
        let value = params.get(&*column.name)?;
        aquifer_query::value::coerce(&column.of, value).or_else(|| Some(value.clone()))
    });
    let values = values.collect::<Option<Vec<Value>>>();
    let values = values.ok_or_else(|| Failure::internal("a key without all of its columns"))?;
    fit(served, served.table.key_columns().map(|column| &*column.name).zip(&values))?;
    Ok(values)
}

/// Refuses values that no database could keep as they were given: whole numbers of more than 64 bits, and text that does not
/// decode to bytes.
fn fit<'a>(served: &ExposedTable, values: impl Iterator<Item = (&'a str, &'a Value)>) -> Result<(), Failure> {
    for (name, value) in values {
        let problem = match served.table.column(name).map(|column| &column.of) {
            Some(FieldType::Integer) if value.is_u64() && value.as_i64().is_none() => "is more than 64 bits hold",
            Some(of @ FieldType::Bytes) if !value.is_null() && aquifer_query::value::coerce(of, value).is_none() => {
                "must be base64"
            }
            _ => continue,
        };
        return Err(Failure::invalid_value(name, problem));
    }
    Ok(())
}

/// The parameters that are values of columns.
fn columns(served: &ExposedTable, mut params: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let names = served.table.columns.iter().map(|column| &column.name);
    let values: Map<String, Value> =
        names.filter_map(|name| Some((name.to_string(), params.remove(&**name)?))).collect();
    fit(served, values.iter().map(|(name, value)| (name.as_str(), value)))?;
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

    fn conceal(&self, denied: &HashSet<Arc<str>>) -> bool {
        self.leave_out(denied)
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn generation(&self) -> u64 {
        *self.changes.borrow()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Backend::Sqlite(sqlite) = &self.backend
                && sqlite.check().await
                && let Err(failure) = self.look().await
            {
                tracing::debug!(source = self.settings.name, cause = failure.cause(), "{}", failure.message());
            }
        }
        .boxed()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.look().boxed()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match self.answer(call).await {
                Ok(done) => Outcome::Done(Answer { data: done.data, warnings: done.warnings, attachments: Vec::new() }),
                Err(failure) => Outcome::Failed(failure),
            }
        }
        .boxed()
    }
}
