//! `aquifer approvals`: lets a person approve or deny calls through a channel that models cannot use.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::StateStore;
use aquifer_gate::audit::{Audit, Entry, Event};
use aquifer_gate::confirm::approvals::{
    self, Approval, ApprovalError, MAX_REASON_CHARS, PausedCaller, ReviewedApproval, Status, escape, wrap_text,
};
use aquifer_gate::destination::{self, KnownDestination, Remember, Scope};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::table::count;
use crate::CommandOutcome;
use crate::cli::{ApprovalsCommand, NextTime, StateArgs, default_config};
use crate::config::Config;
use crate::safety;
use crate::safety::admin::Admin;
use crate::state::{self, StoreLocation};
use crate::terminal::{self, pager};

/// The question about a call whose destinations are not remembered.
const ONCE: &str = "Allow this call once? [y/N] ";

/// Who decides here: the person with the admin secret.
const DECIDED_BY: &str = "admin (command line)";

pub(crate) async fn run(command: ApprovalsCommand) -> anyhow::Result<CommandOutcome> {
    match command {
        ApprovalsCommand::Secret { place } => secret(&place.read()?),
        ApprovalsCommand::List { json, place } => {
            terminal::require_input("Reading approvals")?;
            let (_, store, clock) = open_store(&place)?;
            list(&*store, &clock, json).await
        }
        ApprovalsCommand::Show { id, json, place } => {
            terminal::require_input("Reading approvals")?;
            let (_, store, clock) = open_store(&place)?;
            show(&*store, &clock, &id, json).await
        }
        ApprovalsCommand::Approve { id, next_time, place } => {
            // The output has to be a terminal, too, so that the person sees what is approved.
            terminal::require("Approving")?;
            approve(&place, &id, next_time).await
        }
        ApprovalsCommand::Destinations { json, place } => {
            terminal::require_input("Reading destinations")?;
            let (_, store, _) = open_store(&place)?;
            list_destinations(&*store, json).await
        }
        ApprovalsCommand::Forget { ids, all, place } => {
            terminal::require("Forgetting destinations")?;
            forget_destinations(&place, (!all).then_some(&ids)).await
        }
        ApprovalsCommand::Resume { place } => {
            terminal::require("Ending a pause")?;
            resume(&place).await
        }
        ApprovalsCommand::Deny { id, reason, place } => {
            terminal::require("Denying")?;
            deny(&place, &id, &reason.unwrap_or_default()).await
        }
    }
}

impl StateArgs {
    /// The configuration file that is read, if there is one.
    pub(crate) fn config_path(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| default_config().filter(|_| self.state.is_none()))
    }

    /// Fails if `--state` names a directory that does not exist: without this, a mistyped name looks like state in which
    /// nothing has happened yet.
    pub(crate) fn require_directory(&self) -> anyhow::Result<()> {
        match self.state.as_deref().filter(|directory| !directory.exists()) {
            Some(directory) => bail!("the state directory {} does not exist. Check --state", directory.display()),
            None => Ok(()),
        }
    }

    /// Reads the configuration and applies `--state`.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        let mut config = Config::read(self.config_path().as_deref())?;
        if let Some(directory) = &self.state {
            // The secret belongs to the directory, but approvals would go to another store.
            if config.state.store.as_deref().is_some_and(|store| store != "sqlite") {
                bail!(
                    "--state cannot be used here: state.store in the configuration names another store. Leave out --state"
                );
            }
            config.state.dir = Some(directory.clone());
        }
        Ok(config)
    }
}

/// Asks for the admin secret and opens the store that the servers use.
pub(super) fn open_store(place: &StateArgs) -> anyhow::Result<(Config, Arc<dyn StateStore>, Arc<SteadyClock>)> {
    let config = place.read()?;
    let location = StoreLocation::find(&config.state)?;
    if location == StoreLocation::Memory {
        bail!(
            "the server keeps its state in memory, where this command cannot reach it. Set state.store to \"sqlite\" or to a \
             Redis URL"
        );
    }
    place.require_directory()?;
    let Some(admin) = Admin::load(&config.state)? else {
        bail!("there is no admin secret yet. Create one with 'aquifer approvals secret'");
    };
    admin.ask()?;
    if let StoreLocation::File(file) = &location
        && !file.exists()
    {
        bail!("no server has used this state yet: {} does not exist", file.display());
    }
    let clock = state::steady_clock();
    let store = location.open(&config.state, &clock)?;
    Ok((config, store, clock))
}

