//! `aquifer login` and `logout`: get a person's consent in a browser and store the login, or delete it.

use std::io::BufRead;
use std::time::Duration;

use anyhow::{Context, bail};
use aquifer_upstream::{LoginAttempt, LogoutOutcome, Settings, Transport};
use tokio::sync::mpsc;

use crate::CommandOutcome;
use crate::cli::{LoginArgs, LogoutArgs, RemoteArgs, UpstreamArgs, default_config};
use crate::config::target::is_source;
use crate::config::{Config, LoginConfig};
use crate::setup::SourceSelection;
use crate::system::open_browser;

pub(crate) async fn run(arguments: LoginArgs) -> anyhow::Result<CommandOutcome> {
    let settings = server(&arguments.remote)?;
    let scopes: Vec<String> =
        arguments.scopes.iter().flat_map(|scopes| scopes.split_whitespace()).map(str::to_owned).collect();
    let logged_in = async {
        let attempt = LoginAttempt::start(&settings, &scopes).await?;
        note!("{} asks for your consent. Open this address in a browser:\n\n  {}\n", attempt.issuer(), attempt.url());
        if !arguments.no_browser && open_browser(attempt.url()) {
            note!("Opening a browser.");
        }
        note!(
            "Waiting for the login. If the browser runs on another machine, paste the address it is redirected to here."
        );
        attempt.finish(Duration::from_secs(arguments.timeout), pasted()).await
    };
    match logged_in.await {
        Ok(logged_in) => {
            let scopes = if logged_in.scopes.is_empty() {
                String::new()
            } else {
                format!(" for {}", logged_in.scopes.join(" "))
            };
            note!("Logged in to '{}'{scopes}.", settings.name);
            if !logged_in.renews {
                note!("This login cannot be refreshed. Log in again when it expires.");
            }
            Ok(CommandOutcome::Done)
        }
        Err(failure) => {
            note!("aquifer: login to '{}' failed: {failure}", settings.name);
            Ok(CommandOutcome::Failure)
        }
    }
}

pub(crate) async fn forget(arguments: LogoutArgs) -> anyhow::Result<CommandOutcome> {
    let settings = server(&arguments.remote)?;
    let name = &settings.name;
    match aquifer_upstream::logout(&settings).await? {
        LogoutOutcome::NotLoggedIn => note!("There is no login for '{name}'."),
        LogoutOutcome::Removed => {
            note!("The login for '{name}' was deleted. It was not revoked: its tokens are valid until they expire.");
        }
        LogoutOutcome::Revoked => note!("The login for '{name}' was deleted and revoked."),
    }
    Ok(CommandOutcome::Done)
}

/// The selected server: a source in the configuration by name, or a target as in other commands.
fn server(arguments: &RemoteArgs) -> anyhow::Result<Settings> {
    let server = &arguments.server;
    let usual = || default_config().filter(|_| !is_source(server));
    let config = Config::read(arguments.config.clone().or_else(usual).as_deref())?;
    let is_target =
        server.contains("://") || [".json", ".jsonc", ".json5", ".md"].iter().any(|end| server.ends_with(end));
    let none = UpstreamArgs { servers: arguments.server_name.iter().cloned().collect(), ..UpstreamArgs::default() };
    if !config.source.is_empty() {
        let plans = SourceSelection { targets: &[], upstream: &none, config: &config }.plan()?;
        let is_meant = |settings: &&Settings| match &settings.transport {
            Transport::Http { url, .. } if is_target => url == server,
            _ => settings.name == *server,
        };
        let meant = plans.plans.iter().find(|plan| plan.upstream().is_some_and(|settings| is_meant(&settings)));
        if let Some((settings, plan)) = meant.and_then(|plan| Some((plan.upstream()?, plan))) {
            secret_is_there(plan.login(), settings)?;
            return Ok(settings.clone());
        }
        if let Some(broken) = plans.broken.iter().find(|broken| broken.name == *server) {
            bail!("'{server}' cannot be served: {}", broken.why);
        }
        let names: Vec<&str> =
            plans.plans.iter().filter(|plan| plan.upstream().is_some()).map(|plan| plan.name.as_str()).collect();
        if !is_target {
            bail!("the configuration has no MCP server '{server}'. It has: {}", names.join(", "));
        }
    }
    if !is_target {
        bail!(
            "'{server}' is neither a URL nor a file. If it is the name of a source, name its configuration with --config FILE"
        );
    }
    let targets = [server.clone()];
    let plans = SourceSelection { targets: &targets, upstream: &none, config: &config }.plan()?;
    let mut upstreams = plans.plans.iter().filter_map(|plan| plan.upstream());
    match (upstreams.next(), upstreams.next()) {
        (Some(settings), None) => Ok(settings.clone()),
        (None, _) => bail!("this is not an MCP server"),
        (Some(_), Some(_)) => bail!("there are several servers. Choose one with --server NAME"),
    }
}

fn secret_is_there(configured: Option<&LoginConfig>, settings: &Settings) -> anyhow::Result<()> {
    let Some(name) = configured.and_then(|login| login.client_secret_env.as_deref()) else { return Ok(()) };
    let Some(login) = &settings.login else { return Ok(()) };
    let secret = login.client_secret.as_deref().filter(|value| !value.is_empty());
    secret.map(|_| ()).with_context(|| format!("set the environment variable {name}, which holds the client's secret"))
}

/// Reads typed lines until the receiver is dropped.
fn pasted() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    // A separate thread, because a blocking read must not keep the process from exiting.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
