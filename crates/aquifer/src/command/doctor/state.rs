//! The state directory, the store and the audit log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aquifer_engine::store::HIGH_WATER;
use aquifer_gate::audit::{self, Heads};
use aquifer_gate::store::find_damage;
use jiff::Timestamp;

use super::access::{self, Role, is_denied};
use super::{Finding, Status};
use crate::config::{AuditSink, Config, StateConfig};
use crate::safety;
use crate::safety::admin::Admin;
use crate::state::{self, STATE_VERSION, StateFiles, StoreLocation, steady_clock};
use crate::system::quoted_path;
use crate::system::{AccessKind, check_access};

/// How long the store may take to answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// With less free space, writing state and audit entries will soon fail.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// The findings, and when the state was last used.
pub(super) async fn check(config: &StateConfig) -> (Vec<Finding>, Option<Timestamp>) {
    let Some(directory) = state::directory_of(config) else {
        let advice = "Set HOME, or name a directory as state.dir in the configuration";
        let message = "there is none, so approvals, logins and limits are forgotten with the process";
        return (vec![Finding::problem("state directory", message, advice)], None);
    };
    let mut findings = check_directory(&directory);
    if !findings.is_empty() {
        return (findings, None);
    }
    findings.extend(check_files(&directory).or_else(|| check_version(&directory)));
    if !findings.is_empty() {
        return (findings, None);
    }
    let shown = directory.display().to_string();
    if let Err(error) = StateFiles::new(config) {
        let advice = "Follow the message, or choose another directory with state.dir";
        return (vec![Finding::problem(shown, format!("{error:#}"), advice)], None);
    }
    let version = match state::version_of(&directory) {
        Ok(Some(version)) if version < STATE_VERSION => {
            format!("private, state version {version}, which the next server brings up to date")
        }
        Ok(Some(version)) => format!("private, state version {version}"),
        _ if directory.exists() => "private".to_owned(),
        _ => "not created yet".to_owned(),
    };
    findings.push(Finding::ok(&shown, version));
    findings.extend(check_space(&directory));
    findings.extend(check_keys(config, &directory));
    let (store, last_use) = check_store(config).await;
    findings.extend(store);
    (findings, last_use)
}

/// Problems with the directory itself.
fn check_directory(directory: &Path) -> Vec<Finding> {
    let shown = directory.display().to_string();
    let usable = |existing: &Path, problem: &str| match check_access(existing, AccessKind::CreateFiles) {
        Ok(()) => None,
        Err(error) => {
            let advice = access::for_error(&error, directory, Role::State);
            Some(Finding::problem(&shown, format!("{problem}: {error}"), advice))
        }
    };
    let found = match state::inspect_directory(directory) {
        Ok(state::Privacy::Private) => usable(directory, "cannot be written to"),
        Ok(state::Privacy::Missing) => usable(nearest_existing(directory), "cannot be created"),
        Ok(state::Privacy::Open) => {
            let advice = format!("Run: chmod 700 {}", quoted_path(directory));
            Some(Finding::problem(&shown, "other users can read or change it", advice))
        }
        Ok(state::Privacy::Shared(reason)) => {
            let advice = "Choose a directory of its own with state.dir";
            Some(Finding::note(&shown, format!("it is not private: {reason}"), advice))
        }
        Ok(state::Privacy::Unusable(reason)) => {
            Some(Finding::problem(&shown, reason, "Choose another directory with state.dir"))
        }
        Err(error) => {
            let advice = access::for_error(&error, directory, Role::State);
            Some(Finding::problem(&shown, format!("cannot be used: {error}"), advice))
        }
    };
    found.into_iter().collect()
}

