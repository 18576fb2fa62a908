//! `aquifer serve`: sources as MCP-AQL, on stdio or HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use aquifer_engine::Engine;
use aquifer_server::{HttpError, HttpServer, HttpSettings, serve_stdio};

use crate::Ending;
use crate::cli::{HttpArgs, ServeArgs};
use crate::config::{Config, HttpConfig};
use crate::lifetime;
use crate::safety::Safety;
use crate::setup::{self, Wanted};
use crate::sources::Absence;
use crate::watch::Watched;

pub(crate) async fn run(arguments: ServeArgs) -> anyhow::Result<Ending> {
    let config = Config::read(arguments.config.as_deref())?;
    let wanted = Wanted { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let files = wanted.plan()?.files;
    let opened = wanted.open(Absence::IsServed).await?;
    let safety = Safety::new(&config)?;
    let engine = setup::engine(&opened, &arguments.surface, &config, &safety)?;
    let ServeArgs { sources: targets, http, config: path, upstream, access, .. } = arguments;
    let (address, http) = (http.or(config.http.address), config.http.clone());
    let watched = Watched { targets, upstream, path, config, opened, files };
    let ending = match address {
        None => on_stdio(engine, Some(watched)).await,
        Some(address) => {
            on_http(engine, Some(watched), address, &access, &http, |url| {
                eprintln!("aquifer speaks MCP-AQL at {url}");
            })
            .await
        }
    };
    safety.close().await;
    ending
}

pub(crate) async fn on_stdio(engine: Arc<Engine>, watched: Option<Watched>) -> anyhow::Result<Ending> {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        eprintln!("aquifer waits for an MCP client on stdin. People want --http ADDR, or Ctrl-C to leave.");
    }
    let stop = lifetime::until_told_to_stop()?;
    lifetime::keep_up(&engine, &stop)?;
    if let Some(watched) = watched {
        watched.keep(engine.clone(), stop.clone());
    }
    serve_stdio(engine, stop).await?;
    Ok(Ending::Done)
}

pub(crate) async fn on_http(
    engine: Arc<Engine>,
    watched: Option<Watched>,
    address: SocketAddr,
    access: &HttpArgs,
    config: &HttpConfig,
    ready: impl FnOnce(&str),
) -> anyhow::Result<Ending> {
    let mut settings = HttpSettings::new(address);
    settings.allowed_hosts = [config.allowed_hosts.as_slice(), access.allow_hosts.as_slice()].concat();
    settings.allowed_origins = [config.allowed_origins.as_slice(), access.allow_origins.as_slice()].concat();
    settings.most_sessions = config.most_sessions.unwrap_or(settings.most_sessions);
    settings.max_unread_bytes = config.max_unread_bytes.unwrap_or(settings.max_unread_bytes);
    if let Some(seconds) = config.write_timeout_seconds {
        settings.write_timeout = Duration::from_secs(seconds.get().into());
    }
    let stop = lifetime::until_told_to_stop()?;
    lifetime::keep_up(&engine, &stop)?;
    allow_descriptors();
    if let Some(watched) = watched {
        watched.keep(engine.clone(), stop.clone());
    }
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
        eprintln!("Warning: {bound} can be reached from other machines, and nobody is asked who they are.");
    }
    // Nobody can connect to "any address"; from this machine, loopback is the way.
    let reached = if bound.ip().is_unspecified() { format!("127.0.0.1:{}", bound.port()) } else { bound.to_string() };
    ready(&format!("http://{reached}/mcp"));
    server.serve(stop).await;
    Ok(Ending::Done)
}

/// What many connections need. Systems give a program few unasked, and more if it asks.
const DESCRIPTORS: u64 = 8_192;

fn allow_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let given = getrlimit(Resource::Nofile);
    let wanted = given.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if given.current.is_some_and(|current| current < wanted) {
        let more = Rlimit { current: Some(wanted), maximum: given.maximum };
        if let Err(cause) = setrlimit(Resource::Nofile, more) {
            tracing::warn!(%cause, "the system gives no more descriptors: fewer connections than allowed may be possible");
        }
    }
}
