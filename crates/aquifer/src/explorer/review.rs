//! Reviews the tools of MCP servers in the explorer, as `aquifer review` does in a terminal.
//!
//! A decision applies to the definition that was shown: the page sends its digest back. Examining a server takes time
//! and may start a process, so the last examination is kept for a minute, unless the catalog changes, and only one runs at
//! a time for each source.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aquifer_discovery::classify::{Subject, classify};
use aquifer_discovery::digest::pin;
use aquifer_discovery::name::kebab;
use aquifer_discovery::tool::Tool;
use aquifer_discovery::{Bundle, Overrides, visible_name};
use aquifer_engine::clock::SystemClock;
use aquifer_explorer::ApiError;
use aquifer_gate::audit::{Entry, Event};
use aquifer_upstream::{Examination, Finding, ReviewError, Settings, examine};
use futures::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::operator::{OperatorContext, parse};
use rejections::Rejections;

use crate::config::Config;
use crate::files::write;
use crate::sources::gateway::{describe_failure, pins};
use crate::sources::tool_decision;

mod rejections;

/// How long an examination is kept.
const EXAMINATION_TTL: Duration = Duration::from_secs(60);

/// How long an examination may take.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(30);

/// How many servers are examined at a time.
const MAX_CONCURRENT: usize = 4;

/// A server that can be reviewed.
struct ReviewedSource {
    name: String,
    settings: Settings,
    /// Whether its operations come from an adapter file, which has its own review.
    has_adapter: bool,
    /// The overrides that the configuration names.
    overrides: Option<PathBuf>,
}

impl ReviewedSource {
    /// The file for decisions about its tools: the one that the configuration names, otherwise one beside it.
    fn overrides_path(&self, config: &Config, bundle: &Bundle) -> PathBuf {
        let folder = config.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let default = || folder.join(format!("{}.overrides.yaml", kebab(&bundle.source.name)));
        self.overrides.clone().unwrap_or_else(default)
    }
}

/// An examination of a source.
struct Examined {
    at: Instant,
    /// The number of the engine's last change before it.
    change: u64,
    found: Arc<Examination>,
}

/// The last examination of a source. The lock is held while it is examined, so that others wait for the result.
#[derive(Default)]
struct Slot(tokio::sync::Mutex<Option<Examined>>);

/// Keeps examinations of servers for a while.
#[derive(Default)]
pub(super) struct Reviewer {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

/// A decision of the page.
#[derive(Deserialize)]
struct ReviewDecision {
    source: String,
    tool: String,
    /// The definition that was shown.
    digest: Option<String>,
    /// What happens to a definition in quarantine.
    decision: Option<Verdict>,
    category: Option<String>,
    danger: Option<String>,
    #[serde(default)]
    reviewed: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Accept,
    Reject,
}

impl Reviewer {
    /// Examines all servers.
    pub(super) async fn show(&self, context: &OperatorContext) -> Result<Value, ApiError> {
        let config = context.current_config();
        let sources = reviewed_sources(context, &config)?;
        let examined: Vec<_> = sources.iter().map(|source| self.describe(context, &config, source)).collect();
        let described: Vec<Value> = stream::iter(examined).buffered(MAX_CONCURRENT).collect().await;
        Ok(json!({ "sources": described }))
    }

    async fn describe(&self, context: &OperatorContext, config: &Config, source: &ReviewedSource) -> Value {
        let found = match self.examination(context, config, source).await {
            Ok(found) => found,
            Err(message) => {
                return json!({ "name": source.name, "quarantined": [], "undecided": [], "error": message });
            }
        };
        // What the page shows can be accepted at the command line, too.
        if let Err(error) = found.remember_shown().await {
            tracing::warn!(source = source.name, %error, "cannot remember which definitions were shown");
        }
        let rejections = Rejections::load(&*context.safety.store, &source.name).await;
        let quarantined = found.findings.iter().map(|finding| describe_finding(context, source, finding, &rejections));
        let mut shown = json!({ "name": source.name, "quarantined": quarantined.collect::<Vec<_>>(), "undecided": [] });
        let Some(fields) = shown.as_object_mut() else { return shown };
        if !source.has_adapter {
            let file = source.overrides_path(config, &found.bundle);
            let is_configured = source.overrides.is_some();
            fields.insert(
                "overrides".to_owned(),
                json!({ "path": file.display().to_string(), "is_configured": is_configured }),
            );
            match read_overrides(&file) {
                Ok(overrides) => {
                    let undecided = undecided(context, source, &found.bundle, &overrides);
                    fields.insert("undecided".to_owned(), undecided.into());
                }
                Err(message) => {
                    fields.insert("error".to_owned(), message.into());
                }
            }
        }
        shown
    }

