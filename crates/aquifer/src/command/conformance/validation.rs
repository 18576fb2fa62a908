//! Records that a source passed: the report of a run makes it `validated` for as long as its operations stay the same.

use std::path::{Path, PathBuf};

use aquifer_conformance::report::Report;
use aquifer_protocol::trust::Trust;
use clap::Parser as _;
use jiff::Timestamp;

use crate::cli::{Cli, Command, ServeArgs, choose_config};
use crate::config::Config;
use crate::safety::{Safety, SourceFacts};
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;
use crate::state::{StateFiles, Validation, ValidationKey, catalog_digest};

/// Stores the report of a run for the source that the command serves, if it granted a level. Returns a sentence for the
/// operator. Servers that are not this program have no trust level here, and neither have several sources together: a
/// run does not say which of them it tested.
pub(super) async fn record_validation(command: &[String], report: &Report) -> anyhow::Result<Option<String>> {
    if report.conformance_level == 0 {
        return Ok(None);
    }
    let Some(mut arguments) = serve_arguments(command) else { return Ok(None) };
    choose_config(&mut arguments.sources, &mut arguments.config, !arguments.upstream.command.is_empty())?;
    let config = Config::read(arguments.config.as_deref())?;
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let plans = wanted.plan()?;
    if plans.has_several() {
        let message = "The run is not recorded as a validation, because it is about several sources. Test each of them";
        return Ok(Some(message.to_owned()));
    }
    let facts = SourceFacts::new(&plans);
    let opened = wanted.open_planned(plans.plans, OnUnreachable::Fail).await?;
    setup::wait(&opened, OnUnreachable::Fail).await?;
    // The engine makes the source conceal what policy denies, as in the run.
    let _engine = setup::engine(&opened, &arguments.surface, &config, &Safety::new(&config, &facts)?)?;
    let state = StateFiles::new(&config.state)?;
    let mut recorded = None;
    for source in &opened {
        let validation = Validation {
            catalog: catalog_digest(&source.source.offering()),
            validated_at: Timestamp::from_second(Timestamp::now().as_second())?.to_string(),
            validated_by: format!("aquifer-conformance-v{}", env!("CARGO_PKG_VERSION")),
            level: report.conformance_level,
            tests_passed: report.summary.passed,
            tests_total: report.summary.total - report.summary.skipped.min(report.summary.total),
        };
        if let Some(texts) = source.adapter_texts() {
            state.store_validation(ValidationKey::Files(&texts), validation.clone())?;
        }
        state.store_validation(ValidationKey::Place(&source.place), validation)?;
        let name = source.source.name();
        let consequence = match source.trust < Trust::Accepted {
            true => format!("Once it is accepted, it is trusted as '{}'", Trust::Validated),
            false => format!("It is now trusted as '{}'", Trust::Validated),
        };
        recorded = Some(format!("The run of '{name}' is recorded. {consequence} until its operations change"));
    }
    Ok(recorded)
}

/// The arguments of `aquifer serve`, if the command is that, started from this very program.
fn serve_arguments(command: &[String]) -> Option<ServeArgs> {
    let (program, _) = command.split_first()?;
    if !is_this_program(program) {
        return None;
    }
    match Cli::try_parse_from(command).ok()?.command? {
        Command::Serve(arguments) => Some(arguments),
        _ => None,
    }
}

fn is_this_program(program: &str) -> bool {
    let Ok(own) = std::env::current_exe().and_then(|own| own.canonicalize()) else { return false };
    let is_own = |path: &Path| path.canonicalize().is_ok_and(|path| path == own);
    let path = Path::new(program);
    if path.components().count() > 1 {
        return is_own(path);
    }
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|folders| std::env::split_paths(&folders).collect()).unwrap_or_default();
    let found = folders.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    found.is_some_and(|path| is_own(&path))
}
