//! From what a person writes to the sources it means.
//!
//! First everything is planned: one thing written may mean several sources, and a server that makes no sense is told
//! without spoiling the others. Then each plan is opened.

mod adapter_file;
mod client_file;
mod database;
mod hidden;
mod login;
mod names;
mod naming;
mod place;
mod trust;
mod upstream;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_discovery::name::snake;
use aquifer_discovery::servers::Server;
use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::StateStore;
use aquifer_engine::{Mount, Source};
use aquifer_protocol::error::Failure;
use aquifer_protocol::suggest;
use aquifer_protocol::trust::Trust;
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Target};
use aquifer_upstream::Upstream;

use crate::cli::UpstreamArgs;
use crate::config::{self, SourceConfig};
use crate::sample;
use crate::state::Kept;
use crate::task_board::Board;

pub(crate) use adapter_file::sidecar_of;
pub(crate) use client_file::is_ourselves;

/// What happens when a source cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The command fails.
    Fails,
    /// The command fails, unless what the source offers is known from before.
    FailsUnlessKnown,
    /// It is served all the same, says so, and comes when it can.
    IsServed,
}

/// One source, before it is opened.
pub(crate) struct Plan {
    /// What it is called.
    pub(crate) name: String,
    /// What its operations begin with, if the operator said so.
    pub(crate) prefix: Option<String>,
    /// Tools that are not to be seen.
    hidden: Vec<String>,
    /// How far it is trusted.
    trust: Trust,
    /// What it was made from: a plan of the same origin is the same source.
    pub(crate) origin: Origin,
    kind: Kind,
}

/// What a source was made from.
#[derive(Clone, PartialEq)]
pub(crate) struct Origin {
    config: SourceConfig,
    server: Option<Server>,
    files: Vec<String>,
}

enum Kind {
    Demo,
    Tasks,
    /// A database, and where the names of its tables are kept.
    Database(Box<aquifer_sql::Settings>, Option<names::NamesStore>),
    Upstream(Box<aquifer_upstream::Settings>),
}

/// A source that makes no sense, and why.
pub(crate) struct Broken {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// What came of planning.
#[derive(Default)]
pub(crate) struct Plans {
    pub(crate) plans: Vec<Plan>,
    pub(crate) broken: Vec<Broken>,
    /// What is worth saying to people.
    pub(crate) remarks: Vec<String>,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
}

impl Plans {
    /// Plans what the command line names, else what the configuration names.
    pub(crate) fn make(
        targets: &[String],
        arguments: &UpstreamArgs,
        configured: &[SourceConfig],
        kept: &Kept,
    ) -> anyhow::Result<Self> {
        let named = targets.iter().map(|target| arguments.source(target));
        let mut named: Vec<SourceConfig> = named.collect::<anyhow::Result<_>>()?;
        match (arguments.command.is_empty(), named.as_mut_slice()) {
            (true, _) => {}
            // The command that a reviewed adapter is for.
            (false, [adapter]) if adapter.target.as_deref().is_some_and(adapter_file::is_adapter) => {
                arguments.start(adapter);
            }
            (false, _) => {
                let mut started = SourceConfig::default();
                arguments.start(&mut started);
                named.push(started);
            }
        }
        let chosen = if named.is_empty() { configured } else { &named };
        let mut plans = Self::default();
        for source in chosen.iter().filter(|source| !source.disabled) {
            plans.add(source, kept)?;
        }
        if plans.plans.is_empty() {
            match plans.broken.as_slice() {
                [] if chosen.is_empty() => bail!(
                    "no source. Name one (for example demo:, an mcp.json, or -- COMMAND), or list them as [[source]] in \
                     a file given with --config"
                ),
                [] => bail!("no source: every one is disabled"),
                [only] => bail!("source '{}' cannot be served: {}", only.name, only.why),
                [first, ..] => bail!(
                    "none of the sources can be served. The first, '{}': {}. See them all with aquifer validate",
                    first.name,
                    first.why
                ),
            }
        }
        plans.tell_apart();
        Ok(plans)
    }

