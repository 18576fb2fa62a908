//! Plans and opens the sources that a command line or a configuration names.
//!
//! Sources are planned first: one entry may stand for several sources, and an invalid one is reported without affecting
//! the others. Then each plan is opened.

mod adapter_file;
mod client_file;
mod database;
#[cfg(feature = "gateway")]
#[cfg_attr(not(feature = "rest"), path = "no_description.rs")]
pub(crate) mod description;
#[cfg(feature = "rest")]
mod description_cache;
#[cfg(feature = "rest")]
mod fetched_api;
#[cfg_attr(not(feature = "gateway"), path = "no_gateway.rs")]
pub(crate) mod gateway;
pub(crate) mod gather;
mod hidden;
mod naming;
mod own_program;
#[cfg(feature = "rest")]
mod pagination;
#[cfg_attr(not(feature = "rest"), path = "no_rest.rs")]
pub(crate) mod rest;
mod shop;
mod source_label;
mod store;
#[cfg(feature = "gateway")]
pub(crate) mod tool_decision;
mod trust;
mod unique_names;
mod unreachable_error;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use aquifer_adapter::IntoAdapter as _;
use aquifer_discovery::adapter::RateLimits;
use aquifer_discovery::servers::{Server, ServerTransport};
use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::StateStore;
use aquifer_engine::{Mount, Source};
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::suggest;
use aquifer_protocol::trust::Trust;
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Target};

use crate::config::target::{OPENAPI, is_adapter, is_client_file, is_http_url, is_openapi};
use crate::config::{self, Config, SourceConfig, StateConfig};
use crate::state::{StateFiles, ValidationKey, Validations};
use crate::task_board::Board;
use gateway::Upstream;
use unreachable_error::into_error;

pub(crate) use adapter_file::sidecar_of;
pub(crate) use naming::problem as name_problem;
pub(crate) use own_program::is_aquifer;
pub(crate) use store::INSPECT_ONLY;
pub(crate) use unique_names::NameConflict;
pub(crate) use unreachable_error::UnreachableError;

/// What to do if a source is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnUnreachable {
    Fail,
    /// Fail, unless a cached catalog exists.
    FailUnlessCached,
    /// Show the current catalog, or else the cached one with a note.
    ShowCached,
    /// Serve the source anyway and keep trying to reach it.
    Serve,
}

/// One source, before it is opened.
pub(crate) struct Plan {
    pub(crate) name: String,
    /// The prefix of its operations, if the operator chose one.
    pub(crate) prefix: Option<String>,
    /// Tools that are hidden from callers.
    hidden: Vec<String>,
    /// Its trust level.
    trust: Trust,
    /// What it was built from. Plans with equal origins are the same source.
    pub(crate) origin: Origin,
    kind: Kind,
    /// Where its state is stored.
    state: StateConfig,
}

/// What a source was built from.
#[derive(Clone, PartialEq)]
pub(crate) struct Origin {
    config: SourceConfig,
    server: Option<Server>,
    files: Vec<String>,
}

impl Origin {
    /// The texts of the files it was read from.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Its configuration. For a server in a client's file, the one that starts the same server, without the arguments,
    /// in which references are already expanded.
    pub(crate) fn as_configured(&self) -> SourceConfig {
        let source = self.config.clone();
        match self.server.as_ref().map(|server| &server.transport) {
            Some(ServerTransport::Stdio { command, cwd, .. }) => SourceConfig {
                target: None,
                command: Some(command.clone()),
                cwd: cwd.as_ref().map(PathBuf::from),
                ..source
            },
            Some(ServerTransport::Http { url, .. }) => SourceConfig { target: None, url: Some(url.clone()), ..source },
            None => source,
        }
    }

    /// Whether the operator chose the name. Servers in a client's file are named by that file.
    fn has_chosen_name(&self) -> bool {
        self.server.is_none() && self.config.name.is_some()
    }

    /// Whether the operator chose the prefix. An entry for several servers cannot set one.
    fn has_chosen_prefix(&self) -> bool {
        self.server.is_none() && self.config.prefix.is_some()
    }
}

enum Kind {
    Demo,
    Tasks,
    Database(Box<aquifer_sql::Settings>),
    Upstream(Box<gateway::Settings>),
    Rest(Box<rest::Settings>),
}

