//! `aquifer init`: collects the servers of the MCP clients on this machine in one configuration, and points the clients
//! to it.

mod apply;
mod backup;
pub(in crate::command) mod clients;
mod codex;
mod configuration;
mod env_file;
mod existing;
mod own_entry;
mod plan;
mod repository;
mod snippet;
mod target;
mod undo;
mod values;

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::bail;
use aquifer_discovery::servers::is_placeholder;

use crate::CommandOutcome;
use crate::cli::InitArgs;
use crate::terminal;
use apply::WrittenTexts;
use clients::{Client, Folders, Scope};
use existing::ExistingConfig;
use snippet::ServeCommand;
use target::{Group, Target};
use values::{Variable, VariableValue};

pub(crate) fn run(arguments: InitArgs) -> anyhow::Result<CommandOutcome> {
    if arguments.undo {
        return undo::run(&clients::find_with(Folders::WithAquifer));
    }
    let clients = clients::find();
    if let Some(path) = arguments.output.as_deref().filter(|path| env_file::path_of(path) == **path) {
        let shown = path.display();
        bail!("{shown} is the name of the file for secret values. Choose another name for the configuration");
    }
    for client in &clients {
        note!("{}: {} ({})", client.name, client.path.display(), client.summary());
        for name in &client.extensions {
            note!("  '{name}' belongs to an extension of {} and stays", client.name);
        }
        for problem in &client.problems {
            note!("  {}:{problem}", client.path.display());
        }
    }
    let mut outcome = CommandOutcome::Done;
    for client in clients.iter().filter(|client| client.is_unusable && arguments.apply) {
        note!("aquifer: {}: {} stays as it is, because of the problem above", client.name, client.path.display());
        outcome = CommandOutcome::Failure;
    }
    if clients.iter().all(|client| client.servers.is_empty()) {
        let users: Vec<&str> =
            clients.iter().filter(|client| !client.own_entries.is_empty()).map(|client| client.name).collect();
        if users.is_empty() {
            bail!(
                "the clients on this machine have no MCP servers. Start with aquifer serve -- COMMAND, or write a \
                 configuration: see docs/configuration.md"
            );
        }
        note!("\nNothing to do. Already uses Aquifer: {}", users.join(", "));
        return Ok(outcome);
    }
    let mut is_any_configured = false;
    let groups = target::group(&clients, arguments.output.as_deref());
    let mut written = WrittenTexts::new();
    for group in &groups {
        if groups.len() > 1 || group.scope != Scope::User {
            note!("\n{}:", group.heading());
        }
        let checked = group.check_target(&clients, &groups);
        match checked.and_then(|()| configure(group, &arguments, groups.len() > 1, &mut written)) {
            Ok(of_group) => {
                is_any_configured = true;
                if let CommandOutcome::Failure = of_group {
                    outcome = CommandOutcome::Failure;
                }
            }
            Err(error) => {
                note!("aquifer: {} left out: {error:#}", group.client_names());
                outcome = CommandOutcome::Failure;
            }
        }
    }
    if arguments.apply && is_any_configured {
        note!("Restart the clients for this to take effect.");
    }
    Ok(outcome)
}