fn secret(config: &Config) -> anyhow::Result<CommandOutcome> {
    terminal::require("Creating the admin secret")?;
    if let Some(admin) = Admin::load(&config.state)? {
        let words = "There is already an admin secret. Type it to replace it. If you lost it, remove admin.key from the state \
                     directory.\n";
        terminal::print(words)?;
        admin.ask()?;
    }
    let secret = Admin::create(&config.state)?;
    terminal::print(&format!(
        "This is the admin secret. It is shown only once; keep it where no agent can read it:\n\n  {secret}\n\n"
    ))?;
    Ok(CommandOutcome::Done)
}

async fn list(store: &dyn StateStore, clock: &SteadyClock, is_json: bool) -> anyhow::Result<CommandOutcome> {
    let all = approvals::list(store, clock).await?;
    let paused = approvals::paused(store).await?;
    if is_json {
        terminal::print(&ascii_json(&json!({ "approvals": all, "paused": paused })))?;
        return Ok(CommandOutcome::Done);
    }
    let mut out = String::new();
    for approval in &all {
        out.push_str(&describe(approval));
        let size = match (approval.parameter_count, approval.call_bytes) {
            (0, _) => "no parameters".to_owned(),
            (parameters, bytes) => format!("{}, {}", count(parameters, "parameter"), count(bytes, "byte")),
        };
        let _ = writeln!(out, "  {size}: 'aquifer approvals show {}' shows the call\n", approval.id);
    }
    let waiting = all.iter().filter(|approval| approval.status == Status::Pending).count();
    if !paused.is_empty() {
        let _ = writeln!(out, "{}'aquifer approvals resume' ends the pause.\n", describe_paused(&paused));
    }
    let _ = writeln!(out, "{waiting} of {} waiting for a decision.", count(all.len(), "request"));
    terminal::print(&out)?;
    Ok(CommandOutcome::Done)
}

/// Prints an approval with its whole call.
async fn show(store: &dyn StateStore, clock: &SteadyClock, id: &str, is_json: bool) -> anyhow::Result<CommandOutcome> {
    let reviewed = approvals::get(store, id, clock).await?;
    terminal::print(&match is_json {
        true => ascii_json(&json!({
            "approval": reviewed.approval(),
            "call": reviewed.call(),
            "preview": reviewed.preview().map(|preview| &preview.text),
        })),
        false => {
            let width = std::io::stdout().is_terminal().then(|| terminal::size().1);
            render_call(&reviewed, width).join("\n") + "\n"
        }
    })?;
    Ok(CommandOutcome::Done)
}

/// Shows the whole call, asks for confirmation, and approves it.
async fn approve(place: &StateArgs, id: &str, next_time: NextTime) -> anyhow::Result<CommandOutcome> {
    let (config, store, clock) = open_store(place)?;
    let (remember, question) = match next_time {
        NextTime::Known => (Remember::Destinations, "Allow this call, and later ones to the same destinations? [y/N] "),
        NextTime::Domain => {
            (Remember::Domains, "Allow this call, and later ones to anyone at the same domains? [y/N] ")
        }
        NextTime::Ask => (Remember::Nothing, ONCE),
    };
    let reviewed = approvals::get(&*store, id, &*clock).await?.remembering(remember);
    let question = if reviewed.approval().offers_memory { question } else { ONCE };
    if !matches!(reviewed.approval().status, Status::Pending | Status::Denied) {
        let (id, status) = (reviewed.approval().id.clone(), reviewed.approval().status);
        return Err(ApprovalError::Over { id, status }.into());
    }
    let is_shown = pager::show_all(|width| render_call(&reviewed, Some(width)), "quits without approving")?;
    if !is_shown || !terminal::yes(question)? {
        return nothing_done();
    }
    // Opened before the decision, which must not be made if it cannot be recorded.
    let audit = safety::audit(&config, store.clone(), &clock)?;
    let decided = match reviewed.approval().status {
        Status::Denied => approvals::approve_denied(&*store, &reviewed, &*clock, DECIDED_BY).await?,
        _ => approvals::approve(&*store, &reviewed, &*clock, DECIDED_BY).await?,
    };
    record(&audit, Event::Approved, &decided).await;
    let until = to_the_second(decided.expires_at);
    terminal::print(&format!("Approved. The caller has until {until} to send the request again.\n"))?;
    Ok(CommandOutcome::Done)
}