/// A source that cannot be served, with the reason.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct InvalidSource {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The result of planning.
#[derive(Default)]
pub(crate) struct Plans {
    pub(crate) plans: Vec<Plan>,
    pub(crate) broken: Vec<InvalidSource>,
    /// Remarks for the operator.
    pub(crate) remarks: Vec<String>,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// Derived names that several sources share, so that all but one get a number.
    numbered: Vec<String>,
    /// Whether they come from the configuration instead of the command line.
    is_configured: bool,
}

impl Plans {
    /// Plans the sources of a command. Sources in `served` keep their names.
    pub(crate) fn make(
        chosen: &[SourceConfig],
        is_configured: bool,
        state_files: &StateFiles,
        served: &[OpenSource],
    ) -> anyhow::Result<Self> {
        let mut plans = Self { files: files_of(chosen), is_configured, ..Self::default() };
        if let Some(name) = repeated_name(chosen) {
            return Err(NameConflict(format!("two sources have the name '{name}'. Give each a different name")).into());
        }
        for source in chosen.iter().filter(|source| !source.disabled) {
            plans.add(source, state_files)?;
        }
        if let Some(problem) = plans.plans.iter().find_map(|plan| naming::problem(&plan.name)) {
            return Err(NameConflict(format!("{problem}. Choose another name")).into());
        }
        if plans.plans.is_empty() {
            match plans.broken.as_slice() {
                [] if chosen.is_empty() => bail!(
                    "no source given. Name one (for example demo:, an mcp.json, or -- COMMAND), or list sources as [[source]] in \
                     aquifer.toml, which aquifer init can write"
                ),
                [] => bail!("no source to serve: all of them are disabled"),
                [only] => bail!("source '{}' cannot be served: {}", only.name, only.why),
                [first, ..] => bail!(
                    "none of the sources can be served. The first is '{}': {}. Run aquifer validate to see them all",
                    first.name,
                    first.why
                ),
            }
        }
        plans.find_numbered();
        plans.make_names_unique(served);
        Ok(plans)
    }

    fn add(&mut self, source: &SourceConfig, state_files: &StateFiles) -> anyhow::Result<()> {
        if source.target.is_none() && (source.command.is_some() || source.url.is_some()) {
            self.push(gateway::plan(source, state_files));
            return Ok(());
        }
        if source.target.is_none() && source.openapi.is_some() {
            self.push(rest::plan(source, state_files));
            return Ok(());
        }
        let Some(written) = &source.target else {
            bail!("a [[source]] needs a target, a command, a url or an OpenAPI description in 'openapi'");
        };
        let target = source.variables.expand(written)?;
        match target.as_str() {
            "demo:" | "demo" => self.plans.push(Plan::new(source, "shop", Kind::Demo)?),
            "tasks:" | "tasks" => self.plans.push(Plan::new(source, "tasks", Kind::Tasks)?),
            web if is_http_url(web) => {
                let resolved = SourceConfig { url: Some(web.to_owned()), target: None, ..source.clone() };
                self.push(gateway::plan(&resolved, state_files));
            }
            file if is_adapter(file) => {
                let resolved = SourceConfig { adapter: Some(file.into()), target: None, ..source.clone() };
                self.push(match rest::is_rest_adapter(file) {
                    true => rest::plan(&resolved, state_files),
                    false => gateway::plan(&resolved, state_files),
                });
            }
            description if is_openapi(description) => {
                let openapi = description.strip_prefix(OPENAPI).map(str::to_owned);
                let resolved = SourceConfig { openapi, target: None, ..source.clone() };
                self.push(rest::plan(&resolved, state_files));
            }
            file if is_client_file(file) => {
                client_file::add(file, source, state_files, self)?;
            }
            target => match Target::parse(target) {
                Some(target) => {
                    let name = source.name.clone().unwrap_or_else(|| target.name());
                    let settings = database::settings(source, &name, target)?;
                    self.plans.push(Plan::new(source, &name, Kind::Database(Box::new(settings)))?);
                }
                None => bail!(
                    "unknown source '{}'. A source is one of: demo: (the sample shop), tasks: (the example adapter), \
                     sqlite:PATH or a path that ends in .db or .sqlite, postgres://USER@HOST/DATABASE, https://… (an MCP \
                     server), openapi:FILE or openapi:https://… (an HTTP API), FILE.json (the MCP servers of a client), NAME-adapter.md, and -- COMMAND (an MCP server on \
                     stdio). To serve an adapter written in Rust, use the aquifer-adapter crate: see docs/adapters.md",
                    Target::without_secrets(target)
                ),
            },
        }
        Ok(())
    }