    fn add(&mut self, source: &SourceConfig, kept: &Kept) -> anyhow::Result<()> {
        self.files.extend(source.overrides.iter().cloned());
        self.files.extend(source.adapter.iter().flat_map(|file| [file.clone(), sidecar_of(file)]));
        if source.target.is_none() && (source.command.is_some() || source.url.is_some()) {
            self.take(upstream::plan(source, kept));
            return Ok(());
        }
        let Some(written) = &source.target else {
            bail!("a [[source]] needs a target, a command or a url");
        };
        let target = config::expand(written)?;
        match target.as_str() {
            "demo:" | "demo" => self.plans.push(Plan::of(source, "shop", Kind::Demo)?),
            "tasks:" | "tasks" => self.plans.push(Plan::of(source, "tasks", Kind::Tasks)?),
            web if web.starts_with("http://") || web.starts_with("https://") => {
                let found = SourceConfig { url: Some(web.to_owned()), target: None, ..source.clone() };
                self.take(upstream::plan(&found, kept));
            }
            file if adapter_file::is_adapter(file) => {
                self.files.extend([PathBuf::from(file), sidecar_of(Path::new(file))]);
                let found = SourceConfig { adapter: Some(file.into()), target: None, ..source.clone() };
                self.take(upstream::plan(&found, kept));
            }
            file if client_file::is_client_file(file) => {
                self.files.push(PathBuf::from(file));
                client_file::add(file, source, kept, self)?;
            }
            target => match Target::parse(target) {
                Some(found) => {
                    let name = source.name.clone().unwrap_or_else(|| found.name());
                    let settings = database::settings(source, &name, found)?;
                    self.plans.push(Plan::of(source, &name, Kind::Database(Box::new(settings), None))?);
                }
                None => bail!(
                    "unknown source '{}'. This version serves: demo: (a sample shop), tasks: (the example adapter), \
                     sqlite:PATH or a path that ends in .db or .sqlite, postgres://USER@HOST/DATABASE, https://… (an MCP \
                     server), FILE.json (the MCP servers of a client), NAME-adapter.md, and -- COMMAND (an MCP server on \
                     stdio). Adapters written in Rust are served with the aquifer-server crate: see docs/adapters.md",
                    Target::without_secrets(target)
                ),
            },
        }
        Ok(())
    }

    /// Says to people what cannot be served, and why.
    pub(crate) fn tell(&self) {
        for remark in &self.remarks {
            tracing::warn!("{remark}");
        }
        for broken in &self.broken {
            eprintln!("aquifer: '{}' is left out: {}", broken.name, broken.why);
        }
    }

    fn take(&mut self, planned: Result<Plan, Broken>) {
        match planned {
            Ok(plan) => {
                self.remarks.extend(plan.remark());
                self.plans.push(plan);
            }
            Err(broken) => self.broken.push(broken),
        }
    }

    /// Whether operations get prefixes, counting those that are only broken today: names must not change with their
    /// mending.
    pub(crate) fn are_several(&self) -> bool {
        self.plans.len() + self.broken.len() > 1
    }

    /// Gives every source a name of its own, and a prefix where there are several.
    fn tell_apart(&mut self) {
        let several = self.are_several();
        let (mut names, mut prefixes) = (Vec::new(), Vec::new());
        for plan in &mut self.plans {
            plan.name = naming::unlike(&plan.name, &names, "-");
            match &mut plan.kind {
                Kind::Upstream(settings) => settings.name.clone_from(&plan.name),
                Kind::Database(settings, _) => settings.name.clone_from(&plan.name),
                Kind::Demo | Kind::Tasks => {}
            }
            names.push(plan.name.clone());
            if several && plan.prefix.is_none() {
                let prefix = naming::unlike(&naming::prefix(&plan.name), &prefixes, "_");
                prefixes.push(prefix.clone());
                plan.prefix = Some(format!("{prefix}_"));
            }
        }
    }
}

impl Plan {
    fn of(config: &SourceConfig, name: &str, kind: Kind) -> anyhow::Result<Self> {
        let name = config.name.clone().unwrap_or_else(|| name.to_owned());
        let trust = trust::of(config.trust, None).map_err(|why| anyhow::anyhow!("source '{name}': {why}"))?;
        let origin = Origin { config: config.clone(), server: None, files: Vec::new() };
        Ok(Self { name, prefix: config.prefix.clone(), hidden: Vec::new(), trust, origin, kind })
    }

    /// What is worth saying of its trust.
    fn remark(&self) -> Option<String> {
        let file = self.origin.config.adapter.as_deref()?;
        trust::remark(&self.name, file, self.trust)
    }

    /// The MCP server behind it, if there is one.
    pub(crate) fn upstream(&self) -> Option<&aquifer_upstream::Settings> {
        match &self.kind {
            Kind::Upstream(settings) => Some(settings),
            _ => None,
        }
    }

    /// What the configuration says of logging in to it.
    pub(crate) fn login(&self) -> Option<&config::LoginConfig> {
        self.origin.config.login.as_ref()
    }

