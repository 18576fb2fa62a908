//! `aquifer audit`: shows the audit log and verifies that it was not modified.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use aquifer_engine::store::StateStore;
use aquifer_gate::audit::read::{EntryFilter, EntryQuery, read_files};
use aquifer_gate::audit::{self, AuditError, Heads, Report};
use aquifer_gate::confirm::approvals::escape;
use serde_json::Value;

use super::table::columns;
use crate::CommandOutcome;
use crate::cli::{AuditShowArgs, AuditVerifyArgs};
use crate::config::{AuditSink, Config};
use crate::safety;
use crate::state::StoreLocation;
use crate::terminal;

/// The maximum number of entries shown. All of them are held in memory.
const MAX_SHOWN: usize = 100_000;

/// How long strict verification waits for the heads of servers that are writing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const HEAD_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) async fn verify(arguments: AuditVerifyArgs) -> anyhow::Result<CommandOutcome> {
    let config = arguments.place.read()?;
    arguments.place.require_directory()?;
    let store = store(&config)?;
    if store.is_none() {
        tracing::warn!("the state is in the memory of a server, so entries missing at the end cannot be detected");
    }
    let to = config.audit.to.as_ref();
    let in_store = to.is_some_and(|places| places.contains(&AuditSink::Store));
    let in_files = to.is_none_or(|places| places.contains(&AuditSink::File));
    let paths = match arguments.paths.as_slice() {
        [] if in_files => safety::audit_directory(&config).into_iter().filter(|directory| directory.exists()).collect(),
        named => named.to_vec(),
    };
    let places = AuditLocations {
        reads_files: in_files || !paths.is_empty(),
        reads_store: in_store && arguments.paths.is_empty(),
        paths,
        store,
    };
    let reports = match arguments.strict {
        true => places.verify_strictly().await?,
        false => places.verify().await?.1,
    };
    for report in &reports {
        match arguments.json {
            true => super::json::print(&serde_json::to_string(report)?)?,
            false => terminal::print_line(report.to_string().trim_end())?,
        }
    }
    Ok(if reports.iter().all(Report::is_proven) { CommandOutcome::Done } else { CommandOutcome::Failure })
}

/// Where to find entries and heads.
struct AuditLocations {
    store: Option<Arc<dyn StateStore>>,
    paths: Vec<PathBuf>,
    reads_files: bool,
    reads_store: bool,
}

impl AuditLocations {
    async fn verify(&self) -> anyhow::Result<(Option<Heads>, Vec<Report>)> {
        // Heads are read first. Entries written in the meantime then follow the head, which is not an error.
        let heads = match &self.store {
            Some(store) => Some(Heads::load(&**store).await.context("cannot read the heads of the audit log")?),
            None => None,
        };
        let mut reports = Vec::new();
        if self.reads_files {
            let (paths, known) = (self.paths.clone(), heads.clone());
            reports.push(tokio::task::spawn_blocking(move || audit::verify(&paths, known.as_ref())).await??);
        }
        if let (true, Some(store), Some(heads)) = (self.reads_store, &self.store, &heads) {
            reports.push(audit::verify_store(&**store, heads).await?);
        }
        Ok((heads, reports))
    }

    /// Repeats the verification while differences may come from a server that is writing, until a timeout.
    async fn verify_strictly(&self) -> anyhow::Result<Vec<Report>> {
        let deadline = Instant::now() + HEAD_TIMEOUT;
        let mut earlier: Vec<Report> = Vec::new();
        loop {
            let (heads, mut reports) = self.verify().await?;
            if reports.is_empty() {
                // Without a location there is nothing to verify.
                reports.push(Report::default());
            }
            for (position, report) in reports.iter_mut().enumerate() {
                report.check_strictly(heads.as_ref(), earlier.get(position));
            }
            let may_settle = reports.iter().any(Report::may_be_transient) && self.is_being_written();
            if !may_settle || Instant::now() >= deadline {
                return Ok(reports);
            }
            earlier = reports;
            tokio::time::sleep(HEAD_INTERVAL).await;
        }
    }

    /// Whether a server may be writing now.
    fn is_being_written(&self) -> bool {
        self.reads_store || audit::is_being_written(&self.paths)
    }
}

pub(crate) async fn show(arguments: AuditShowArgs) -> anyhow::Result<CommandOutcome> {
    let config = arguments.place.read()?;
    arguments.place.require_directory()?;
    let Some(directory) = safety::audit_directory(&config).filter(|directory| directory.exists()) else {
        bail!("there are no audit files. They are expected in the directory audit.dir, or in the state directory");
    };
    let last = arguments.last.min(MAX_SHOWN);
    // The newest entry is shown last, next to the prompt.
    let filter = EntryFilter { approval_id: arguments.approval, ..EntryFilter::default() };
    let mut lines = tokio::task::spawn_blocking(move || newest(&directory, &filter, last)).await??;
    lines.reverse();
    let text: String = match arguments.json {
        true => lines.iter().map(|line| format!("{line}\n")).collect(),
        false => {
            let entries = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let rows: Vec<[String; 4]> = entries.map(|entry| row(&entry)).collect();
            columns(&["TIME", "EVENT", "OPERATION", ""], &rows)
        }
    };
    match arguments.json {
        true => terminal::print_exact(text.trim_end())?,
        false => terminal::print_line(text.trim_end())?,
    }
    Ok(CommandOutcome::Done)
}

/// The newest entries that match, newest first.
fn newest(directory: &Path, filter: &EntryFilter, last: usize) -> Result<Vec<String>, AuditError> {
    let (mut lines, mut before) = (Vec::new(), None);
    while lines.len() < last {
        let query = EntryQuery { filter: filter.clone(), limit: last - lines.len(), before };
        let page = read_files(directory, &query)?;
        lines.extend(page.entries);
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    Ok(lines)
}

/// The store with the heads, or `None` if it is in the memory of a server.
fn store(config: &Config) -> anyhow::Result<Option<Arc<dyn StateStore>>> {
    match StoreLocation::find(&config.state)? {
        StoreLocation::Memory => Ok(None),
        location => location.open_existing(&config.state).map(Some),
    }
}

/// Callers control many of these values. None of them may imitate another row or control the terminal, even after a
/// pipe.
fn row(entry: &Value) -> [String; 4] {
    let word = |entry: &Value, name: &str| escape(&word(entry, name));
    let time: String = word(entry, "timestamp").chars().take(19).collect();
    let operation = match (word(entry, "operation"), word(entry, "adapter_name")) {
        (operation, source) if source.is_empty() => operation,
        (operation, source) => format!("{operation} ({source})"),
    };
    let more = ["result", "code", "reason", "user_id", "token_id"];
    let mut words: Vec<String> = more.iter().map(|name| word(entry, name)).filter(|word| !word.is_empty()).collect();
    match (word(entry, "confirmed_by"), word(entry, "decided_by")) {
        (by, _) if by.is_empty() => {}
        (by, _) if by == "caller" => words.push("the model confirmed its own call".to_owned()),
        (by, person) if person.is_empty() => words.push(format!("confirmed by {by}")),
        (by, person) => words.push(format!("confirmed by {by} of {person}")),
    }
    if let Some(parameters) = entry.get("parameters") {
        words.push(parameters.to_string());
    }
    [time, word(entry, "event"), operation, words.join("; ")]
}

fn word(entry: &Value, name: &str) -> String {
    entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
