//! `aquifer init`: from the servers that MCP clients on this machine have to one configuration, and what to paste back.

mod clients;
mod configuration;
mod snippet;

use std::path::PathBuf;

use anyhow::{Context, bail};

use super::{call, write};
use crate::Ending;
use crate::cli::InitArgs;

pub(crate) fn run(arguments: InitArgs) -> anyhow::Result<Ending> {
    let found = clients::find();
    for client in &found {
        eprintln!("{}: {} ({})", client.name, client.path.display(), client.told());
        for problem in &client.problems {
            eprintln!("  {}:{problem}", client.path.display());
        }
    }
    if found.iter().all(|client| client.servers.is_empty()) {
        bail!(
            "no MCP server is configured in the clients on this machine. Begin with aquifer serve -- COMMAND, or write \
             a configuration: see docs/configuration.md"
        );
    }
    let made = configuration::of(&found);
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => PathBuf::from("aquifer.toml"),
    };
    if arguments.dry_run {
        call::print(made.text.trim_end())?;
        return Ok(Ending::Done);
    }
    write::file(&path, &made.text, arguments.force)?;
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    eprintln!("\nWritten: {} with {} sources. Your clients' files are as they were.", path.display(), made.sources);
    if !made.secrets.is_empty() {
        eprintln!("Values that may be secret were not copied. Put each where the snippet below has a place for it:");
        for secret in &made.secrets {
            eprintln!(
                "  {}  now in {} of '{}' in {}",
                secret.variable,
                secret.place,
                secret.server,
                secret.file.display()
            );
        }
    }
    eprintln!("\nPaste into each client in place of the servers it has now:");
    call::print(snippet::all(&found, &path, &made)?.trim_end())?;
    Ok(Ending::Done)
}
