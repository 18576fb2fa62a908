//! `aquifer approvals`: a person's yes or no, given where no model can give it.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::bail;
use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::StateStore;
use aquifer_gate::audit::{Entry, Event};
use aquifer_gate::confirm::approvals::{self, Approval, Status};
use jiff::Timestamp;

use crate::Ending;
use crate::cli::{ApprovalsCommand, StateArgs};
use crate::config::Config;
use crate::safety::admin::Admin;
use crate::safety::{self, Place, terminal};

pub(crate) async fn run(command: ApprovalsCommand) -> anyhow::Result<Ending> {
    match command {
        ApprovalsCommand::Secret { place } => secret(&place.read()?),
        ApprovalsCommand::List { place } => {
            let (_, store, clock) = enter(&place, "Reading approvals")?;
            list(&*store, &clock).await
        }
        ApprovalsCommand::Approve { id, place } => decide(&place, &id, true).await,
        ApprovalsCommand::Deny { id, place } => decide(&place, &id, false).await,
    }
}

impl StateArgs {
    /// The configuration, with the state where the command line wants it.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        let mut config = Config::read(self.config.as_deref())?;
        if let Some(directory) = &self.state {
            // The secret would be the directory's, and the approvals somebody else's.
            if config.state.store.as_deref().is_some_and(|store| store != "sqlite") {
                bail!(
                    "--state names a directory, and state.store in the configuration another place: leave --state out"
                );
            }
            config.state.dir = Some(directory.clone());
        }
        Ok(config)
    }
}

/// Lets in a person with the secret, and opens the store that the servers use.
fn enter(place: &StateArgs, what: &str) -> anyhow::Result<(Config, Arc<dyn StateStore>, Arc<SteadyClock>)> {
    terminal::wanted(what)?;
    let config = place.read()?;
    let found = Place::of(&config.state)?;
    if found == Place::Memory {
        bail!(
            "the state is kept in the memory of the server, where no approval can reach it. Set state.store to \"sqlite\" \
             or the URL of a Redis"
        );
    }
    let Some(admin) = Admin::known(&config.state)? else {
        bail!("there is no admin secret yet: make one with 'aquifer approvals secret'");
    };
    admin.ask()?;
    let clock = safety::steady_clock();
    let store = found.open(&config.state, &clock)?;
    Ok((config, store, clock))
}

fn secret(config: &Config) -> anyhow::Result<Ending> {
    terminal::wanted("Making the admin secret")?;
    if let Some(known) = Admin::known(&config.state)? {
        let words = "There is an admin secret. Type it to replace it; if it is lost, remove admin.key from the state \
                     directory.\n";
        terminal::say(words)?;
        known.ask()?;
    }
    let secret = Admin::make(&config.state)?;
    terminal::say(&format!(
        "The admin secret, shown this once. Keep it where no agent can read it:\n\n  {secret}\n\n"
    ))?;
    Ok(Ending::Done)
}

async fn list(store: &dyn StateStore, clock: &SteadyClock) -> anyhow::Result<Ending> {
    let all = approvals::list(store, clock).await?;
    let mut out = String::new();
    for approval in &all {
        let _ = writeln!(out, "{}", described(approval));
    }
    let waiting = all.iter().filter(|approval| approval.status == Status::Pending).count();
    let _ = writeln!(out, "{waiting} of {} wait for a decision.", all.len());
    terminal::say(&out)?;
    Ok(Ending::Done)
}

/// Shows what is asked, has it said again, and does it.
async fn decide(place: &StateArgs, id: &str, yes: bool) -> anyhow::Result<Ending> {
    let (config, store, clock) = enter(place, if yes { "Approving" } else { "Denying" })?;
    // What cannot be shown cannot be decided.
    let approval = approvals::get(&*store, id, &*clock).await?;
    terminal::say(&described(&approval))?;
    let question = if yes { "Let this call pass, once? [y/N] " } else { "Refuse it? [y/N] " };
    if !terminal::yes(question)? {
        terminal::say("Nothing was done.\n")?;
        return Ok(Ending::Failure);
    }
    let audit = safety::audit(&config, store.clone(), &clock)?;
    let decided = match yes {
        true => approvals::approve(&*store, &approval.id, &*clock).await?,
        false => approvals::deny(&*store, &approval.id, &*clock).await?,
    };
    let event = if yes { Event::Approved } else { Event::Declined };
    let reason = format!("approval {} at the command line", decided.id);
    let entry = Entry::new(event).named(&decided.source, &decided.operation).reason(&reason);
    if let Err(error) = audit.record(entry).await {
        tracing::error!(%error, "the decision is in force, but not on record");
    }
    terminal::say(&match yes {
        true => {
            format!("Approved. The caller has until {} to send the request again.\n", to_the_second(decided.expires_at))
        }
        false => "Denied.\n".to_owned(),
    })?;
    Ok(Ending::Done)
}

fn described(approval: &Approval) -> String {
    let Approval { id, source, place, operation, danger, caller, message, reasons, .. } = approval;
    let Approval { params, asked_at, expires_at, status, .. } = approval;
    let mut out = format!("{id}  {status}  {operation} ({danger}) of {source}");
    if !place.is_empty() {
        let _ = write!(out, ", which is {place}");
    }
    let _ = writeln!(out, "\n  {message}");
    for param in params {
        let _ = writeln!(out, "    {param}");
    }
    for reason in reasons {
        let _ = writeln!(out, "  because {reason}");
    }
    let caller = caller.as_deref().unwrap_or("somebody unknown");
    let _ = writeln!(out, "  asked by {caller} at {}, until {}", to_the_second(*asked_at), to_the_second(*expires_at));
    out
}

fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
