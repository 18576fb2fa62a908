//! `aquifer serve`: serves sources as MCP-AQL over stdio or HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use aquifer_engine::Engine;
use aquifer_engine::event::LogObserver;
use aquifer_explorer::CallFeed;
use aquifer_server::{HttpError, HttpServer, HttpSettings, serve_stdio};

use crate::CommandOutcome;
use crate::cli::{HttpArgs, ServeArgs, choose_config};
use crate::config::Config;
use crate::explorer::popup;
use crate::explorer::serve::{self as explorer_settings, ExplorerSetup, LinkPrinting};
use crate::explorer::{ExplorerOperator, OperatorContext};
use crate::reload::Reloader;
use crate::reload::watch::{self, WatchedFiles};
use crate::safety::{Safety, SourceFacts};
use crate::setup::lifetime;
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;

pub(crate) async fn run(mut arguments: ServeArgs) -> anyhow::Result<CommandOutcome> {
    let starts_command = !arguments.upstream.command.is_empty();
    choose_config(&mut arguments.sources, &mut arguments.config, starts_command)?;
    let watched = WatchedFiles::new(arguments.config.as_deref());
    let (config, text) = Config::read_with_text(arguments.config.as_deref())?;
    let config = arguments.confirmation.apply_to(config);
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let plans = wanted.plan()?;
    plans.require_named_files()?;
    let facts = SourceFacts::new(&plans);
    let safety = Arc::new(Safety::new(&config, &facts)?);
    Safety::notices(&config, config.path.is_some()).iter().for_each(|notice| tracing::warn!("{notice}"));
    plans.report();
    let (files, broken) = (plans.files, plans.broken);
    let opened = wanted.open_planned(plans.plans, OnUnreachable::Serve).await?;
    setup::wait(&opened, OnUnreachable::Serve).await?;
    let feed = CallFeed::default();
    let observer = Arc::new(feed.observer(LogObserver));
    let engine = setup::engine_with_observer(&opened, &arguments.surface, &config, &safety, observer)?;
    let unused = crate::safety::report_unused(&engine, &safety.gate, &opened);
    let ServeArgs { sources: targets, http, config: path, upstream, access, confirmation, surface } = arguments;
    let explorer = ExplorerSetup {
        operator: ExplorerOperator::new(OperatorContext {
            engine: engine.clone(),
            safety: safety.clone(),
            config: config.clone(),
            path: path.clone(),
            targets: targets.clone(),
            upstream: upstream.clone(),
            confirmation,
            surface: surface.clone(),
            http,
        }),
        feed,
        safety: safety.clone(),
        link: LinkPrinting::Terminal,
    };
    let (address, settings) = (http.or(config.http.address), config.clone());
    let (gate, safety) = (safety.gate.clone(), safety);
    let reloader = Reloader {
        engine: engine.clone(),
        safety: safety.clone(),
        gate,
        targets,
        upstream,
        confirmation,
        surface,
        path,
        text,
        config,
        opened,
        broken,
        facts,
        files,
        unused,
    };
    let watched = Some((watched, reloader));
    let ending = match address {
        None => on_stdio(engine, watched, &settings, explorer).await,
        Some(address) => {
            let explorer = explorer_settings::is_served(&settings.http, &access, address).then_some(explorer);
            on_http(engine, watched, address, &access, &settings, explorer, |served| {
                note!("aquifer serves MCP-AQL at {}", served.mcp);
                if let Some(explorer) = &served.explorer {
                    note!("{explorer}");
                }
            })
            .await
        }
    };
    safety.close().await;
    ending
}

pub(crate) async fn on_stdio(
    engine: Arc<Engine>,
    watched: Option<(WatchedFiles, Reloader)>,
    config: &Config,
    explorer: ExplorerSetup,
) -> anyhow::Result<CommandOutcome> {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        note!(
            "aquifer is waiting for an MCP client on stdin. To serve over HTTP, use --http ADDR. Press Ctrl-C to stop."
        );
    }
    let stop = lifetime::shutdown_token()?;
    lifetime::refresh_on_change(&engine, &stop);
    watch::spawn(&engine, watched, &stop)?;
    popup::start(engine.clone(), explorer, config, stop.clone());
    let ended = serve_stdio(engine, stop.clone()).await;
    stop.cancel();
    ended?;
    Ok(CommandOutcome::Done)
}

/// Where a server can be reached.
pub(crate) struct ServedAddresses {
    /// The address for MCP clients.
    pub(crate) mcp: String,
    /// The sentence that says where the explorer is, if it is served.
    pub(crate) explorer: Option<String>,
}

pub(crate) async fn on_http(
    engine: Arc<Engine>,
    watched: Option<(WatchedFiles, Reloader)>,
    address: SocketAddr,
    access: &HttpArgs,
    config: &Config,
    explorer: Option<ExplorerSetup>,
    ready: impl FnOnce(&ServedAddresses),
) -> anyhow::Result<CommandOutcome> {
    let http = &config.http;
    let mut settings = HttpSettings::new(address);
    settings.allowed_hosts = [http.allowed_hosts.as_slice(), access.allow_hosts.as_slice()].concat();
    settings.allowed_origins = [http.allowed_origins.as_slice(), access.allow_origins.as_slice()].concat();
    settings.max_sessions = http.max_sessions.unwrap_or(settings.max_sessions);
    settings.max_unread_bytes = http.max_unread_bytes.unwrap_or(settings.max_unread_bytes);
    if let Some(seconds) = http.write_timeout_seconds {
        settings.write_timeout = Duration::from_secs(seconds.get().into());
    }
    settings.pages = explorer.as_ref().map(|explorer| explorer.router(&engine));
    let stop = lifetime::shutdown_token()?;
    lifetime::refresh_on_change(&engine, &stop);
    watch::spawn(&engine, watched, &stop)?;
    crate::system::raise_descriptor_limit();
    let opened_by = engine.clone();
    let server = match HttpServer::bind(engine, settings).await {
        Ok(server) => server,
        Err(taken @ HttpError::Listen(..)) => {
            let advice = "choose another address with --http, for example --http 127.0.0.1:0 for any free port";
            return Err(taken).context(advice);
        }
        Err(cause) => return Err(cause.into()),
    };
    let bound = server.address();
    if !bound.ip().is_loopback() {
        note!("Warning: {bound} can be reached from other machines, and callers are not authenticated.");
    }
    // Clients cannot connect to an unspecified address; from this machine, loopback works.
    let reached = if bound.ip().is_unspecified() { format!("127.0.0.1:{}", bound.port()) } else { bound.to_string() };
    let base = format!("http://{reached}");
    if let Some(explorer) = &explorer {
        explorer.safety.approval_pages.set_base_url(&base);
    }
    let announcement = match &explorer {
        Some(explorer) => Some(explorer.announcement(&base).await?),
        None => None,
    };
    if let Some(explorer) = explorer.filter(|_| bound.ip().is_loopback()) {
        popup::start(opened_by, explorer, config, stop.clone());
    }
    ready(&ServedAddresses { mcp: format!("{base}/mcp"), explorer: announcement });
    server.serve(stop).await;
    Ok(CommandOutcome::Done)
}
