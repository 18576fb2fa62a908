//! `aquifer doctor`: checks the configuration, its sources and this machine, and says for each problem what to do.
//!
//! Every check returns findings. None of them calls an operation or changes anything: state is not created, made private,
//! brought up to date or written to. What cannot be avoided: an expired login is renewed, a Redis notes the time, and
//! SQLite creates the files by which processes that read a database take turns.

mod access;
#[cfg_attr(not(feature = "gateway"), path = "no_clients.rs")]
mod clients;
mod clock;
mod configuration;
mod network;
mod programs;
mod source_advice;
mod sources;
mod state;

use aquifer_engine::clock::{Clock as _, SystemClock};
use serde::Serialize;

use super::json;
use super::table::count;
use crate::CommandOutcome;
use crate::cli::DoctorArgs;
use crate::config::{Config, StateAccess};
use crate::terminal;
use sources::SourceFindings;

/// What a check found.
#[derive(Debug, Serialize)]
struct Finding {
    status: Status,
    /// What was checked: a file, a source, a directory.
    subject: String,
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// It works, but somebody should know.
    Note,
    Problem,
}

impl Finding {
    fn ok(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: Status::Ok, subject: subject.into(), message: message.into(), advice: None }
    }

    fn note(subject: impl Into<String>, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { status: Status::Note, advice: Some(advice.into()), ..Self::ok(subject, message) }
    }

    fn problem(subject: impl Into<String>, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { status: Status::Problem, advice: Some(advice.into()), ..Self::ok(subject, message) }
    }
}

/// The findings about one topic.
#[derive(Debug, Serialize)]
struct Section {
    topic: &'static str,
    findings: Vec<Finding>,
}

pub(crate) async fn run(arguments: DoctorArgs) -> anyhow::Result<CommandOutcome> {
    let (mut config, text, findings) = configuration::check(&arguments.place);
    let mut sections = vec![Section { topic: "configuration", findings }];
    let mut defaults = Config::default();
    config.iter_mut().chain([&mut defaults]).for_each(|config| config.state.access = StateAccess::Inspect);
    // Without a valid configuration, the state and the machine can still be checked.
    let effective = config.as_ref().unwrap_or(&defaults);
    let (state, last_use) = state::check(&effective.state).await;
    let is_state_usable = state.iter().all(|finding| finding.status != Status::Problem);
    sections.push(Section { topic: "state", findings: state });
    sections.push(Section { topic: "clock", findings: clock::check(SystemClock.now(), last_use) });
    if let Some(config) = config.as_ref().filter(|config| config.path.is_some()) {
        sections.push(Section { topic: "audit", findings: state::check_audit(config).await });
        sections.push(Section { topic: "network", findings: network::check(config).await });
        let unchecked = |why: &str| SourceFindings { sources: vec![Finding::ok("sources", why)], rules: Vec::new() };
        let found = match (arguments.offline, is_state_usable) {
            (false, true) => sources::check(config, &text).await,
            (true, _) => unchecked("not checked, because of --offline"),
            // Their catalogs and logins are kept there.
            (false, false) => unchecked("not checked until the state can be used"),
        };
        sections.push(Section { topic: "sources", findings: found.sources });
        let rules = found.rules.into_iter().chain(state::check_admin(config));
        sections.push(Section { topic: "rules", findings: rules.collect() });
    }
    sections.push(Section { topic: "clients", findings: clients::check() });
    sections.push(Section { topic: "versions", findings: programs::check().await });
    sections.retain(|section| !section.findings.is_empty());
    match arguments.json {
        true => json::print(&serde_json::to_string(&sections)?)?,
        false => print(&sections)?,
    }
    let is_healthy = problems(&sections) == 0;
    Ok(if is_healthy { CommandOutcome::Done } else { CommandOutcome::Failure })
}

fn problems(sections: &[Section]) -> usize {
    let findings = sections.iter().flat_map(|section| &section.findings);
    findings.filter(|finding| finding.status == Status::Problem).count()
}

fn print(sections: &[Section]) -> anyhow::Result<()> {
    let mut text = String::new();
    for Section { topic, findings } in sections {
        text.push_str(&format!("{topic}\n"));
        for Finding { status, subject, message, advice } in findings {
            let status = match status {
                Status::Ok => "ok     ",
                Status::Note => "note   ",
                Status::Problem => "PROBLEM",
            };
            text.push_str(&format!("  {status}  {subject}: {message}\n"));
            if let Some(advice) = advice {
                text.push_str(&format!("           {advice}\n"));
            }
        }
    }
    let problems = problems(sections);
    let summary =
        if problems == 0 { "No problems found.".to_owned() } else { format!("{}.", count(problems, "problem")) };
    text.push_str(&format!("\n{summary}"));
    terminal::print_line(&text)
}
