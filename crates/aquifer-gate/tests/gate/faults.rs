//! Failures of store and audit while many callers confirm, replay and mix up tokens (R-SAF-3, R-SAF-5, R-SAF-6).
//!
//! A thousand gated calls each; `cargo xtask soak gate` runs more.

mod callers;
mod slow;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aquifer_engine::store::StateStore;
use aquifer_gate::store::SqliteStore;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::harness::system_clock;
use crate::stores::redis_server::Server;
use crate::stores::setup::{Folder, Process, is_mounted, rerun_test, with_small_disk};
use callers::{Fault, Trial};
use slow::{Slow, Slowness};

/// Two stores over one file, as in two processes.
fn two_over(file: &Path) -> [Arc<dyn StateStore>; 2] {
    [(); 2].map(|()| -> Arc<dyn StateStore> { Arc::new(SqliteStore::new(file, system_clock()).unwrap()) })
}

impl Fault for Server {
    fn set(&mut self, stage: usize) {
        if stage == 0 { self.restart() } else { self.kill() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_gated_calls_while_redis_is_killed_and_restarted() {
    let (mut server, audit) = (Server::start(), Folder::new());
    let stores = [(); 2].map(|()| -> Arc<dyn StateStore> { Arc::new(server.store()) });
    Trial::over(stores, &audit.0).run("redis", &mut server, 1, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_gated_calls_while_the_store_is_slow() {
    let folder = Folder::new();
    let mut slowness = Slowness::default();
    let stores = two_over(&folder.file()).map(|store| -> Arc<dyn StateStore> { Slow::new(store, &slowness) });
    Trial::over(stores, &folder.0.join("audit")).run("slow", &mut slowness, slow::STAGES, 1).await;
}

const WHERE: &str = "AQUIFER_TEST_GATED_AT";

/// State and audit are on the same file system: a separate one if we may mount it, else with a limit on the file size.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_gated_calls_while_the_disk_is_full() {
    const TEST: &str = "faults::r_saf_6_gated_calls_while_the_disk_is_full";
    if let Ok(place) = std::env::var(WHERE) {
        let place = PathBuf::from(place);
        let mut disk = Disk { ballast: place.join("ballast"), mounted: is_mounted() };
        let trial = Trial::over(two_over(&place.join("state.db")), &place.join("audit"));
        return trial.run("full", &mut disk, 1, 5).await;
    }
    let folder = Folder::new();
    let mut command = with_small_disk(&folder.0, "256m", "", TEST);
    Process(command.env(WHERE, &folder.0).spawn().unwrap()).succeeds_within(callers::deadline());
}

/// A disk that fills up, and has room again.
struct Disk {
    ballast: PathBuf,
    mounted: bool,
}

impl Fault for Disk {
    fn set(&mut self, stage: usize) {
        match (self.mounted, stage) {
            (true, 0) => std::fs::remove_file(&self.ballast).unwrap(),
            (true, _) => fill(&self.ballast),
            (false, 0) => limit_files(None),
            (false, _) => limit_files(Some(4096)),
        }
    }
}

/// Fills the disk to the last page.
fn fill(ballast: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).unwrap();
    for size in [1 << 20, 1 << 12] {
        let piece = vec![0; size];
        let mut written = 0;
        while file.write_all(&piece).is_ok() {
            written += size;
            assert!(written < 1 << 30, "this disk is never full");
        }
    }
}

fn limit_files(limit: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: limit.or(maximum), maximum }).unwrap();
}

/// Runs as a user to whom permissions apply: root may write everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_gated_calls_while_the_file_is_read_only() {
    if let Ok(place) = std::env::var(WHERE) {
        let mut rights = Rights(Path::new(&place).join("state"));
        std::fs::create_dir_all(&rights.0).unwrap();
        let trial = Trial::over(two_over(&rights.file()), &Path::new(&place).join("audit"));
        return trial.run("read-only", &mut rights, 2, 3).await;
    }
    let folder = Folder::new();
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.0.join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = rerun_test(&program, "faults::r_saf_6_gated_calls_while_the_file_is_read_only");
    command.stdout(std::process::Stdio::inherit()).env(WHERE, folder.0.join("own")).current_dir("/");
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(65_534).gid(65_534);
    }
    Process(command.spawn().unwrap()).succeeds_within(callers::deadline());
}

/// The permissions of a directory with a state file.
struct Rights(PathBuf);

impl Rights {
    fn file(&self) -> PathBuf {
        self.0.join("state.db")
    }
}

impl Fault for Rights {
    /// First makes the file unreachable: an open file stays writable whatever its permissions become, and is closed
    /// when it cannot be found. Then makes it reachable again, read-only.
    fn set(&mut self, stage: usize) {
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        match stage {
            1 => set(&self.0, 0o000),
            2 => {
                // The file can only be reached through the directory, so nobody opens it in between for long.
                set(&self.0, 0o700);
                set(&self.file(), 0o400);
                set(&self.0, 0o500);
            }
            _ => {
                set(&self.0, 0o700);
                set(&self.file(), 0o600);
            }
        }
    }
}
