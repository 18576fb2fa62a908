//! Builds an engine from arguments, environment and configuration. Flags override the environment, which overrides the
//! file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
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
use crate::sources::{self, Absence, OpenSource, Plan, Plans};
use crate::state::{self, StateFiles, StoreSetting};
use crate::terminal::escape_hidden;

/// Logs to stderr: stdout belongs to results and to MCP.
pub(crate) fn logging(filter: Option<&str>) {
    let chosen = filter.unwrap_or("warn");
    let (filter, problem) = match EnvFilter::try_new(chosen) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    // The SDK logs whole messages, with everything secret in them, and an error for every request that is refused: a
    // flood of those would fill the log, and stop a server whose stderr nobody reads.
    let filter = match "rmcp=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
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
    /// Opens what the command line names, else what the configuration names, and waits for MCP servers as long as that
    /// makes sense. People are told what cannot be served.
    pub(crate) async fn open(&self, absence: Absence) -> anyhow::Result<Vec<OpenSource>> {
        let opened = self.open_at_once(absence).await?;
        wait(&opened, absence).await?;
        Ok(opened)
    }

    /// The same without waiting for MCP servers.
    pub(crate) async fn open_at_once(&self, absence: Absence) -> anyhow::Result<Vec<OpenSource>> {
        let plans = self.plan()?;
        plans.report();
        self.open_planned(plans.plans, absence).await
    }

    /// Opens what was planned, without waiting for MCP servers.
    pub(crate) async fn open_planned(&self, plans: Vec<Plan>, absence: Absence) -> anyhow::Result<Vec<OpenSource>> {
        let key = state::cursor_key(&self.config.state)?;
        // Each in a task of its own: cached definitions take a while to read, and there is more than one core.
        let mut opening = JoinSet::new();
        for (index, plan) in plans.into_iter().enumerate() {
            let key = key.clone();
            opening.spawn(async move { (index, plan.open(&key, absence).await) });
        }
        let mut opened = Vec::new();
        while let Some(one) = opening.join_next().await {
            opened.push(one.context("opening a source failed")?);
        }
        // In the order of the configuration, also of what failed.
        opened.sort_by_key(|(index, _)| *index);
        opened.into_iter().map(|(_, one)| one).collect()
    }

    /// What would be opened.
    pub(crate) fn plan(&self) -> anyhow::Result<Plans> {
        self.plan_after(&[])
    }

    /// What the gate needs to know about the sources.
    pub(crate) fn source_facts(&self) -> anyhow::Result<SourceFacts> {
        Ok(SourceFacts::new(&self.plan()?))
    }

    /// What would be opened, where these are served already.
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

/// How long clients are kept waiting when nobody knows yet what there is. Many see only the tools that are there when
/// they connect; a server that takes longer comes later all the same.
const FIRST_WAIT: Duration = Duration::from_secs(10);

/// The same when only some are not known yet.
const SHORT_WAIT: Duration = Duration::from_secs(2);

/// Waits until MCP servers have said what they offer. One of several may fail: the others are there.
pub(crate) async fn wait(opened: &[OpenSource], absence: Absence) -> anyhow::Result<()> {
    match absence {
        Absence::IsServed => {
            let awaited: Vec<_> = opened.iter().filter_map(OpenSource::unknown).collect();
            let longest = if awaited.len() == opened.len() { FIRST_WAIT } else { SHORT_WAIT };
            let waiting = futures::future::join_all(awaited.iter().map(|upstream| upstream.ready()));
            let _ = tokio::time::timeout(longest, waiting).await;
            Ok(())
        }
        Absence::Fails => check_ready(opened, |_| true).await.report(),
        Absence::IsShown => check_ready(opened, |_| true).await.report(),
        // Each has told the log.
        Absence::FailsUnlessKnown => {
            check_ready(opened, |one| one.unknown().is_some()).await.fail_if_nothing_is_there()
        }
    }
}

/// The MCP servers that did not report their operations in time.
pub(crate) struct ReadyCheck<'a> {
    missing: Vec<(&'a OpenSource, MissingReason)>,
    is_any_there: bool,
}

/// Why a server did not answer.
enum MissingReason {
    Failed(Failure),
    /// It took too long.
    Late,
}

impl MissingReason {
    /// What to say of a program that is not installed, if that is why.
    fn uninstalled_program(&self) -> Option<&str> {
        match self {
            MissingReason::Failed(failure) => match failure.reason()? {
                FailureReason::CommandNotFound { .. } => failure.cause(),
                _ => None,
            },
            MissingReason::Late => None,
        }
    }

    fn words(&self, one: &OpenSource) -> String {
        match self {
            MissingReason::Failed(failure) => describe_failure(failure),
            MissingReason::Late => crate::sources::gather::late_message(one.source.name()),
        }
    }
}

/// Asks MCP servers what they offer now, each no longer than it may take to start, and no longer than some seconds
/// where there is something to show without it.
pub(crate) async fn check_ready(opened: &[OpenSource], is_asked: impl Fn(&OpenSource) -> bool) -> ReadyCheck<'_> {
    let asked: Vec<(&OpenSource, &Arc<Upstream>)> =
        opened.iter().filter(|one| is_asked(one)).filter_map(|one| Some((one, one.upstream.as_ref()?))).collect();
    let has_more = asked.len() < opened.len() || asked.iter().any(|(one, _)| one.unknown().is_none());
    let readied = asked.iter().map(|(one, upstream)| (one.source.name().to_owned(), upstream.ready())).collect();
    let answers = gather(readied, has_more, Result::is_ok).await;
    let is_any_there = has_more || opened.is_empty() || answers.iter().flatten().any(Result::is_ok);
    let missing = asked.into_iter().zip(answers).filter_map(|((one, _), answer)| match answer {
        Some(Ok(())) => None,
        Some(Err(failure)) => Some((one, MissingReason::Failed(failure))),
        None => Some((one, MissingReason::Late)),
    });
    ReadyCheck { missing: missing.collect(), is_any_there }
}

