//! `aquifer completions`: prints a completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::CommandOutcome;
use crate::cli::Cli;
use crate::terminal;

pub(crate) fn run(shell: Shell) -> anyhow::Result<CommandOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aquifer", &mut script);
    terminal::print_exact(String::from_utf8_lossy(&script).trim_end())?;
    Ok(CommandOutcome::Done)
}
