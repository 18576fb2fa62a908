//! Checks the rules of a configuration against the operations of its sources.
//!
//! An unreachable source is not an error in the configuration. Rules that may apply to it are reported as not checked.

use std::path::Path;

use aquifer_discovery::FileProblem;
use aquifer_gate::policy::UnusedRule;
use aquifer_protocol::error::Code;
use aquifer_query::CursorKey;

use super::FileReport;
use crate::cli::{SurfaceArgs, UpstreamArgs};
use crate::config::Config;
use crate::safety::{self, Safety, SourceFacts};
use crate::setup::{self, SourceSelection, unused_rule_problem};
use crate::sources::{NameConflict, OnUnreachable, OpenSource};

/// Adds every rule without effect to the report.
pub(super) async fn check(path: &Path, text: &str, report: &mut FileReport) {
    let config = match Config::read(Some(path)) {
        Ok(config) if config.gate.has_rules() => config,
        Ok(config) => return check_databases(config, report).await,
        Err(_) => return,
    };
    let reached = match open(&config, report).await {
        Ok(reached) => reached,
        Err(error) if error.is::<NameConflict>() => {
            let (code, message) = (Code::SchemaInvalidName, error.to_string());
            let (path, suggestion) = ("source".to_owned(), None);
            report.problems.push(FileProblem { code, path, line: 1, column: 1, message, suggestion });
            return;
        }
        Err(error) => {
            report.warnings.push(format!("the rules were not checked: {error:#}"));
            return;
        }
    };
    warn_about(&reached.opened, report);
    match reached.rule_problems(&config, text) {
        Ok(problems) => report.problems.extend(problems),
        Err(error) => report.warnings.push(format!("the rules were not checked: {error:#}")),
    }
}

/// Adds what the operator should know about databases. Without rules, it does not matter whether they can be reached.
async fn check_databases(mut config: Config, report: &mut FileReport) {
    config.source.retain(|source| source.target.is_some());
    let mut unreached =
        FileReport { kind: report.kind, summary: String::new(), problems: Vec::new(), warnings: Vec::new() };
    if !config.source.is_empty()
        && let Ok(reached) = open(&config, &mut unreached).await
    {
        warn_about(&reached.opened, report);
    }
}

fn warn_about(opened: &[OpenSource], report: &mut FileReport) {
    for source in opened {
        let status = source.source.status();
        let notes = status.notes.into_iter().chain(status.setting_problems);
        report.warnings.extend(notes.map(|note| format!("source '{}': {note}", source.source.name())));
    }
}

/// The sources of a configuration.
pub(crate) struct ReachableSources {
    pub(crate) opened: Vec<OpenSource>,
    /// The names of those that cannot be reached.
    pub(crate) unknown: Vec<String>,
    pub(crate) facts: SourceFacts,
}

impl ReachableSources {
    /// Every rule of the configuration without effect.
    pub(crate) fn rule_problems(mut self, config: &Config, text: &str) -> anyhow::Result<Vec<FileProblem>> {
        self.unknown.extend(safety::unknown_sources(&self.opened));
        let unused = find(config, &self)?;
        Ok(unused.iter().map(|unused| unused_rule_problem(unused, text)).collect())
    }
}

async fn open(config: &Config, report: &mut FileReport) -> anyhow::Result<ReachableSources> {
    let wanted = SourceSelection { targets: &[], upstream: &UpstreamArgs::default(), config };
    let plans = wanted.plan()?;
    let facts = SourceFacts::new(&plans);
    let (mut opened, mut unknown) = (Vec::new(), Vec::new());
    let mut missing = |name: String, why: &str| {
        report.warnings.push(format!("source '{name}' cannot be reached, so its rules were not checked: {why}"));
        unknown.push(name);
    };
    for broken in plans.broken {
        missing(broken.name, &broken.why);
    }
    // No data is read, so this key never encrypts a cursor.
    let key = CursorKey::new([0; 32]);
    for plan in plans.plans {
        let name = plan.name.clone();
        match plan.open(&key, OnUnreachable::Fail).await {
            Ok(source) => opened.push(source),
            Err(error) => missing(name, &format!("{error:#}")),
        }
    }
    let asked = setup::check_ready(&opened, |_| true).await;
    let without: Vec<(String, String)> =
        asked.names().into_iter().filter_map(|name| asked.why_unknown(&name).map(|why| (name, why))).collect();
    // A cached catalog or an adapter file is sufficient.
    opened.retain(|one| !without.iter().any(|(name, _)| name == one.source.name()));
    without.into_iter().for_each(|(name, why)| missing(name, &why));
    Ok(ReachableSources { opened, unknown, facts })
}

fn find(config: &Config, reached: &ReachableSources) -> anyhow::Result<Vec<UnusedRule>> {
    let mut config = config.clone();
    // No cursor is handed out, so no key is created in the state directory.
    config.state.cursor_secret = Some("not used for any cursor".to_owned());
    let safety = Safety::for_inspection(&config, &reached.facts)?;
    let engine = setup::engine(&reached.opened, &SurfaceArgs::default(), &config, &safety)?;
    Ok(safety::find_unused(&engine, &safety.gate, &reached.unknown))
}