    /// Fails if a database file on the command line does not exist. A file in a configuration may appear later, and
    /// must not affect the other sources.
    pub(crate) fn require_named_files(&self) -> anyhow::Result<()> {
        for plan in self.plans.iter().filter(|_| !self.is_configured) {
            if let Kind::Database(settings) = &plan.kind
                && let Target::Sqlite(path) = &settings.target
            {
                let why = match path.metadata() {
                    Ok(_) => continue,
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        "permission denied: this user may not enter the directory of its file"
                    }
                    Err(_) => "its file does not exist",
                };
                bail!("Source '{}' is unavailable: {why} ({})", plan.name, path.display());
            }
        }
        Ok(())
    }

    /// Sets for every source where its state is stored, and for MCP servers which definitions are accepted.
    pub(crate) fn pin(&mut self, config: &Config) {
        self.plans.iter_mut().for_each(|plan| plan.state = config.state.clone());
        self.pin_definitions(config);
    }

    /// Reports the sources that cannot be served.
    pub(crate) fn report(&self) {
        for remark in &self.remarks {
            tracing::warn!("{remark}");
        }
        for broken in &self.broken {
            let left_out = format!("aquifer: skipping '{}': {}", broken.name, broken.why);
            note!("{left_out}");
        }
    }

    fn push(&mut self, planned: Result<Plan, InvalidSource>) {
        match planned {
            Ok(plan) => {
                self.remarks.extend(plan.remark());
                self.plans.push(plan);
            }
            Err(broken) => self.broken.push(broken),
        }
    }

    /// Whether operations get prefixes. Invalid sources count, so that names do not change when they are corrected.
    pub(crate) fn has_several(&self) -> bool {
        self.plans.len() + self.broken.len() > 1
    }
}

impl Plan {
    fn new(config: &SourceConfig, name: &str, kind: Kind) -> anyhow::Result<Self> {
        let name = config.name.clone().unwrap_or_else(|| name.to_owned());
        let trust =
            trust::resolve(config.trust, None, None).map_err(|why| anyhow::anyhow!("source '{name}': {why}"))?;
        let origin = Origin { config: config.clone(), server: None, files: Vec::new() };
        let (prefix, state) = (config.prefix.clone(), StateConfig::default());
        Ok(Self { name, prefix, hidden: Vec::new(), trust, origin, kind, state })
    }

    /// A remark about its trust level.
    fn remark(&self) -> Option<String> {
        let file = self.origin.config.adapter.as_deref()?;
        trust::remark(&self.name, file, self.trust)
    }

    /// The MCP server behind it, if there is one.
    pub(crate) fn upstream(&self) -> Option<&gateway::Settings> {
        match &self.kind {
            Kind::Upstream(settings) => Some(settings),
            _ => None,
        }
    }

    /// Where it may send something without a person, as the operator says.
    pub(crate) fn known_destinations(&self) -> &[String] {
        &self.origin.config.known_destinations
    }

    /// The limits that an adapter file declares.
    pub(crate) fn rate_limits(&self) -> Option<&RateLimits> {
        match &self.kind {
            Kind::Upstream(settings) => gateway::rate_limits(settings),
            Kind::Rest(settings) => rest::rate_limits(settings),
            Kind::Demo | Kind::Tasks | Kind::Database(_) => None,
        }
    }

    /// The adapter's file and the operator's decisions, if there are any.
    pub(crate) fn files(&self) -> (Option<PathBuf>, Option<PathBuf>) {
        (self.origin.config.adapter.clone(), self.origin.config.overrides.clone())
    }

    /// The login settings in the configuration.
    pub(crate) fn login(&self) -> Option<&config::LoginConfig> {
        self.origin.config.login.as_ref()
    }