/// The directory, or the nearest one above it that exists and can be seen.
fn nearest_existing(directory: &Path) -> &Path {
    let existing = directory.ancestors().find(|folder| folder.exists());
    existing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The files of the directory that exist but cannot be read, as one problem: they usually have one cause.
fn check_files(directory: &Path) -> Option<Finding> {
    let files = state::FILES.iter().map(|name| directory.join(name));
    let denied: Vec<PathBuf> = files.filter(|file| is_denied(file, AccessKind::Read)).collect();
    denied_finding(&denied, "cannot be read", Role::State)
}

/// Files to which access is denied, as one problem.
fn denied_finding(files: &[PathBuf], problem: &str, role: Role) -> Option<Finding> {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let message = format!("{problem}: permission denied");
    (!files.is_empty()).then(|| Finding::problem(names.join(", "), message, access::for_denied(files, role)))
}

/// The file with the version of the state.
fn check_version(directory: &Path) -> Option<Finding> {
    let error = state::version_of(directory).err()?;
    let file = directory.join("version").display().to_string();
    let advice =
        "Restore the file from a backup. If this version of Aquifer wrote the state, write 2 into it".to_owned();
    Some(Finding::problem(file, format!("cannot be read: {error}"), advice))
}

fn check_space(directory: &Path) -> Option<Finding> {
    let existing = directory.ancestors().find(|folder| folder.exists())?;
    let free = crate::system::free_bytes(existing)?;
    (free < MIN_FREE_BYTES).then(|| {
        let message = format!("only {} MB are free, so changes will soon be refused", free >> 20);
        Finding::problem(directory.display().to_string(), message, "Free some space on this disk, or move state.dir")
    })
}

/// The keys in the directory.
fn check_keys(config: &StateConfig, directory: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if config.cursor_secret.is_none()
        && let Some(problem) = state::key_problem(directory)
    {
        let advice = "Remove the file: a new key is created, and cursors that were handed out become invalid";
        findings.push(Finding::problem(directory.join("cursor.key").display().to_string(), problem, advice));
    }
    match Admin::load(config) {
        Ok(_) => {}
        Err(error) => {
            let advice = "Remove the file and create a new secret with: aquifer approvals secret";
            findings.push(Finding::problem("admin.key", format!("{error:#}"), advice));
        }
    }
    findings
}

/// The secret without which nobody can approve a call.
pub(super) fn check_admin(config: &Config) -> Option<Finding> {
    let is_missing = config.gate.requires_approval() && Admin::load(&config.state).is_ok_and(|admin| admin.is_none());
    is_missing.then(|| {
        let message = "there is none, although calls need an approval: only somebody at the terminal of a server can \
                       log in to the explorer and approve them";
        let file = config.path.as_deref().map(|path| format!(" --config {}", quoted_path(path))).unwrap_or_default();
        Finding::note("admin secret", message, format!("Create one with: aquifer approvals secret{file}"))
    })
}

/// The store, and when it was last used.
async fn check_store(config: &StateConfig) -> (Option<Finding>, Option<Timestamp>) {
    let location = match StoreLocation::find(config) {
        Ok(location) => location,
        Err(error) => {
            let advice = "Correct state.store in the configuration";
            return (Some(Finding::problem("state.store", format!("{error:#}"), advice)), None);
        }
    };
    match &location {
        StoreLocation::Memory => {
            let advice = "Set state.store to \"sqlite\" or to a Redis URL to keep them";
            let message = "in memory: approvals and limits are forgotten with the process";
            (Some(Finding::note("state.store", message, advice)), None)
        }
        StoreLocation::File(file) if !file.exists() => (None, None),
        StoreLocation::File(file) => match check_store_files(file) {
            Some(denied) => (Some(denied), None),
            None => match ask_store(&location, config).await {
                (Some(answer), last_use) if answer.status == Status::Ok => {
                    (Some(check_damage(file.clone()).await.unwrap_or(answer)), last_use)
                }
                answer => answer,
            },
        },
        StoreLocation::Redis(_) => ask_store(&location, config).await,
    }
}

/// The file of the store and those that SQLite keeps beside it.
fn check_store_files(file: &Path) -> Option<Finding> {
    let files = ["", "-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", file.display())));
    let denied: Vec<PathBuf> = files.into_iter().filter(|file| is_denied(file, AccessKind::ReadAndWrite)).collect();
    denied_finding(&denied, "cannot be read and written", Role::Store)
}

/// Damage that only some of the calls would run into.
async fn check_damage(file: PathBuf) -> Option<Finding> {
    let shown = file.display().to_string();
    let found = tokio::task::spawn_blocking(move || find_damage(&file)).await.ok()?.ok()??;
    let advice = "Stop the servers that use it, and restore it from a backup or move it away with the files beside it: \
                  a new one is created, and approvals and limits are forgotten";
    Some(Finding::problem(shown, format!("the file is damaged: {found}"), advice))
}

/// Whether the store answers, and when it was last used.
async fn ask_store(location: &StoreLocation, config: &StateConfig) -> (Option<Finding>, Option<Timestamp>) {
    let (subject, failed, silent) = match location {
        StoreLocation::File(file) => (
            file.display().to_string(),
            "If a newer Aquifer wrote it, use that version. Otherwise move the file away, and a new one is created",
            "Another program keeps it locked. Find and stop that program",
        ),
        _ => {
            let advice = "Start Redis, and check the host, the port and the password in the URL";
            ("state.store".to_owned(), advice, advice)
        }
    };
    let read = async { anyhow::Ok(location.open(config, &steady_clock())?.get(HIGH_WATER).await?) };
    match tokio::time::timeout(STORE_TIMEOUT, read).await {
        Ok(Ok(record)) => {
            let last_use = record
                .and_then(|record| String::from_utf8(record.value).ok()?.parse().ok())
                .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok());
            (Some(Finding::ok(subject, "answers")), last_use)
        }
        Ok(Err(error)) => (Some(Finding::problem(subject, format!("{error:#}"), failed)), None),
        Err(_) => (Some(Finding::problem(subject, "does not answer", silent)), None),
    }
}

/// The audit log: whether it can be written and was not modified.
pub(super) async fn check_audit(config: &Config) -> Vec<Finding> {
    let is_in_files = config.audit.to.as_ref().is_none_or(|places| places.contains(&AuditSink::File));
    let Some(directory) = safety::audit_directory(config).filter(|directory| is_in_files && directory.exists()) else {
        return Vec::new();
    };
    let shown = directory.display().to_string();
    if !directory.is_dir() {
        let advice = "Move it away, or choose another directory with audit.dir";
        return vec![Finding::problem(shown, "is not a directory", advice)];
    }
    if let Err(error) = check_access(&directory, AccessKind::CreateFiles) {
        let advice = access::for_error(&error, &directory, Role::Audit);
        return vec![Finding::problem(shown, format!("cannot be written to: {error}"), advice)];
    }
    let store = StoreLocation::find(&config.state).ok().filter(|location| *location != StoreLocation::Memory);
    let store = store.and_then(|location| location.open_existing(&config.state).ok());
    let heads = match &store {
        Some(store) => Heads::load(&**store).await.ok(),
        None => None,
    };
    let verified = tokio::task::spawn_blocking(move || audit::verify(&[directory], heads.as_ref())).await;
    let advice = "See which entries with: aquifer audit verify. Keep the files: they are evidence";
    vec![match verified {
        Ok(Ok(report)) if !report.is_intact() => Finding::problem(shown, "entries were changed or are missing", advice),
        Ok(Ok(_)) => Finding::ok(shown, "not modified"),
        Ok(Err(error)) => Finding::problem(shown, format!("cannot be verified: {error}"), advice),
        Err(error) => Finding::problem(shown, format!("cannot be verified: {error}"), advice),
    }]
}
