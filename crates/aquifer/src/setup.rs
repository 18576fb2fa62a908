//! From arguments, environment and configuration to an engine: a flag beats the environment, which beats the file.

use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::{Engine, Settings};
use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Strictness;
use tracing_subscriber::EnvFilter;

use crate::cli::SurfaceArgs;
use crate::config::{self, Config, ProfileConfig, SourceConfig};
use crate::sources::{self, Absence, Opened};
use crate::state;

/// Logs to stderr: stdout belongs to results and to MCP.
pub(crate) fn logging(filter: Option<&str>) {
    let chosen = filter.unwrap_or("warn");
    let (filter, problem) = match EnvFilter::try_new(chosen) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    // The SDK logs whole messages, with everything secret in them.
    let filter = match "rmcp=error".parse() {
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

/// A source and the prefix the operator gave it.
pub(crate) struct Mount {
    pub(crate) opened: Opened,
    pub(crate) prefix: Option<String>,
}

/// Opens what the command line names, else what the configuration names.
pub(crate) async fn mounts(targets: &[String], config: &Config, absence: Absence) -> anyhow::Result<Vec<Mount>> {
    let named: Vec<SourceConfig> = targets.iter().map(|target| SourceConfig::of(target)).collect();
    let chosen = if named.is_empty() { &config.source } else { &named };
    if chosen.is_empty() {
        bail!("no source. Name one (for example demo:), or list them as [[source]] in a file given with --config");
    }
    let key = state::cursor_key(&config.state)?;
    let mut mounts = Vec::new();
    for source in chosen {
        mounts.push(Mount { opened: sources::open(source, &key, absence).await?, prefix: source.prefix.clone() });
    }
    Ok(mounts)
}

/// Builds the engine.
pub(crate) fn engine(mounts: Vec<Mount>, surface: &SurfaceArgs, config: &Config) -> anyhow::Result<Arc<Engine>> {
    let surface = self::surface(surface, config)?;
    let defaults = Settings::default();
    let settings = Settings {
        limits: config.limits.limits(),
        strictness: if config.lenient { Strictness::Lenient } else { Strictness::Strict },
        on_confirmation: match config.batch.on_confirmation {
            Some(config::OnConfirmation::Skip) => OnConfirmation::Skip,
            Some(config::OnConfirmation::Halt) | None => OnConfirmation::Halt,
        },
        longest_batch: config.batch.longest.unwrap_or(defaults.longest_batch),
        meta: config.meta,
    };
    let mut builder = Engine::builder(surface).settings(settings);
    let mut absent = Vec::new();
    for mount in mounts {
        absent.extend(mount.opened.absent);
        builder = match mount.prefix {
            Some(prefix) => builder.source_prefixed(mount.opened.source, &prefix),
            None => builder.source(mount.opened.source),
        };
    }
    let engine = Arc::new(builder.build()?);
    for database in absent {
        tokio::spawn(async move { database.look_until_found().await });
    }
    Ok(engine)
}

fn surface(arguments: &SurfaceArgs, config: &Config) -> anyhow::Result<Surface> {
    let file = &config.surface;
    let mode = chosen(&arguments.mode, "MCP_AQL_ENDPOINT_MODE", &file.mode);
    let mode = mode.as_deref().map(str::parse).transpose()?.unwrap_or(Mode::Semantic);
    let profile = chosen(&arguments.profile, "MCP_AQL_ENDPOINT_PROFILE", &file.profile);
    let profile = self::profile(profile.as_deref().unwrap_or("crude"), config)?;
    let prefix = chosen(&arguments.prefix, "MCP_AQL_TOOL_PREFIX", &file.prefix).unwrap_or_default();
    Surface::new(mode, profile, &prefix).context("the surface cannot be made")
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