    /// Opens the source.
    pub(crate) async fn open(self, key: &CursorKey, on_unreachable: OnUnreachable) -> anyhow::Result<OpenSource> {
        let place: Arc<str> = self.kind.label().into();
        let reports = self.reports(&place);
        let (name, prefix, trust, origin) = (self.name, self.prefix, self.trust, self.origin);
        let mut absent = None;
        let source: Arc<dyn Source> = match self.kind {
            Kind::Demo => {
                let memory = shop::fill(&name)?;
                let settings = database::settings(&origin.config, &name, Target::Memory(memory.clone()))?;
                shop::open(settings, &memory, key).await?
            }
            Kind::Tasks => {
                let board =
                    Board::default().into_adapter().named(&name).build().context("the task board cannot be built")?;
                hidden::hide(board, Vec::new(), origin.config.read_only)
            }
            Kind::Database(settings) => {
                let store = match store::is_inspection(on_unreachable) {
                    true => store::open_for_inspection(&self.state),
                    false => store::open(&self.state),
                };
                let (database, found) = database(*settings, key, on_unreachable, Some(store)).await?;
                absent = (!found).then(|| database.clone());
                database
            }
            Kind::Upstream(settings) => {
                let (upstream, source) = gateway::open(*settings, &self.state, on_unreachable).await;
                let source = hidden::hide(source, self.hidden, origin.config.read_only);
                return Ok(OpenSource {
                    source,
                    prefix,
                    trust,
                    place,
                    reports,
                    origin,
                    absent,
                    upstream: Some(upstream),
                });
            }
            Kind::Rest(settings) => {
                let source = rest::open(*settings, &origin.config, &self.state, on_unreachable).await?;
                hidden::hide(source, self.hidden, origin.config.read_only)
            }
        };
        Ok(OpenSource { source, prefix, trust, place, reports, origin, absent, upstream: None })
    }

    /// The reports of conformance runs of what is here. Without a usable state there are none, which is reported where
    /// the state is needed.
    fn reports(&self, place: &str) -> Arc<Validations> {
        let files = StateFiles::new(&self.state).ok();
        Arc::new(files.map(|files| files.validations(ValidationKey::Place(place))).unwrap_or_default())
    }
}

/// An open source, with the tasks that run as long as it is served.
#[derive(Clone)]
pub(crate) struct OpenSource {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) prefix: Option<String>,
    /// Its trust level.
    pub(crate) trust: Trust,
    /// A label for the database or server, without secrets.
    pub(crate) place: Arc<str>,
    /// The reports of conformance runs of what is at this place.
    pub(crate) reports: Arc<Validations>,
    pub(crate) origin: Origin,
    /// A database that could not be reflected yet.
    pub(crate) absent: Option<Arc<Database>>,
    /// An MCP server, which may not have been started yet.
    pub(crate) upstream: Option<Arc<Upstream>>,
}

impl OpenSource {
    /// The source with its prefix.
    pub(crate) fn mount(&self) -> Mount {
        let (source, prefix, place) = (self.source.clone(), self.prefix.clone(), self.place.clone());
        Mount { source, prefix, trust: Some(self.trust), place, evidence: Some(self.reports.clone()) }
    }

    /// A warning if its operator calls it `validated` and no report does. A source whose operations are unknown cannot be
    /// compared yet.
    pub(crate) fn unearned_trust(&self) -> Option<String> {
        if self.absent.is_some() || self.unknown().is_some() {
            return None;
        }
        trust::unearned(self.source.name(), self.origin.config.trust, &self.source.offering(), &self.reports)
    }

    /// The texts of its adapter file and the sidecar, if it has them.
    pub(crate) fn adapter_texts(&self) -> Option<Vec<String>> {
        adapter_file::read(self.origin.config.adapter.as_deref()?).ok().map(|(_, texts)| texts)
    }

    /// Whether it has this prefix. `None` equals an empty prefix.
    pub(crate) fn has_prefix(&self, prefix: Option<&str>) -> bool {
        self.prefix.as_deref().unwrap_or_default() == prefix.unwrap_or_default()
    }

