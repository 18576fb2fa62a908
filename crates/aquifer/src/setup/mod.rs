//! Builds an engine from arguments, environment and configuration. Flags override the environment, which overrides the
//! file.

pub(crate) mod lifetime;
mod problems;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use aquifer_engine::event::{LogObserver, Observer};
use aquifer_engine::{Engine, Settings};
use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::error::{Failure, FailureReason};
use aquifer_protocol::limits::LimitOutOfRange;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Strictness;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::cli::{SurfaceArgs, UpstreamArgs};
use crate::config::{self, Config, ProfileConfig, SourceConfig};
use crate::safety::{Safety, SourceFacts};
use crate::sources::gateway::{Upstream, describe_failure};
use crate::sources::gather::gather;
use crate::sources::{self, OnUnreachable, OpenSource, Plan, Plans};
use crate::state::{self, StateFiles, StoreSetting};
use crate::terminal;

pub(crate) use problems::{configuration_problems, offline_rule_problems, read_configuration, unused_rule_problem};

/// Logs to stderr, because stdout is for results and MCP.
pub(crate) fn logging(filter: Option<&str>) {
    let chosen = filter.unwrap_or("warn");
    let (filter, problem) = match EnvFilter::try_new(chosen) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    // The SDK logs whole messages, including secrets, and an error for every refused request. A flood of these would
    // fill the log, and block a server whose stderr is not read.
    let filter = match "rmcp=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(terminal::LogWriter)
        .with_target(false)
        // The writer escapes colors like everything else.
        .with_ansi(false)
        .init();
    if let Some(error) = problem {
        tracing::warn!("log filter '{chosen}' is not valid ({error}); using warn");
    }
}

/// The sources that a command uses.
pub(crate) struct SourceSelection<'a> {
    pub(crate) targets: &'a [String],
    pub(crate) upstream: &'a UpstreamArgs,
    pub(crate) config: &'a Config,
}

impl SourceSelection<'_> {
    /// Opens the sources on the command line, otherwise those in the configuration, and waits for MCP servers. Reports
    /// the sources that cannot be served.
    pub(crate) async fn open(&self, on_unreachable: OnUnreachable) -> anyhow::Result<Vec<OpenSource>> {
        let opened = self.open_without_waiting(on_unreachable).await?;
        wait(&opened, on_unreachable).await?;
        Ok(opened)
    }

    /// Like `open`, without waiting for MCP servers.
    pub(crate) async fn open_without_waiting(&self, on_unreachable: OnUnreachable) -> anyhow::Result<Vec<OpenSource>> {
        let plans = self.plan()?;
        plans.report();
        self.open_planned(plans.plans, on_unreachable).await
    }

    /// Opens planned sources without waiting for MCP servers.
    pub(crate) async fn open_planned(
        &self,
        plans: Vec<Plan>,
        on_unreachable: OnUnreachable,
    ) -> anyhow::Result<Vec<OpenSource>> {
        let key = state::cursor_key(&self.config.state)?;
        // In parallel tasks, because reading cached definitions takes time.
        let mut opening = JoinSet::new();
        for (index, plan) in plans.into_iter().enumerate() {
            let key = key.clone();
            opening.spawn(async move { (index, plan.open(&key, on_unreachable).await) });
        }
        let mut opened = Vec::new();
        while let Some(source) = opening.join_next().await {
            opened.push(source.context("opening a source failed")?);
        }
        // In the order of the configuration, including failures.
        opened.sort_by_key(|(index, _)| *index);
        opened.into_iter().map(|(_, one)| one).collect()
    }

    /// Plans the sources without opening them.
    pub(crate) fn plan(&self) -> anyhow::Result<Plans> {
        self.plan_after(&[])
    }

    /// The properties of the sources that the gate depends on.
    pub(crate) fn source_facts(&self) -> anyhow::Result<SourceFacts> {
        Ok(SourceFacts::new(&self.plan()?))
    }

    /// Plans the sources, given the ones that are already served.
    pub(crate) fn plan_after(&self, served: &[OpenSource]) -> anyhow::Result<Plans> {
        let state_files = StateFiles::new(&self.config.state)?;
        let named = self.upstream.sources(self.targets)?;
        let is_configured = named.is_empty();
        let mut chosen: Vec<SourceConfig> = if is_configured { self.config.source.clone() } else { named };
        if self.upstream.read_only {
            chosen.iter_mut().for_each(|source| source.read_only = true);
        }
        let mut plans = Plans::make(&chosen, is_configured, &state_files, served)?;
        if self.config.gate.names_sources() {
            plans.refuse_numbered_names()?;
        }
        plans.files.extend(self.config.env_file.clone());
        plans.log_in(self.config.path.as_deref(), &state_files);
        plans.pin(self.config);
        Ok(plans)
    }
}

