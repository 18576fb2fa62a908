//! Discovery bundles, read from a file or captured from a server.

use std::path::Path;

use anyhow::{Context, bail};
use aquifer_discovery::{Bundle, FileProblem, Overrides};
use aquifer_upstream::{Settings, interrogate};
use jiff::Timestamp;

use crate::cli::UpstreamArgs;
use crate::config::Config;
use crate::config::target::is_source;
use crate::setup::SourceSelection;
use crate::sources;

/// The selected server.
pub(super) fn server(
    source: Option<&str>,
    name: Option<&str>,
    upstream: &UpstreamArgs,
    config: &Config,
) -> anyhow::Result<Settings> {
    let configured = source.filter(|source| !is_source(source) && !config.source.is_empty());
    let targets: Vec<String> = source.filter(|_| configured.is_none()).map(str::to_owned).into_iter().collect();
    if configured.is_none() && targets.is_empty() && upstream.command.is_empty() {
        bail!(
            "no server given. Name one: https://…, FILE.json with --server NAME, the name of a source in ./aquifer.toml, or -- COMMAND"
        );
    }
    let mut plans = SourceSelection { targets: &targets, upstream, config }.plan()?;
    if let Some(called) = configured {
        plans.plans.retain(|plan| plan.name == called);
        anyhow::ensure!(!plans.plans.is_empty(), "the configuration has no MCP server '{called}'");
    }
    let names = plans.plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut upstreams = plans.plans.iter().filter_map(|plan| plan.upstream());
    match (upstreams.next(), upstreams.next()) {
        (Some(settings), None) => {
            let mut settings = settings.clone();
            if let Some(name) = name {
                settings.name = name.to_owned();
            }
            // A capture has to show the current state of the server, not the cache.
            settings.cache_dir = None;
            Ok(settings)
        }
        (None, _) => bail!("this is not an MCP server"),
        (Some(_), Some(_)) => bail!("there are several servers. Choose one with --server NAME: {names}"),
    }
}

/// Captures what a server offers.
pub(super) async fn capture(settings: &Settings) -> anyhow::Result<Bundle> {
    let interrogation = interrogate(settings).await.map_err(sources::UnreachableError::from_failure)?;
    Ok(interrogation.bundle(settings, now()?))
}

/// The current time, or `SOURCE_DATE_EPOCH` for reproducible output.
fn now() -> anyhow::Result<Timestamp> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
            seconds.context("SOURCE_DATE_EPOCH is not a number of seconds")
        }
        Err(_) => Timestamp::from_second(Timestamp::now().as_second()).context("cannot read the system clock"),
    }
}

/// Reads a bundle.
pub(super) fn read(path: &Path) -> anyhow::Result<Bundle> {
    let shown = path.display();
    let text = crate::files::read(path).with_context(|| format!("cannot read {shown}"))?;
    let mut bundle = Bundle::read(&text).with_context(|| format!("{shown} cannot be used"))?;
    // The file may have been edited. Decisions belong in overrides, where they are recorded.
    bundle.raise_to_evidence();
    Ok(bundle)
}

/// Reads a reviewer's decisions.
pub(super) fn overrides(path: &Path) -> anyhow::Result<Overrides> {
    let shown = path.display();
    let text = crate::files::read(path).with_context(|| format!("cannot read {shown}"))?;
    Overrides::read(&text).map_err(|problems| anyhow::anyhow!("{}", listed(path, &problems)))
}

/// Formats problems for editors and people: one per line, with its position.
pub(super) fn listed(path: &Path, problems: &[FileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("{}:{problem}", path.display())).collect();
    lines.join("\n")
}
