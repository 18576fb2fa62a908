//! An audit in a temporary directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{SharedClock, SystemClock};
use aquifer_engine::store::{MemoryStore, Record, SpendResult, StateStore, StoreError};
use aquifer_gate::audit::{Audit, AuditSettings, Entry, Event, Heads, Report, Sink, verify};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use futures::future::{BoxFuture, FutureExt};
use serde_json::Value;

pub(crate) use crate::folder::Folder;

/// Longer than any test takes.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

pub(super) fn clock() -> SharedClock {
    Arc::new(SystemClock)
}

pub(super) fn memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::new(clock(), 100_000))
}

pub(super) fn files(directory: &Path, size: u64, keep: u32) -> AuditSettings {
    let sinks = vec![Sink::File { directory: directory.to_owned(), size, keep }];
    AuditSettings { sinks, ..AuditSettings::default() }
}

pub(super) fn open(settings: AuditSettings, store: &Arc<dyn StateStore>) -> Audit {
    Audit::open(settings, clock(), store.clone()).unwrap()
}

pub(super) fn deletion() -> Operation {
    let mut operation = Operation::new("delete_user", Category::Delete, "Deletes a user");
    operation.origin.source = "crm".into();
    operation
}

/// An intent with this request id.
pub(super) fn intent(mark: &str) -> Entry {
    Entry::for_operation(Event::Intent, &deletion()).request(mark)
}

/// The audit files of a directory, sorted by name.
pub(super) fn listed(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

/// Every line of a directory's files, in order.
pub(crate) fn lines(directory: &Path) -> Vec<Value> {
    let text: String = listed(directory).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn events(directory: &Path) -> Vec<String> {
    lines(directory).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

/// Verifies a directory with the heads of this store.
pub(crate) async fn verify_directory(directory: &Path, store: &Arc<dyn StateStore>) -> Report {
    let heads = Heads::load(&**store).await.unwrap();
    verify(&[directory.to_owned()], Some(&heads)).unwrap()
}

/// Runs one test of this binary again, in a process that gets its directory from the environment.
pub(super) fn again(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(WHERE, folder);
    command
}

const WHERE: &str = "AQUIFER_TEST_AUDIT_FOLDER";

/// The directory, if this is the process that was started again.
pub(super) fn in_child() -> Option<PathBuf> {
    std::env::var_os(WHERE).map(PathBuf::from)
}

/// A store whose behaviour tests can switch.
pub(super) struct ScriptedStore {
    pub(super) inner: Arc<dyn StateStore>,
    pub(super) mode: parking_lot::Mutex<StoreMode>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum StoreMode {
    Well,
    Down,
    Silent,
}

impl ScriptedStore {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { inner: memory(), mode: parking_lot::Mutex::new(StoreMode::Well) })
    }

    pub(super) fn set_mode(&self, mode: StoreMode) {
        *self.mode.lock() = mode;
    }

    fn then<'a, T: Send + 'a>(
        &self,
        future: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        match *self.mode.lock() {
            StoreMode::Well => future,
            StoreMode::Down => std::future::ready(Err(StoreError("it is down".to_owned()))).boxed(),
            StoreMode::Silent => std::future::pending().boxed(),
        }
    }
}

impl StateStore for ScriptedStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.then(self.inner.get(key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.then(self.inner.compare_and_set(key, expected, value, keep))
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.then(self.inner.list(prefix, limit))
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.then(self.inner.spend(key, amount, limit, window))
    }
}