/// Writes or extends the configuration of some clients, and points them to it. If it is one of several, it is printed
/// with its path.
fn configure(
    group: &Group<'_>,
    arguments: &InitArgs,
    is_one_of_several: bool,
    written: &mut WrittenTexts,
) -> anyhow::Result<CommandOutcome> {
    let existing = match &group.target {
        Target::Existing(path) => Some(ExistingConfig::read(path)?),
        Target::New(_) => None,
    };
    let mut generated = configuration::build(&group.clients, existing.as_ref());
    generated.remarks.iter().for_each(|remark| note!("{remark}"));
    let plan = match (&existing, &group.target) {
        (Some(existing), _) => plan::extend(existing, &mut generated, arguments)?,
        (None, Target::New(path) | Target::Existing(path)) => plan::create(path, &mut generated, arguments)?,
    };
    group.check_env_file(&plan.env_path)?;
    if arguments.dry_run {
        report_variables(&generated.variables, &plan.env_path);
        if is_one_of_several {
            terminal::print_exact(&format!("# {}: {}", group.target.path().display(), group.heading()))?;
        }
        terminal::print_exact(plan.text.trim_end())?;
        return Ok(CommandOutcome::Done);
    }
    let path = plan.write(existing.as_ref())?;
    let count = generated.source_count();
    let sources = format!("{count} source{}", if count == 1 { "" } else { "s" });
    match existing {
        None => note!("\nWritten: {} with {sources}.", path.display()),
        Some(_) if count == 0 => note!("\n{} already has these servers.", path.display()),
        Some(_) => note!("\nAdded to {}: {sources}. What was in it is kept.", path.display()),
    }
    report_variables(&generated.variables, &plan.env_path);
    if !generated.variables.is_empty() {
        repository::warn(&plan.env_path);
    }
    let start = ServeCommand::new(&path)?;
    if arguments.apply {
        return Ok(apply_to_clients(&group.clients, &start, &generated.variables, written));
    }
    note!(
        "\nThe files of your clients are unchanged. To change them, run init again with --apply, or replace the servers in"
    );
    note!("each of them with this:");
    terminal::print_exact(snippet::all(&group.clients, &start, &generated.variables)?.trim_end())?;
    Ok(CommandOutcome::Done)
}

/// Asks for missing values if there is a terminal. An empty answer leaves a value missing.
fn prompt_for_missing(variables: &mut [Variable]) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    for variable in variables.iter_mut().filter(|variable| variable.value == VariableValue::Unfilled) {
        let Variable { name, server, place, .. } = variable;
        let prompt = format!(
            "{name}: {place} of '{server}' is a placeholder. Enter its value, or nothing to fill it in later: "
        );
        let typed = terminal::secret(&prompt)?;
        let typed = typed.trim();
        if is_placeholder(typed) {
            note!("This is also a placeholder. Fill it in later.");
        } else if !typed.is_empty() {
            variable.value = VariableValue::Stored(typed.to_owned());
        }
    }
    Ok(())
}

/// Reports which values are stored where and which are missing.
fn report_variables(variables: &[Variable], values: &Path) {
    let shown = values.display();
    let stored = format!("Values that may be secret go into {shown}, which only you can read:");
    report_group(variables, &stored, |value| matches!(value, VariableValue::Stored(_)));
    let unfilled = format!("These are placeholders. Write their values into {shown}:");
    report_group(variables, &unfilled, |value| matches!(value, VariableValue::Unfilled));
    let inputs =
        format!("VS Code keeps asking for these and passes them on. For other clients, write them into {shown}:");
    report_group(variables, &inputs, |value| matches!(value, VariableValue::Input { .. }));
}

fn report_group(variables: &[Variable], heading: &str, is_meant: impl Fn(&VariableValue) -> bool) {
    let mut meant = variables.iter().filter(|variable| is_meant(&variable.value)).peekable();
    if meant.peek().is_some() {
        note!("\n{heading}");
    }
    for Variable { name, server, file, place, .. } in meant {
        let line = format!("  {name}  {place} of '{server}' in {}", file.display());
        note!("{line}");
    }
}

/// Changes every client's file. A failure does not affect the other files.
fn apply_to_clients(
    clients: &[&Client],
    start: &ServeCommand,
    variables: &[Variable],
    written: &mut WrittenTexts,
) -> CommandOutcome {
    note!();
    let mut outcome = CommandOutcome::Done;
    for client in clients {
        match apply::apply(client, start, variables, written) {
            Ok(copy) => note!("{} now uses Aquifer. Backup of its file: {}", client.name, copy.display()),
            Err(error) => {
                note!("aquifer: {}: {error:#}", client.name);
                outcome = CommandOutcome::Failure;
            }
        }
    }
    outcome
}
