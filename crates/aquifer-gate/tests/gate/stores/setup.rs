//! Every kind of store, new and empty.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::store::{RedisSettings, RedisStore, SqliteStore};

pub(crate) use crate::folder::Folder;
use crate::harness::{ManualClock, system_clock};

pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Longer than anything takes unless it hangs.
pub(super) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A store, how to open it again, and how another process opens it.
pub(super) struct StoreUnderTest {
    pub(super) name: &'static str,
    pub(super) store: Arc<dyn StateStore>,
    pub(super) again: Option<Box<dyn Fn() -> Arc<dyn StateStore>>>,
    pub(super) address: Vec<(&'static str, String)>,
    _folder: Option<Folder>,
}

/// Every kind of store, with one clock.
pub(super) fn open_stores(held: Option<&ManualClock>) -> Vec<StoreUnderTest> {
    let clock = held.map_or_else(system_clock, |held| held.steady.clone());
    let redis = redis(clock.clone());
    let memory = StoreUnderTest {
        name: "memory",
        store: Arc::new(MemoryStore::new(clock.clone(), 10_000)),
        again: None,
        address: Vec::new(),
        _folder: None,
    };
    let folder = Folder::new();
    let file = folder.file();
    let address = vec![("AQUIFER_TEST_FILE", file.to_str().unwrap().to_owned())];
    let open = move || -> Arc<dyn StateStore> { Arc::new(SqliteStore::new(&file, clock.clone()).unwrap()) };
    let sqlite =
        StoreUnderTest { name: "SQLite", store: open(), again: Some(Box::new(open)), address, _folder: Some(folder) };
    vec![memory, sqlite, redis]
}

fn redis(clock: Arc<SteadyClock>) -> StoreUnderTest {
    let mut settings = RedisSettings::new(std::env::var("AQUIFER_TEST_REDIS").expect("cargo xtask test sets it"));
    settings.prefix = format!("test-{}:", unique());
    let address = vec![("AQUIFER_TEST_PREFIX", settings.prefix.clone())];
    let open =
        move || -> Arc<dyn StateStore> { Arc::new(RedisStore::new(&settings).unwrap().with_clock(clock.clone())) };
    StoreUnderTest { name: "Redis", store: open(), again: Some(Box::new(open)), address, _folder: None }
}

/// The store that the parent process of a test has set in the environment.
pub(super) fn store_from_environment() -> Option<Arc<dyn StateStore>> {
    if let Ok(file) = std::env::var("AQUIFER_TEST_FILE") {
        return Some(Arc::new(SqliteStore::new(file, system_clock()).unwrap()));
    }
    if let Ok(prefix) = std::env::var("AQUIFER_TEST_PREFIX") {
        let mut settings = RedisSettings::new(std::env::var("AQUIFER_TEST_REDIS").unwrap());
        settings.prefix = prefix;
        return Some(Arc::new(RedisStore::new(&settings).unwrap()));
    }
    None
}

/// The same test in another process, which gets its task from the environment.
pub(crate) fn rerun_test(program: impl AsRef<std::ffi::OsStr>, test: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A process that is killed when its test ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Waits for its end, with a time limit.
    pub(super) fn succeeds(&mut self) {
        self.succeeds_within(TEST_TIMEOUT);
    }

    pub(crate) fn succeeds_within(&mut self, timeout: Duration) {
        let until = Instant::now() + timeout;
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return assert!(status.success(), "ended with {status}"),
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                None => panic!("does not end"),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats a check until it holds, with a time limit.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + TEST_TIMEOUT;
    while !holds().await {
        assert!(Instant::now() < until, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Awaits something with a time limit.
pub(super) async fn with_deadline<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, what).await.expect("hangs")
}

/// The variable that tells a test's second process whether it has its own file system.
const MOUNTED: &str = "AQUIFER_TEST_MOUNTED";

/// Whether this process has its own file system.
pub(crate) fn is_mounted() -> bool {
    std::env::var(MOUNTED).unwrap() == "true"
}

/// Runs this test again with a file system of this `size` mounted on the directory. If mounting is not allowed, the
/// shell runs `limit` instead, and files that are too large are an error, not a signal.
pub(crate) fn with_small_disk(folder: &Path, size: &str, limit: &str, test: &str) -> Command {
    let mount = format!("mount -t tmpfs -o size={size} none '{}'", folder.display());
    let may_mount = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).output();
    let may_mount = may_mount.is_ok_and(|done| done.status.success());
    let mut command = Command::new(if may_mount { "unshare" } else { "env" });
    let shell = if may_mount {
        command.arg("-rm");
        format!("{mount} && exec \"$@\"")
    } else {
        println!("a limit on the size of files stands for a full disk: no file system can be mounted");
        format!("trap '' XFSZ; {limit} exec \"$@\"")
    };
    command.args(["sh", "-c", &shell, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(MOUNTED, may_mount.to_string());
    command
}
