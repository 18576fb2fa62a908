//! The audit log: its newest entries, and whether it was modified.

use std::path::PathBuf;
use std::str::FromStr;

use aquifer_gate::audit::read::{EntryFilter, EntryPage, EntryQuery, read_files, read_store};
use aquifer_gate::audit::{self, Heads, Report};
use axum::Json;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ExplorerState;
use crate::error::ApiError;
use crate::{AuditFiles, Explorer};

/// How many entries a page has, unless the request says otherwise.
const DEFAULT_LIMIT: usize = 100;

/// Maximum number of entries of a page.
const MAX_LIMIT: usize = 1_000;

/// Which entries the page wants. An empty text is a field of a form that was left empty.
#[derive(Debug, Deserialize)]
pub(super) struct AuditParams {
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    caller: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    request: String,
    #[serde(default)]
    approval: String,
    #[serde(default)]
    limit: String,
    #[serde(default)]
    before: String,
}

impl AuditParams {
    fn into_query(self) -> Result<EntryQuery, ApiError> {
        let text = |text: String| (!text.is_empty()).then_some(text);
        let filter = EntryFilter {
            from: parse("from", &self.from)?,
            to: parse("to", &self.to)?,
            caller: text(self.caller),
            source: text(self.source),
            operation: text(self.operation),
            event: text(self.event),
            result: text(self.outcome),
            request_id: text(self.request),
            approval_id: text(self.approval),
        };
        let limit = parse("limit", &self.limit)?.unwrap_or(DEFAULT_LIMIT);
        Ok(EntryQuery { filter, limit: limit.clamp(1, MAX_LIMIT), before: parse("before", &self.before)? })
    }
}

/// Parses a parameter. Empty text is `None`.
fn parse<T: FromStr>(name: &str, text: &str) -> Result<Option<T>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| ApiError::Invalid(format!("The parameter '{name}' is not valid")))
}

#[derive(Serialize)]
pub(super) struct EntryList {
    entries: Vec<Box<RawValue>>,
    /// Where the next page begins.
    next: Option<String>,
}

/// Entries as they were written, newest first.
pub(super) async fn list(
    State(explorer): ExplorerState,
    Query(params): Query<AuditParams>,
) -> Result<Json<EntryList>, ApiError> {
    let EntryPage { entries, next } = read(&explorer, params.into_query()?).await?;
    let entries = entries.into_iter().filter_map(|line| RawValue::from_string(line).ok()).collect();
    Ok(Json(EntryList { entries, next: next.map(|next| next.to_string()) }))
}

/// Reads from the files if there are any: the store holds the same entries, and is slower.
async fn read(explorer: &Explorer, query: EntryQuery) -> Result<EntryPage, ApiError> {
    let AuditFiles { directory, is_in_store } = explorer.operator.audit_files();
    if let Some(directory) = existing(directory).await? {
        return Ok(run_blocking(move || read_files(&directory, &query)).await??);
    }
    match is_in_store {
        true => Ok(read_store(&*explorer.store, &query).await?),
        false => Ok(EntryPage::default()),
    }
}

/// Verifies everything that was written, as `aquifer audit verify` does.
pub(super) async fn verify(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    let verified = verify_all(&explorer).await?;
    let is_intact = verified.iter().all(|place| place.report.is_intact());
    let reports: Vec<Value> = verified.iter().map(VerifiedPlace::to_json).collect();
    Ok(Json(json!({ "intact": is_intact, "reports": reports })))
}

/// What the verification of one place found.
struct VerifiedPlace {
    place: String,
    report: Report,
}

impl VerifiedPlace {
    fn to_json(&self) -> Value {
        json!({
            "place": self.place,
            "text": self.report.to_string().trim_end(),
            "intact": self.report.is_intact(),
        })
    }
}

async fn verify_all(explorer: &Explorer) -> Result<Vec<VerifiedPlace>, ApiError> {
    let AuditFiles { directory, is_in_store } = explorer.operator.audit_files();
    // Heads are read first. Entries written in the meantime then follow the head, which is not an error.
    let heads = Heads::load(&*explorer.store).await?;
    let mut reports = Vec::new();
    if let Some(directory) = existing(directory).await? {
        let place = directory.display().to_string();
        let known = heads.clone();
        let report = run_blocking(move || audit::verify(&[directory], Some(&known))).await??;
        reports.push(VerifiedPlace { place, report });
    }
    if is_in_store {
        let report = audit::verify_store(&*explorer.store, &heads).await?;
        reports.push(VerifiedPlace { place: "state store".to_owned(), report });
    }
    Ok(reports)
}

/// The directory, if something was written to it.
async fn existing(directory: Option<PathBuf>) -> Result<Option<PathBuf>, ApiError> {
    let Some(directory) = directory else { return Ok(None) };
    run_blocking(move || directory.is_dir().then_some(directory)).await
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::Internal(error.to_string()))
}