impl ReadyCheck<'_> {
    /// Says of each that is missing why, and what is shown instead. What several say alike is said once. Fails if
    /// nothing is there.
    pub(crate) fn report(self) -> anyhow::Result<()> {
        if !self.is_any_there && self.missing.len() == 1 {
            return self.fail_if_nothing_is_there();
        }
        let mut programs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (one, missing) in &self.missing {
            match missing.uninstalled_program() {
                Some(program) => programs.entry(program.to_owned()).or_default().push(one.source.name()),
                None => eprintln!("aquifer: {}{}", escape_hidden(&missing.words(one)), shown_instead(one)),
            }
        }
        for (program, names) in &programs {
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            let sources = if names.len() == 1 { "source" } else { "sources" };
            let known = self.missing.iter().any(|(one, _)| one.unknown().is_none());
            let instead = if known { ". Showing what was cached earlier" } else { "" };
            let line = format!("aquifer: {program}; used by {sources} {}{instead}", names.join(", "));
            eprintln!("{}", escape_hidden(&line));
        }
        match self.is_any_there {
            true => Ok(()),
            false => Err(sources::UnreachableError::in_words("no source could be reached".to_owned()).into()),
        }
    }

    fn fail_if_nothing_is_there(self) -> anyhow::Result<()> {
        match self.missing.first() {
            Some((one, missing)) if !self.is_any_there => {
                Err(sources::UnreachableError::in_words(missing.words(one)).into())
            }
            _ => Ok(()),
        }
    }

    /// Why this source says nothing, if nothing is known of it from before either.
    pub(crate) fn why_unknown(&self, name: &str) -> Option<String> {
        let found = self.missing.iter().find(|(one, _)| one.source.name() == name && one.unknown().is_some());
        found.map(|(one, missing)| missing.words(one))
    }

    /// The servers that did not answer.
    pub(crate) fn names(&self) -> Vec<String> {
        self.missing.iter().map(|(one, _)| one.source.name().to_owned()).collect()
    }
}

/// What is shown of a server that did not answer.
fn shown_instead(one: &OpenSource) -> String {
    match (one.age(), one.unknown()) {
        (Some(age), _) => format!(". Showing its catalog from {age}"),
        (None, None) => ". Showing the contents of its adapter file".to_owned(),
        (None, Some(_)) => String::new(),
    }
}

/// Whether none of the sources could be asked, so that only what is known from before is shown.
pub(crate) fn is_nothing_live(opened: &[OpenSource]) -> bool {
    !opened.is_empty()
        && opened.iter().all(|one| one.upstream.as_ref().is_some_and(|upstream| !upstream.is_connected()))
}

/// Checks every section of the configuration but `[gate]` and the sources, which are checked by making them.
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
        meta: config.meta,
    };
    let (shaping, key) = (config.results.settings(), state::cursor_key(&config.state)?);
    let builder = Engine::builder(surface).settings(settings).shaping(shaping).cursor_key(key);
    let mut builder = builder.gate(safety.gate.clone()).clock(safety.clock.clone());
    if let Some(store) = &safety.shared {
        builder = builder.store(store.clone());
    }
    for one in opened {
        builder = builder.mount(one.mount());
    }
    let engine = Arc::new(builder.build()?);
    opened.iter().for_each(OpenSource::look_for);
    report_unmatched(opened);
    Ok(engine)
}

/// Says which operations the configuration names that no source has.
pub(crate) fn report_unmatched(opened: &[OpenSource]) {
    for (name, near) in sources::unmatched(opened) {
        let near = near.map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
        tracing::warn!("the configuration names an operation '{name}', which its source does not have.{near}");
    }
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
        let mut known: Vec<&str> = Profile::known_names().collect();
        known.extend(config.profile.keys().map(String::as_str));
        format!("unknown profile '{name}'. Known: {}", known.join(", "))
    })
}