/// How long clients wait if no catalog is known yet. Many clients see only the tools that exist when they connect.
/// Servers that take longer are added later.
const FIRST_CATALOG_TIMEOUT: Duration = Duration::from_secs(10);

/// How long clients wait if only some catalogs are missing.
const PARTIAL_CATALOG_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until MCP servers have listed their tools. If some of several fail, the others are used.
pub(crate) async fn wait(opened: &[OpenSource], on_unreachable: OnUnreachable) -> anyhow::Result<()> {
    match on_unreachable {
        OnUnreachable::Serve => {
            let awaited: Vec<_> = opened.iter().filter_map(OpenSource::unknown).collect();
            let timeout = if awaited.len() == opened.len() { FIRST_CATALOG_TIMEOUT } else { PARTIAL_CATALOG_TIMEOUT };
            let waiting = futures::future::join_all(awaited.iter().map(|upstream| upstream.ready()));
            let _ = tokio::time::timeout(timeout, waiting).await;
            Ok(())
        }
        OnUnreachable::Fail => check_ready(opened, |_| true).await.report(),
        OnUnreachable::ShowCached => check_ready(opened, |_| true).await.report(),
        // The failures have been logged.
        OnUnreachable::FailUnlessCached => {
            check_ready(opened, |one| one.unknown().is_some()).await.fail_if_none_available()
        }
    }
}

/// The MCP servers that did not list their tools in time.
pub(crate) struct ReadyCheck<'a> {
    missing: Vec<(&'a OpenSource, MissingReason)>,
    is_any_available: bool,
}

/// Why a server did not answer.
enum MissingReason {
    Failed(Failure),
    /// It took too long.
    Late,
}

impl MissingReason {
    /// The program that is not installed, if that is the reason.
    fn uninstalled_program(&self) -> Option<&str> {
        match self {
            MissingReason::Failed(failure) => match failure.reason()? {
                FailureReason::CommandNotFound { .. } => failure.cause(),
                _ => None,
            },
            MissingReason::Late => None,
        }
    }

    fn describe(&self, source: &OpenSource) -> String {
        match self {
            MissingReason::Failed(failure) => describe_failure(failure),
            MissingReason::Late => crate::sources::gather::late_message(source.source.name()),
        }
    }
}

/// Waits until MCP servers have listed their tools: up to their start timeout, or a few seconds if there is something
/// to show without them.
pub(crate) async fn check_ready(opened: &[OpenSource], is_asked: impl Fn(&OpenSource) -> bool) -> ReadyCheck<'_> {
    let asked: Vec<(&OpenSource, &Arc<Upstream>)> =
        opened.iter().filter(|one| is_asked(one)).filter_map(|one| Some((one, one.upstream.as_ref()?))).collect();
    let has_more = asked.len() < opened.len() || asked.iter().any(|(one, _)| one.unknown().is_none());
    let readied = asked.iter().map(|(one, upstream)| (one.source.name().to_owned(), upstream.ready())).collect();
    let answers = gather(readied, has_more, Result::is_ok).await;
    let is_any_available = has_more || opened.is_empty() || answers.iter().flatten().any(Result::is_ok);
    let missing = asked.into_iter().zip(answers).filter_map(|((one, _), answer)| match answer {
        Some(Ok(())) => None,
        Some(Err(failure)) => Some((one, MissingReason::Failed(failure))),
        None => Some((one, MissingReason::Late)),
    });
    ReadyCheck { missing: missing.collect(), is_any_available }
}