/// Prints the destinations that people have agreed to.
async fn list_destinations(store: &dyn StateStore, is_json: bool) -> anyhow::Result<CommandOutcome> {
    let all = destination::list(store).await?;
    if is_json {
        terminal::print(&ascii_json(&json!({ "destinations": all })))?;
        return Ok(CommandOutcome::Done);
    }
    let mut out: String = all.iter().map(describe_destination).collect();
    let _ = writeln!(out, "{} known.", count(all.len(), "destination"));
    terminal::print(&out)?;
    Ok(CommandOutcome::Done)
}

/// One line for a destination. No field can forge a line of the output.
fn describe_destination(known: &KnownDestination) -> String {
    let KnownDestination { id, source, destination, operation, .. } = known;
    let [source, destination, operation] = [source, destination, operation].map(|name| escape(name));
    let whole = match known.scope {
        Scope::Recipient => "",
        Scope::Domain => "everything at ",
        Scope::Mentioned => "texts may mention ",
    };
    let caller = known.caller.as_deref().map(|caller| format!(", for {}", escape(caller))).unwrap_or_default();
    let by = known.approved_by.as_deref().map_or("a person".to_owned(), escape);
    let (from, until) = (to_the_second(known.approved_at), to_the_second(known.expires_at));
    format!("{id}  {source}: {whole}{destination}{caller}\n  {by} allowed {operation} at {from}; known until {until}\n")
}

/// Forgets the destinations with these ids, or all.
async fn forget_destinations(place: &StateArgs, ids: Option<&Vec<String>>) -> anyhow::Result<CommandOutcome> {
    let (config, store, clock) = open_store(place)?;
    let audit = safety::audit(&config, store.clone(), &clock)?;
    let forgotten = destination::forget(&*store, ids.map(Vec::as_slice)).await?;
    for known in &forgotten {
        record_entry(&audit, Entry::for_forgotten_destination(known, DECIDED_BY)).await;
    }
    let missing = ids.into_iter().flatten().find(|id| forgotten.iter().all(|known| known.id != **id));
    terminal::print(&format!("{} forgotten.\n", count(forgotten.len(), "destination")))?;
    match missing {
        Some(id) => {
            bail!("no known destination has the id '{}'. 'aquifer approvals destinations' lists them", escape(id))
        }
        None => Ok(CommandOutcome::Done),
    }
}

/// Denies a call. The person does not have to see all of it.
async fn deny(place: &StateArgs, id: &str, reason: &str) -> anyhow::Result<CommandOutcome> {
    if reason.trim().chars().count() > MAX_REASON_CHARS {
        bail!("the reason is too long: at most {MAX_REASON_CHARS} characters");
    }
    let (config, store, clock) = open_store(place)?;
    let approval = approvals::find(&*store, id, &*clock).await?;
    terminal::print(&describe(&approval))?;
    if !terminal::yes("Deny this call? [y/N] ")? {
        return nothing_done();
    }
    let audit = safety::audit(&config, store.clone(), &clock)?;
    let decided = approvals::deny(&*store, &approval.id, &*clock, DECIDED_BY, reason).await?;
    record(&audit, Event::Declined, &decided).await;
    terminal::print("Denied.\n")?;
    Ok(CommandOutcome::Done)
}

/// Ends the pause of all callers whose changes are paused.
async fn resume(place: &StateArgs) -> anyhow::Result<CommandOutcome> {
    let (config, store, clock) = open_store(place)?;
    let paused = approvals::paused(&*store).await?;
    if paused.is_empty() {
        terminal::print("No changes are paused.\n")?;
        return Ok(CommandOutcome::Done);
    }
    terminal::print(&describe_paused(&paused))?;
    if !terminal::yes("Let them make changes again? [y/N] ")? {
        return nothing_done();
    }
    let audit = safety::audit(&config, store.clone(), &clock)?;
    for resumed in approvals::resume(&*store).await? {
        record_entry(&audit, Entry::for_resumption(&resumed, DECIDED_BY)).await;
    }
    terminal::print("Changes are no longer paused.\n")?;
    Ok(CommandOutcome::Done)
}

