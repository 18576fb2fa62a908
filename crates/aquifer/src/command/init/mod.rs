//! `aquifer init`: collects the servers of the MCP clients on this machine in one configuration, and points the clients
//! to it.

mod apply;
mod backup;
pub(in crate::command) mod clients;
mod codex;
mod configuration;
mod env_file;
mod snippet;
mod undo;
mod values;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use aquifer_discovery::servers::is_placeholder;

use super::{call, write};
use crate::CommandOutcome;
use crate::cli::InitArgs;
use crate::terminal;
use clients::Client;
use env_file::EnvFile;
use snippet::ServeCommand;
use values::{Variable, VariableValue};

pub(crate) fn run(arguments: InitArgs) -> anyhow::Result<CommandOutcome> {
    let clients = clients::find();
    if arguments.undo {
        return undo::run(&clients);
    }
    for client in &clients {
        eprintln!("{}: {} ({})", client.name, client.path.display(), client.summary());
        for problem in &client.problems {
            eprintln!("  {}:{problem}", client.path.display());
        }
    }
    if clients.iter().all(|client| client.servers.is_empty()) {
        bail!(
            "the clients on this machine have no MCP servers. Start with aquifer serve -- COMMAND, or write a configuration: \
             see docs/configuration.md"
        );
    }
    let mut made = configuration::build(&clients);
    made.remarks.iter().for_each(|remark| eprintln!("{remark}"));
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from("aquifer.toml"));
    let values = env_file::path_of(&path);
    if values == path {
        bail!(
            "{} is the name of the file for secret values. Choose another name for the configuration",
            path.display()
        );
    }
    let named = values.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = made.text(named.as_deref().filter(|_| !made.variables.is_empty()));
    if arguments.dry_run {
        report_variables(&made.variables, &values);
        call::print(text.trim_end())?;
        return Ok(CommandOutcome::Done);
    }
    prompt_for_missing(&mut made.variables)?;
    // Everything that can fail is checked before anything is written.
    let env_file = match made.variables.is_empty() {
        true => None,
        false => Some(EnvFile::plan(&values, &made.variables, arguments.force)?),
    };
    if arguments.force && path.exists() && crate::files::read(&path).ok().as_ref() != Some(&text) {
        backup::create(&path, backup::BEFORE)?;
    }
    write::file(&path, &text, arguments.force)?;
    if let Some(env_file) = env_file {
        env_file.write()?;
    }
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let count = made.source_count();
    eprintln!("\nWritten: {} with {count} source{}.", path.display(), if count == 1 { "" } else { "s" });
    report_variables(&made.variables, &values);
    let start = ServeCommand::new(&path)?;
    if arguments.apply {
        return apply_to_clients(&clients, &start, &made.variables);
    }
    eprintln!(
        "\nThe files of your clients are unchanged. To change them, run init again with --apply, or replace the servers in"
    );
    eprintln!("each of them with this:");
    call::print(snippet::all(&clients, &start, &made.variables)?.trim_end())?;
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
        let typed = terminal::secret(&terminal::escape_hidden(&prompt))?;
        let typed = typed.trim();
        if is_placeholder(typed) {
            eprintln!("This is also a placeholder. Fill it in later.");
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
        eprintln!("\n{heading}");
    }
    for Variable { name, server, file, place, .. } in meant {
        let line = format!("  {name}  {place} of '{server}' in {}", file.display());
        eprintln!("{}", terminal::escape_hidden(&line));
    }
}

/// Changes every client's file. A failure does not affect the other files.
fn apply_to_clients(
    clients: &[Client],
    start: &ServeCommand,
    variables: &[Variable],
) -> anyhow::Result<CommandOutcome> {
    eprintln!();
    let mut ending = CommandOutcome::Done;
    for client in clients.iter().filter(|client| !client.servers.is_empty()) {
        match apply::apply(client, start, variables) {
            Ok(copy) => eprintln!("{} now uses Aquifer. Backup of its file: {}", client.name, copy.display()),
            Err(error) => {
                eprintln!("aquifer: {}: {error:#}", client.name);
                ending = CommandOutcome::Failure;
            }
        }
    }
    eprintln!("Restart the clients for this to take effect.");
    Ok(ending)
}