    /// Opens the source.
    pub(crate) async fn open(self, key: &CursorKey, absence: Absence) -> anyhow::Result<Opened> {
        let place = self.kind.place().into();
        let (name, prefix, trust, origin) = (self.name, self.prefix, self.trust, self.origin);
        let mut absent = None;
        let source: Arc<dyn Source> = match self.kind {
            Kind::Demo => database(demo(&origin.config, &name)?, key, Absence::Fails, None).await?.0,
            Kind::Tasks => Board::default().into_adapter(&name).build().context("the task board cannot be built")?,
            Kind::Database(settings, names) => {
                let store = names.as_ref().and_then(names::NamesStore::open);
                let (database, found) = database(*settings, key, absence, store).await?;
                absent = (!found).then(|| database.clone());
                database
            }
            Kind::Upstream(settings) => {
                let upstream = Upstream::new(*settings, Arc::new(SystemClock));
                let source = hidden::hide(upstream.clone(), self.hidden);
                return Ok(Opened { source, prefix, trust, place, origin, absent, upstream: Some(upstream) });
            }
        };
        Ok(Opened { source, prefix, trust, place, origin, absent, upstream: None })
    }
}

/// A source, and what must go on for it as long as it is served.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) prefix: Option<String>,
    /// How far it is trusted.
    pub(crate) trust: Trust,
    /// What stands behind its name.
    pub(crate) place: Arc<str>,
    pub(crate) origin: Origin,
    /// A database that could not be looked into yet.
    pub(crate) absent: Option<Arc<Database>>,
    /// An MCP server, which may not have been started yet.
    pub(crate) upstream: Option<Arc<Upstream>>,
}

impl Opened {
    /// The source under the prefix it gets.
    pub(crate) fn mount(&self) -> Mount {
        let (source, prefix, place) = (self.source.clone(), self.prefix.clone(), self.place.clone());
        Mount { source, prefix, trust: Some(self.trust), place }
    }

    /// Goes on looking for a database that is not there, as long as it is served.
    pub(crate) fn look_for(&self) {
        if let Some(database) = self.absent.clone() {
            tokio::spawn(async move { database.look_until_found().await });
        }
    }

    /// The MCP server, if nobody knows yet what it offers.
    pub(crate) fn unknown(&self) -> Option<&Arc<Upstream>> {
        self.upstream.as_ref().filter(|upstream| !upstream.is_known())
    }
}

/// Operations that the configuration speaks of and none of its servers has, each with the nearest that one has. Only where
/// it is known what they have.
pub(crate) fn unmatched(opened: &[Opened]) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for one in opened {
        let config = &one.origin.config;
        let same: Vec<&Opened> = opened.iter().filter(|other| other.origin.config == *config).collect();
        let is_first = same.first().is_some_and(|first| std::ptr::eq(*first, one));
        if !is_first || one.upstream.is_none() || same.iter().any(|one| one.unknown().is_some()) {
            continue;
        }
        let offered = same.iter().flat_map(|one| one.source.offering().operations);
        let known: Vec<String> = offered.map(|operation| operation.name.to_string()).collect();
        for name in config.operations.keys() {
            let spelled = snake(name);
            if !known.contains(&spelled) {
                let near = suggest::nearest(&spelled, known.iter().map(String::as_str));
                found.push((name.clone(), near.map(str::to_owned)));
            }
        }
    }
    found
}

/// A sample shop and its support desk, in memory: what is changed in it is gone with the process.
fn demo(config: &SourceConfig, name: &str) -> anyhow::Result<aquifer_sql::Settings> {
    let memory = format!("aquifer-demo-{name}");
    let mut connection = rusqlite::Connection::open(aquifer_sql::memory_name(&memory)).context("no sample database")?;
    sample::fill(&mut connection).context("the sample database cannot be filled")?;
    // The memory is there as long as one connection is: for as long as the process runs.
    Box::leak(Box::new(connection));
    database::settings(config, name, Target::Memory(memory))
}

/// The database, and whether it could be looked into.
async fn database(
    settings: aquifer_sql::Settings,
    key: &CursorKey,
    absence: Absence,
    store: Option<Arc<dyn StateStore>>,
) -> anyhow::Result<(Arc<Database>, bool)> {
    let name = settings.name.clone();
    let database = Database::with_store(settings, key.clone(), Arc::new(SystemClock), store).map_err(told)?;
    match database.look().await {
        Ok(()) => Ok((database, true)),
        // It would not get better by waiting for it.
        Err(failure) if absence != Absence::IsServed || database.is_misconfigured() => Err(told(failure)),
        Err(failure) => {
            eprintln!("aquifer: {}; trying again until '{name}' is there", failure.message());
            Ok((database, false))
        }
    }
}

/// An MCP server that is not there, though nothing is wrong with what was written.
#[derive(Debug)]
pub(crate) struct Unreached(String);

impl Unreached {
    pub(crate) fn new(failure: Failure) -> Self {
        Self(told(failure).to_string())
    }

    /// The same of a server that was there and did not answer.
    pub(crate) fn in_words(words: String) -> Self {
        Self(words)
    }
}

impl std::fmt::Display for Unreached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreached {}

/// What a person is told who started the command: with the cause, which a caller would not see.
fn told(failure: Failure) -> anyhow::Error {
    match failure.cause() {
        Some(cause) => anyhow::anyhow!("{} ({cause})", failure.message()),
        None => anyhow::anyhow!("{}", failure.message()),
    }
}