impl ReadyCheck<'_> {
    /// Reports why each missing server is missing, and what is shown instead. Equal reasons are reported once. Fails if
    /// no source is available.
    pub(crate) fn report(self) -> anyhow::Result<()> {
        if !self.is_any_available && self.missing.len() == 1 {
            return self.fail_if_none_available();
        }
        let mut programs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (source, missing) in &self.missing {
            match missing.uninstalled_program() {
                Some(program) => programs.entry(program.to_owned()).or_default().push(source.source.name()),
                None => note!("aquifer: {}{}", missing.describe(source), describe_fallback(source)),
            }
        }
        for (program, names) in &programs {
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            let sources = if names.len() == 1 { "source" } else { "sources" };
            let is_cached = self.missing.iter().any(|(source, _)| source.unknown().is_none());
            let instead = if is_cached { ". Showing what was cached earlier" } else { "" };
            let line = format!("aquifer: {program}; used by {sources} {}{instead}", names.join(", "));
            note!("{line}");
        }
        match self.is_any_available {
            true => Ok(()),
            false => Err(sources::UnreachableError::new("no source could be reached".to_owned()).into()),
        }
    }

    fn fail_if_none_available(self) -> anyhow::Result<()> {
        match self.missing.first() {
            Some((source, missing)) if !self.is_any_available => {
                Err(sources::UnreachableError::new(missing.describe(source)).into())
            }
            _ => Ok(()),
        }
    }

    /// Why the operations of this source are unknown, unless a cached catalog is used.
    pub(crate) fn why_unknown(&self, name: &str) -> Option<String> {
        let missing =
            self.missing.iter().find(|(source, _)| source.source.name() == name && source.unknown().is_some());
        missing.map(|(source, missing)| missing.describe(source))
    }

    /// Why this source did not answer, also if a cached catalog is used.
    pub(crate) fn missing_reason(&self, name: &str) -> Option<(String, Option<&Failure>)> {
        let (source, reason) = self.missing.iter().find(|(source, _)| source.source.name() == name)?;
        let failure = match reason {
            MissingReason::Failed(failure) => Some(failure),
            MissingReason::Late => None,
        };
        Some((reason.describe(source), failure))
    }

    /// The servers that did not answer.
    pub(crate) fn names(&self) -> Vec<String> {
        self.missing.iter().map(|(one, _)| one.source.name().to_owned()).collect()
    }
}

/// Describes what is shown for a server that did not answer.
fn describe_fallback(source: &OpenSource) -> String {
    match (source.age(), source.unknown()) {
        (Some(age), _) => format!(". Showing its catalog from {age}"),
        (None, None) => ". Showing the contents of its adapter file".to_owned(),
        (None, Some(_)) => String::new(),
    }
}

/// Whether only cached catalogs are shown, because no source is live.
pub(crate) fn is_all_cached(opened: &[OpenSource]) -> bool {
    !opened.is_empty()
        && opened.iter().all(|one| one.upstream.as_ref().is_some_and(|upstream| !upstream.is_connected()))
}

/// Checks all sections of the configuration except `[gate]` and the sources, which are checked when they are built.
pub(crate) fn check(config: &Config, surface: &SurfaceArgs) -> anyhow::Result<()> {
    for (section, wrong) in [("results", config.results.check()), ("limits", config.limits.limits().check())] {
        if let Some(LimitOutOfRange { name, value, min, max }) = wrong.into_iter().next() {
            bail!("'{name}' in [{section}] is {value}; it must be from {min} to {max}");
        }
    }
    self::surface(surface, config)?;
    StoreSetting::parse(&config.state)?;
    state::check_secret(&config.state)
}

/// Builds the engine.
pub(crate) fn engine(
    opened: &[OpenSource],
    surface: &SurfaceArgs,
    config: &Config,
    safety: &Safety,
) -> anyhow::Result<Arc<Engine>> {
    engine_with_observer(opened, surface, config, safety, Arc::new(LogObserver))
}

