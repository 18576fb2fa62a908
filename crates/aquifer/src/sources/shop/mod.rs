//! The source of the demo: the sample database, plus jobs that take time or need approval, so that every endpoint
//! family has something to try. Callers see one source.

mod jobs;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use aquifer_engine::clock::SystemClock;
use aquifer_engine::rehearsal::RehearsalResult;
use aquifer_engine::source::{
    Call, LiveSource, Outcome, Resolution, SourceStatus, TableLines, TableSource, TableSummary,
};
use aquifer_engine::table_model::TableModel;
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::Failure;
use aquifer_query::{Collection, CursorKey};
use aquifer_sql::{Database, Settings};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use jobs::Jobs;

/// Creates an in-memory database with the sample data. Changes are lost when the process ends.
pub(crate) fn fill(name: &str) -> anyhow::Result<String> {
    // After a configuration change, the reopened demo gets a new database instead of one that is already filled.
    static OPENED: AtomicU32 = AtomicU32::new(0);
    let memory = format!("aquifer-demo-{name}-{}", OPENED.fetch_add(1, Ordering::Relaxed));
    let mut connection =
        rusqlite::Connection::open(aquifer_sql::memory_name(&memory)).context("cannot open the sample database")?;
    aquifer_sample::fill(&mut connection).context("cannot fill the sample database")?;
    // An in-memory database exists as long as a connection is open, so this one is kept for the lifetime of the
    // process.
    Box::leak(Box::new(connection));
    Ok(memory)
}

/// Opens the demo with a filled database. A read-only demo has no jobs.
pub(crate) async fn open(settings: Settings, memory: &str, key: &CursorKey) -> anyhow::Result<Arc<dyn Source>> {
    let (name, is_read_only) = (settings.name.clone(), settings.read_only);
    let failed = |failure: Failure| anyhow::anyhow!("{}", failure.message());
    let database = Database::with_store(settings, key.clone(), Arc::new(SystemClock), None).map_err(failed)?;
    database.reflect().await.map_err(failed)?;
    if is_read_only {
        return Ok(database);
    }
    let own_jobs = Jobs::new(memory);
    let jobs = own_jobs.clone().into_source(&name).context("cannot build the jobs of the demo")?;
    let job_names = jobs.offering().operations.iter().map(|operation| operation.name.clone()).collect();
    Ok(Arc::new(Shop { database, jobs, own_jobs, job_names }))
}

struct Shop {
    database: Arc<Database>,
    jobs: Arc<dyn Source>,
    /// The same jobs, for rehearsals.
    own_jobs: Jobs,
    job_names: HashSet<Arc<str>>,
}

impl Shop {
    /// The part of the demo that has this operation.
    fn owner(&self, operation: &str) -> &dyn Source {
        if self.job_names.contains(operation) { &*self.jobs } else { &*self.database }
    }
}

impl Source for Shop {
    fn name(&self) -> &str {
        self.database.name()
    }

    fn offering(&self) -> Offering {
        let (mut all, jobs) = (self.database.offering(), self.jobs.offering());
        all.operations.extend(jobs.operations.into_iter().map(|mut operation| {
            // A dry run of a newsletter counts its recipients and sends nothing.
            operation.safety.has_safe_dry_run |= *operation.name == *jobs::NEWSLETTER;
            operation
        }));
        all.types.extend(jobs.types);
        all
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.owner(&call.name).call(call)
    }

    fn rehearse(&self, call: Call) -> BoxFuture<'_, RehearsalResult> {
        if *call.name == *jobs::NEWSLETTER {
            return async move { self.own_jobs.rehearse_newsletter(&call.params).await }.boxed();
        }
        self.owner(&call.name).rehearse(call)
    }

    fn collection(&self, operation: &str) -> Option<Arc<Collection>> {
        self.owner(operation).collection(operation)
    }

    fn resolve(&self, operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        self.owner(operation).resolve(operation, params)
    }

    fn session_ended(&self, session: &str) {
        self.database.session_ended(session);
        self.jobs.session_ended(session);
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }

    fn as_tables(&self) -> Option<&dyn TableSource> {
        Some(self)
    }
}

impl LiveSource for Shop {
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.database.changes()
    }

    fn generation(&self) -> u64 {
        self.database.generation()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        self.database.check_for_changes()
    }

    fn check_before_refusal(&self) -> BoxFuture<'_, ()> {
        self.database.check_before_refusal()
    }

    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        self.database.confirm_catalog()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.database.reload()
    }

    fn status(&self) -> SourceStatus {
        self.database.status()
    }
}

impl TableSource for Shop {
    fn set_restricted(&self, restricted: HashSet<Arc<str>>) {
        self.database.set_restricted(restricted);
    }

    fn examples(&self, operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        self.owner(&operation).examples(operation.clone())
    }

    fn tables(&self) -> Vec<TableSummary> {
        self.database.tables()
    }

    fn describe_tables(&self, tables: Vec<Arc<str>>, is_whole: bool) -> BoxFuture<'_, TableLines> {
        self.database.describe_tables(tables, is_whole)
    }

    fn table_models(&self) -> Vec<TableModel> {
        self.database.table_models()
    }

    fn conceal(&self, denied: &HashSet<Arc<str>>) -> bool {
        self.database.conceal(denied)
    }
}