    /// Keeps trying to reach an unavailable database, as long as it is served.
    pub(crate) fn retry_reflection(&self) {
        if let Some(database) = &self.absent {
            tokio::spawn(Database::reflect_with_retry(Arc::downgrade(database)));
        }
    }

    /// The age of its cached catalog, as text.
    pub(crate) fn age(&self) -> Option<String> {
        self.source.status().catalog_age.map(ago)
    }

    /// The MCP server, if its tools are not known yet.
    pub(crate) fn unknown(&self) -> Option<&Arc<Upstream>> {
        self.upstream.as_ref().filter(|upstream| !upstream.is_known())
    }
}

/// Formats an age.
pub(crate) fn ago(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// The configured name of a source. Ignored for client files, which name their own servers.
pub(crate) fn given_name(source: &SourceConfig) -> Option<&str> {
    let is_named = !source.disabled && !source.target.as_deref().is_some_and(is_client_file);
    source.name.as_deref().filter(|_| is_named)
}

/// The first name that two sources share.
pub(crate) fn repeated_name(configured: &[SourceConfig]) -> Option<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in configured.iter().filter_map(given_name) {
        if names.contains(&name) {
            return Some(name);
        }
        names.push(name);
    }
    None
}

/// The files that sources are read from.
pub(crate) fn files_of(configured: &[SourceConfig]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for source in configured.iter().filter(|source| !source.disabled) {
        files.extend(source.overrides.iter().cloned());
        files.extend(source.adapter.iter().flat_map(|file| [file.clone(), sidecar_of(file)]));
        files.extend(rest::files(source));
        // Targets that cannot be expanded are reported when the source is planned.
        let target = source.target.as_deref().and_then(|target| source.variables.expand(target).ok());
        match target.as_deref() {
            Some(web) if is_http_url(web) => {}
            Some(file) if is_adapter(file) => files.extend([file.into(), sidecar_of(Path::new(file))]),
            Some(description) if is_openapi(description) => {
                let openapi = description.strip_prefix(OPENAPI).map(str::to_owned);
                files.extend(rest::files(&SourceConfig { openapi, overlays: Vec::new(), ..source.clone() }));
            }
            Some(file) if is_client_file(file) => files.push(file.into()),
            _ => {}
        }
    }
    files
}

/// Operations that the configuration names and its servers do not have, each with a suggestion. Servers whose
/// operations are unknown are skipped.
pub(crate) fn unmatched(opened: &[OpenSource]) -> Vec<(String, Option<String>)> {
    let mut unknown = Vec::new();
    for source in opened {
        let config = &source.origin.config;
        let same: Vec<&OpenSource> = opened.iter().filter(|other| other.origin.config == *config).collect();
        let is_first = same.first().is_some_and(|first| std::ptr::eq(*first, source));
        if !is_first || source.upstream.is_none() || same.iter().any(|one| one.unknown().is_some()) {
            continue;
        }
        let offered = same.iter().flat_map(|one| one.source.offering().operations);
        let operations: Vec<String> = offered.map(|operation| operation.name.to_string()).collect();
        for name in config.operations.keys() {
            let spelled = snake_identifier(name);
            if !operations.contains(&spelled) {
                let near = suggest::nearest(&spelled, operations.iter().map(String::as_str));
                unknown.push((name.clone(), near.map(str::to_owned)));
            }
        }
    }
    unknown
}

/// Opens the database and returns whether its schema could be read.
async fn database(
    settings: aquifer_sql::Settings,
    key: &CursorKey,
    on_unreachable: OnUnreachable,
    store: Option<Arc<dyn StateStore>>,
) -> anyhow::Result<(Arc<Database>, bool)> {
    let name = settings.name.clone();
    let database = Database::with_store(settings, key.clone(), Arc::new(SystemClock), store).map_err(into_error)?;
    match database.reflect().await {
        Ok(()) => Ok((database, true)),
        // Waiting would not fix it.
        Err(failure) if on_unreachable != OnUnreachable::Serve || database.is_misconfigured() => {
            Err(into_error(failure))
        }
        Err(failure) => {
            note!("aquifer: {}; retrying until '{name}' is available", failure.message());
            Ok((database, false))
        }
    }
}