    /// Carries out a decision.
    pub(super) async fn decide(&self, context: &OperatorContext, body: Value, person: &str) -> Result<(), ApiError> {
        let decision: ReviewDecision = parse(body)?;
        let config = context.current_config();
        let source = reviewed_sources(context, &config)?.into_iter().find(|source| source.name == decision.source);
        let source = source.ok_or_else(|| ApiError::NotFound("There is no MCP server of this name".to_owned()))?;
        let found = self.examination(context, &config, &source).await.map_err(ApiError::Unavailable)?;
        let Some(verdict) = decision.decision else {
            return self.classify(context, &config, &source, &found, &decision, person).await;
        };
        let finding = found.findings.iter().find(|finding| finding.tool == decision.tool);
        let finding =
            finding.ok_or_else(|| ApiError::Conflict("This tool is not in quarantine any more".to_owned()))?;
        if decision.digest.as_deref() != Some(finding.digest.as_str()) {
            return Err(changed());
        }
        let event = match verdict {
            Verdict::Accept => {
                let accepted = found.accept(&[finding.tool.as_str()]).await;
                // The server was asked again, so what was found before is outdated in any case.
                self.forget(&source.name).await;
                accepted.map_err(into_api_error)?;
                Event::DefinitionAccepted
            }
            Verdict::Reject => {
                Rejections::add(&*context.safety.store, &source.name, &finding.tool, &finding.digest).await?;
                Event::DefinitionRejected
            }
        };
        let tool = visible_name(&finding.tool);
        let reason = format!("tool '{tool}', definition {}, in the explorer, by {person}", finding.digest);
        context.record(Entry::new(event).operation(&source.name, &finding.operation).reason(&reason)).await;
        Ok(())
    }

    /// Writes the category or danger of a tool to the overrides file.
    async fn classify(
        &self,
        context: &OperatorContext,
        config: &Config,
        source: &ReviewedSource,
        found: &Examination,
        decision: &ReviewDecision,
        person: &str,
    ) -> Result<(), ApiError> {
        if source.has_adapter {
            let message = "This server is served from an adapter file. Change the operation in that file";
            return Err(ApiError::Unavailable(message.to_owned()));
        }
        let invalid = |error: anyhow::Error| ApiError::Invalid(error.to_string());
        let category = decision.category.as_deref().map(tool_decision::category).transpose().map_err(invalid)?;
        let danger = decision.danger.as_deref().map(tool_decision::danger).transpose().map_err(invalid)?;
        if category.is_none() && danger.is_none() && !decision.reviewed {
            return Err(ApiError::Invalid("Choose a category, a danger level, or 'reviewed'".to_owned()));
        }
        let tools = found.bundle.tools();
        let tool = tools.iter().find(|tool| tool.name == decision.tool);
        let tool = tool.ok_or_else(|| ApiError::NotFound("The server has no such tool any more".to_owned()))?;
        if decision.digest.as_ref().is_some_and(|shown| *shown != pin(tool).digest) {
            return Err(changed());
        }
        let file = source.overrides_path(config, &found.bundle);
        let mut overrides = read_overrides(&file).map_err(ApiError::Unavailable)?;
        let decided = tool_decision::decision(&found.bundle, &mut overrides, &tool.name).map_err(invalid)?;
        decided.endpoint = category.or(decided.endpoint);
        decided.danger_level = danger.or(decided.danger_level);
        decided.reviewed |= decision.reviewed;
        let operation = operation_of(&found.bundle, &tool.name);
        write::file(&file, &overrides.write(), true).map_err(|error| ApiError::Unavailable(format!("{error:#}")))?;
        let mut words = vec![format!("tool '{}'", visible_name(&tool.name))];
        words.extend(category.map(|category| format!("category {category}")));
        words.extend(danger.map(|danger| format!("danger {danger}")));
        words.push(format!("written to {}, in the explorer, by {person}", file.display()));
        let entry = Entry::new(Event::ToolClassified).operation(&source.name, &operation).reason(&words.join(", "));
        context.record(entry).await;
        Ok(())
    }

    /// The last examination of a server, or a new one. Errors are messages for the page.
    async fn examination(
        &self,
        context: &OperatorContext,
        config: &Config,
        source: &ReviewedSource,
    ) -> Result<Arc<Examination>, String> {
        let slot = self.slot(&source.name);
        let mut last = slot.0.lock().await;
        let change = *context.engine.changes().borrow();
        if let Some(examined) = &*last
            && examined.at.elapsed() < EXAMINATION_TTL
            && examined.change == change
        {
            return Ok(examined.found.clone());
        }
        let examining = examine(source.settings.clone(), pins::for_review(&config.state), Arc::new(SystemClock));
        let found = match tokio::time::timeout(EXAMINATION_TIMEOUT, examining).await {
            Ok(found) => Arc::new(found.map_err(|error| message_of(&error))?),
            Err(_) => return Err(format!("It did not answer within {} s", EXAMINATION_TIMEOUT.as_secs())),
        };
        *last = Some(Examined { at: Instant::now(), change, found: found.clone() });
        Ok(found)
    }