/// One line for each caller whose changes are paused.
fn describe_paused(paused: &[PausedCaller]) -> String {
    let name = |caller: &Option<String>| caller.as_deref().map_or("callers without an identity".to_owned(), escape);
    let lines = paused.iter().map(|PausedCaller { caller }| {
        format!("Changes of {} are paused, because three requests were denied.\n", name(caller))
    });
    lines.collect()
}

fn nothing_done() -> anyhow::Result<CommandOutcome> {
    terminal::print("Nothing was done.\n")?;
    Ok(CommandOutcome::Failure)
}

async fn record(audit: &Audit, event: Event, decided: &Approval) {
    record_entry(audit, Entry::for_decision(event, decided)).await;
}

async fn record_entry(audit: &Audit, entry: Entry) {
    if let Err(error) = audit.record(entry).await {
        tracing::error!(%error, "the decision is in effect, but could not be written to the audit log");
    }
}

/// Describes the call and the caller. No field can forge a line of the output.
fn describe(approval: &Approval) -> String {
    let Approval { id, source, place, operation, danger, caller, message, reasons, .. } = approval;
    let Approval { asked_at, expires_at, status, .. } = approval;
    let [source, operation] = [source, operation].map(|name| escape(name));
    let mut out = format!("{id}  {status}  {operation} ({danger}) of {source}");
    if !place.is_empty() {
        let _ = write!(out, ", which is {}", escape(place));
    }
    // The message was escaped when it was built.
    let _ = writeln!(out, "\n  {message}");
    for reason in reasons {
        let _ = writeln!(out, "  because {reason}");
    }
    let caller = match (caller, &approval.client_name) {
        (Some(caller), _) => escape(caller),
        (None, Some(name)) => format!("a client that calls itself '{}' (not verified)", escape(name)),
        (None, None) => "an unknown caller".to_owned(),
    };
    let _ = writeln!(
        out,
        "  requested by {caller} at {}, expires at {}",
        to_the_second(*asked_at),
        to_the_second(*expires_at)
    );
    if let Some(decided_by) = &approval.decided_by {
        let _ = write!(out, "  decided by {}", escape(decided_by));
        if let Some(reason) = &approval.decision_reason {
            let _ = write!(out, ": {}", escape(reason));
        }
        out.push('\n');
    }
    out
}

/// Renders an approval with its whole call as lines.
fn render_call(reviewed: &ReviewedApproval, width: Option<usize>) -> Vec<String> {
    let (approval, call) = (reviewed.approval(), reviewed.call());
    let mut lines = wrap_text(&describe(approval), width);
    // Its values were escaped when it was built.
    for line in reviewed.preview().filter(|preview| !preview.is_in_message).iter().flat_map(|it| it.text.lines()) {
        lines.extend(wrap_text(&format!("  rehearsal: {line}"), width));
    }
    if let Some(edited) = reviewed.edited() {
        lines.extend(wrap_text(&format!("  approved with changes: {}", edited.describe_changes()), width));
    }
    lines.extend(call.lines(width));
    let mut end = match call.params.len() {
        0 => "└ no parameters".to_owned(),
        params => format!("└ {}", count(params, "parameter")),
    };
    if !call.defaults.is_empty() {
        let _ = write!(end, ", {}", count(call.defaults.len(), "default value"));
    }
    if !call.hidden.is_empty() {
        let _ = write!(end, ", {} hidden", count(call.hidden.len(), "secret"));
    }
    lines.push(end);
    lines
}

/// Renders JSON in ASCII, so that it cannot control the terminal.
fn ascii_json(value: &Value) -> String {
    let mut out = String::new();
    for character in format!("{value:#}").chars() {
        match character {
            '\n' | ' '..='~' => out.push(character),
            character => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('\n');
    out
}

fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