/// Builds the engine with an observer of its own.
pub(crate) fn engine_with_observer(
    opened: &[OpenSource],
    surface: &SurfaceArgs,
    config: &Config,
    safety: &Safety,
    observer: Arc<dyn Observer>,
) -> anyhow::Result<Arc<Engine>> {
    check(config, surface)?;
    let surface = self::surface(surface, config)?;
    let defaults = Settings::default();
    let settings = Settings {
        limits: config.limits.limits(),
        strictness: if config.lenient { Strictness::Lenient } else { Strictness::Strict },
        on_confirmation: match config.batch.on_confirmation {
            Some(config::OnConfirmation::Skip) => OnConfirmation::Skip,
            Some(config::OnConfirmation::Halt) | None => OnConfirmation::Halt,
        },
        max_batch_size: config.batch.max_operations.unwrap_or(defaults.max_batch_size),
        batch_timeout: config.batch.timeout().unwrap_or(defaults.batch_timeout),
        meta: config.meta,
    };
    let (shaping, key) = (config.results.settings(), state::cursor_key(&config.state)?);
    let builder = Engine::builder(surface).settings(settings).shaping(shaping).cursor_key(key);
    let mut builder = builder.gate(safety.gate.clone()).clock(safety.clock.clone()).observer(observer);
    if let Some(store) = &safety.shared {
        builder = builder.store(store.clone());
    }
    for source in opened {
        builder = builder.mount(source.mount());
    }
    let engine = Arc::new(builder.build()?);
    opened.iter().for_each(OpenSource::retry_reflection);
    report_unmatched(opened);
    opened.iter().filter_map(OpenSource::unearned_trust).for_each(|warning| tracing::warn!("{warning}"));
    Ok(engine)
}

/// Reports operations that the configuration names and no source has.
pub(crate) fn report_unmatched(opened: &[OpenSource]) {
    for (name, near) in sources::unmatched(opened) {
        let near = near.map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
        tracing::warn!("the configuration names an operation '{name}', which its source does not have.{near}");
    }
}

/// The environment variables that change the tool surface.
pub(crate) const SURFACE_VARIABLES: [&str; 3] =
    ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX"];

/// Checks the tool surface that the configuration, the environment and the arguments ask for.
pub(crate) fn check_surface(arguments: &SurfaceArgs, config: &Config) -> anyhow::Result<()> {
    surface(arguments, config).map(drop)
}

fn surface(arguments: &SurfaceArgs, config: &Config) -> anyhow::Result<Surface> {
    let file = &config.surface;
    let mode = chosen(&arguments.mode, "MCP_AQL_ENDPOINT_MODE", &file.mode);
    let mode = mode.as_deref().map(str::parse).transpose()?.unwrap_or(Mode::Semantic);
    let profile = chosen(&arguments.profile, "MCP_AQL_ENDPOINT_PROFILE", &file.profile);
    let profile = self::profile(profile.as_deref().unwrap_or("crude"), config)?;
    let prefix = chosen(&arguments.prefix, "MCP_AQL_TOOL_PREFIX", &file.prefix).unwrap_or_default();
    Surface::new(mode, profile, &prefix).context("cannot build the tool surface")
}

fn chosen(flag: &Option<String>, variable: &str, file: &Option<String>) -> Option<String> {
    let environment = || std::env::var(variable).ok().filter(|value| !value.is_empty());
    flag.clone().or_else(environment).or_else(|| file.clone())
}

fn profile(name: &str, config: &Config) -> anyhow::Result<Profile> {
    if let Some(own) = config.profile.get(name) {
        let ProfileConfig { create, read, update, delete, execute, discovery, authorization } = own;
        let by_category = [create, read, update, delete, execute].map(String::as_str);
        return Ok(Profile::new(name, by_category, discovery.as_deref(), authorization.as_deref()));
    }
    Profile::known(name).with_context(|| {
        let mut valid: Vec<&str> = Profile::known_names().collect();
        valid.extend(config.profile.keys().map(String::as_str));
        format!("unknown profile '{name}'. Known: {}", valid.join(", "))
    })
}