    fn slot(&self, source: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        slots.entry(source.to_owned()).or_default().clone()
    }

    /// Forgets all examinations, as if a minute had passed.
    #[cfg(test)]
    pub(super) fn forget_all(&self) {
        self.slots.lock().clear();
    }

    async fn forget(&self, source: &str) {
        *self.slot(source).0.lock().await = None;
    }
}

/// The MCP servers of the configuration or the command line.
fn reviewed_sources(context: &OperatorContext, config: &Config) -> Result<Vec<ReviewedSource>, ApiError> {
    let plans = context.selection(config).plan().map_err(|error| ApiError::Unavailable(format!("{error:#}")))?;
    let servers = plans.plans.iter().filter_map(|plan| {
        let (adapter, overrides) = plan.files();
        let settings = plan.upstream()?.clone();
        Some(ReviewedSource { name: plan.name.clone(), settings, has_adapter: adapter.is_some(), overrides })
    });
    Ok(servers.collect())
}

fn describe_finding(
    context: &OperatorContext,
    source: &ReviewedSource,
    finding: &Finding,
    rejections: &Rejections,
) -> Value {
    let definition = |tool: &Tool| Value::Object(tool.definition.clone());
    json!({
        "tool": finding.tool,
        "operation": served_name(context, &source.name, &finding.tool, &finding.operation),
        "state": if finding.changed.is_empty() { "new" } else { "changed" },
        "changed": finding.changed.iter().map(|part| part.as_str()).collect::<Vec<_>>(),
        "accepted": finding.accepted.as_ref().map(definition),
        "current": definition(&finding.current),
        "digest": finding.digest,
        "rejected": rejections.contains(&finding.tool, &finding.digest),
    })
}

/// The tools without enough evidence for a category.
fn undecided(context: &OperatorContext, source: &ReviewedSource, bundle: &Bundle, overrides: &Overrides) -> Vec<Value> {
    let mut reviewed = bundle.clone();
    overrides.apply(&mut reviewed);
    let tools = bundle.tools();
    let tools: HashMap<&str, &Tool> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    let open = reviewed.normalized_bundle.operations.iter().filter(|made| made.needs_review);
    open.map(|made| {
        let tool = tools.get(made.source_tool_name.as_str());
        let parameters: Vec<&str> = made.params.iter().map(|parameter| parameter.name.as_str()).collect();
        let evidence = tool.map(|tool| {
            let (name, description) = (made.operation_name.as_str(), made.description.as_str());
            classify(Subject { name, description, parameters: &parameters, annotations: tool.annotations }).evidence
        });
        json!({
            "tool": made.source_tool_name,
            "operation": served_name(context, &source.name, &made.source_tool_name, &made.operation_name),
            "category": made.endpoint.as_str(),
            "confidence": made.endpoint_confidence.as_str(),
            "danger": made.danger_level.as_str(),
            "reasons": made.review_reasons,
            "evidence": evidence.unwrap_or_default(),
            "digest": tool.map(|tool| pin(tool).digest),
        })
    })
    .collect()
}

/// The name that callers use for the operation of a tool.
fn served_name(context: &OperatorContext, source: &str, tool: &str, own_name: &str) -> String {
    let snapshot = context.engine.snapshot();
    let mut all = [snapshot.catalog(), snapshot.unlisted()].into_iter().flat_map(|catalog| catalog.operations());
    let served = all.find(|one| *one.origin.source == *source && one.origin.backing.tool() == Some(tool));
    served.map_or_else(|| own_name.to_owned(), |operation| operation.name.to_string())
}

fn operation_of(bundle: &Bundle, tool: &str) -> String {
    let made = bundle.normalized_bundle.operations.iter().find(|made| made.source_tool_name == tool);
    made.map_or_else(|| tool.to_owned(), |made| made.operation_name.clone())
}

fn read_overrides(file: &Path) -> Result<Overrides, String> {
    if !file.is_file() {
        return Ok(Overrides::default());
    }
    let shown = file.display();
    let text = crate::files::read(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let first = |problems: Vec<aquifer_discovery::FileProblem>| {
        format!("{shown}:{}", problems.first().map(ToString::to_string).unwrap_or_default())
    };
    Overrides::read(&text).map_err(first)
}

fn changed() -> ApiError {
    ApiError::Conflict("The definition has changed since it was shown. Look at it again".to_owned())
}

fn message_of(error: &ReviewError) -> String {
    match error {
        ReviewError::Unreachable(failure) => describe_failure(failure),
        other => other.to_string(),
    }
}

fn into_api_error(error: ReviewError) -> ApiError {
    match error {
        ReviewError::Changed { .. } => changed(),
        ReviewError::Unreachable(_) | ReviewError::NotShared => ApiError::Unavailable(message_of(&error)),
        ReviewError::Store(cause) => ApiError::Internal(cause),
    }
}
