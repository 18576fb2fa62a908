//! The sources of the configuration: whether they are there, answer, and accept the login, and whether the rules of the
//! configuration apply to something that they have.

use aquifer_query::CursorKey;
use aquifer_sql::Target;

use super::{Finding, source_advice};
use crate::cli::UpstreamArgs;
use crate::command::validate::ReachableSources;
use crate::config::{Config, SourceConfig};
use crate::safety::SourceFacts;
use crate::setup::{self, SourceSelection};
use crate::sources::{NameConflict, OnUnreachable, OpenSource, Plans};

/// The findings about the sources, and about the rules.
#[derive(Default)]
pub(super) struct SourceFindings {
    pub(super) sources: Vec<Finding>,
    pub(super) rules: Vec<Finding>,
}

/// `text` is the text of the configuration.
pub(super) async fn check(config: &Config, text: &str) -> SourceFindings {
    let plans = match plan(config) {
        Ok(plans) => plans,
        Err(error) => return SourceFindings { sources: explain(config, &error), ..SourceFindings::default() },
    };
    let facts = SourceFacts::new(&plans);
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    for broken in plans.broken {
        findings.push(unusable(subject(&broken.name), configured(config, &broken.name), broken.why));
        unknown.push(broken.name);
    }
    // No data is read, so this key never encrypts a cursor.
    let key = CursorKey::new([0; 32]);
    let mut opened = Vec::new();
    for plan in plans.plans {
        let (name, source) = (plan.name.clone(), plan.origin.as_configured());
        match plan.open(&key, OnUnreachable::Fail).await {
            Ok(source) => opened.push(source),
            Err(error) => {
                findings.push(unusable(subject(&name), Some(&source), format!("{error:#}")));
                unknown.push(name);
            }
        }
    }
    let asked = setup::check_ready(&opened, |_| true).await;
    for source in &opened {
        let name = source.source.name();
        findings.push(match asked.missing_reason(name) {
            Some((why, failure)) => {
                let advice = failure.and_then(|failure| source_advice::for_failure(name, failure));
                let advice = advice.unwrap_or_else(|| source_advice::for_source(&source.origin.as_configured(), &why));
                Finding::problem(subject(name), why, advice)
            }
            None => answers(source),
        });
        let problems = source.source.status().setting_problems;
        findings.extend(
            problems.into_iter().map(|why| Finding::problem(subject(name), why, source_advice::CORRECT_TABLES)),
        );
    }
    // A cached catalog or an adapter file is sufficient to check the rules.
    let without: Vec<String> = asked.names().into_iter().filter(|name| asked.why_unknown(name).is_some()).collect();
    opened.retain(|one| !without.iter().any(|name| name == one.source.name()));
    unknown.extend(without);
    let rules = check_rules(config, text, ReachableSources { opened, unknown, facts });
    SourceFindings { sources: findings, rules }
}

fn plan(config: &Config) -> anyhow::Result<Plans> {
    SourceSelection { targets: &[], upstream: &UpstreamArgs::default(), config }.plan()
}

/// Why nothing can be served. Every source that is to blame is named, not only the first.
fn explain(config: &Config, error: &anyhow::Error) -> Vec<Finding> {
    if error.is::<NameConflict>() {
        return vec![Finding::problem("sources", format!("{error:#}"), "Give each source a name of its own")];
    }
    let enabled = config.source.iter().zip(1..).filter(|(source, _)| !source.disabled);
    let findings: Vec<Finding> = enabled
        .filter_map(|(source, number)| {
            let error = plan(&Config { source: vec![source.clone()], ..config.clone() }).err()?;
            let subject = source.name.as_deref().map_or_else(|| format!("source {number}"), subject);
            let why = format!("{error:#}");
            let why = why.split_once(" cannot be served: ").map_or(why.as_str(), |(_, why)| why);
            Some(unusable(subject, Some(source), why.to_owned()))
        })
        .collect();
    if findings.is_empty() {
        let advice = "Add a [[source]] to the configuration, or enable one: see docs/configuration.md";
        return vec![Finding::problem("sources", format!("{error:#}"), advice)];
    }
    findings
}

fn subject(name: &str) -> String {
    format!("source '{name}'")
}

fn unusable(subject: String, source: Option<&SourceConfig>, why: String) -> Finding {
    let advice = source.map(|source| source_advice::for_source(source, &why));
    let advice = advice.unwrap_or_else(|| "Check its settings in the configuration".to_owned());
    Finding::problem(subject, why, advice)
}

/// The configuration of a source by its name, or the only one without a name, which then has a derived one.
fn configured<'c>(config: &'c Config, name: &str) -> Option<&'c SourceConfig> {
    let named = config.source.iter().find(|source| source.name.as_deref() == Some(name));
    let mut unnamed = config.source.iter().filter(|source| source.name.is_none() && !source.disabled);
    named.or_else(|| unnamed.next().filter(|_| unnamed.next().is_none()))
}

/// A source that answers, unless it has nothing to answer with.
fn answers(source: &OpenSource) -> Finding {
    let subject = subject(source.source.name());
    let configured = source.origin.as_configured();
    let target = configured.target.and_then(|target| configured.variables.expand(&target).ok());
    match target.and_then(|target| Target::parse(&target)) {
        Some(Target::Sqlite(path)) if path.metadata().is_ok_and(|found| found.len() == 0) => {
            let message = format!("its file is empty, so it has no tables ({})", path.display());
            Finding::problem(subject, message, "Check the path, or create the tables")
        }
        Some(_) => {
            let answers = std::iter::once(format!("answers ({})", source.place));
            Finding::ok(subject, answers.chain(source.source.status().notes).collect::<Vec<_>>().join("; "))
        }
        None => Finding::ok(subject, format!("answers ({})", source.place)),
    }
}

/// The rules that apply to nothing. Most often, a name in them is misspelled.
fn check_rules(config: &Config, text: &str, reached: ReachableSources) -> Vec<Finding> {
    if !config.gate.has_rules() {
        return Vec::new();
    }
    let shown = config.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    let unknown = reached.unknown.clone();
    match reached.rule_problems(config, text) {
        Ok(problems) if problems.is_empty() && unknown.is_empty() => {
            vec![Finding::ok("rules", "each applies to an operation")]
        }
        Ok(problems) => {
            let findings = problems.into_iter().map(|problem| {
                let advice = "Correct the names in the rule. aquifer introspect shows the operations and their types";
                Finding::problem(
                    format!("{shown}:{}", problem.line),
                    problem.message,
                    problem.suggestion.unwrap_or(advice.to_owned()),
                )
            });
            let mut findings: Vec<Finding> = findings.collect();
            if !unknown.is_empty() {
                let sources = unknown.join(", ");
                findings
                    .push(Finding::ok("rules", format!("those for {sources} not checked, because it does not answer")));
            }
            findings
        }
        Err(error) => vec![Finding::problem("rules", format!("{error:#}"), "Correct the configuration")],
    }
}
