//! The binary: reads arguments and configuration, and connects sources to an engine and the engine to a transport.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 the answer was a failure or an MCP server
//! could not be reached, 2 invalid usage or configuration. `conformance` uses the codes published for conformance
//! runners.

#![cfg_attr(
    not(all(feature = "conformance", feature = "tokens", feature = "gateway")),
    allow(dead_code, unused_imports, reason = "a build may leave out what uses it; the full build checks")
)]

#[macro_use]
mod terminal;

mod cli;
mod command;
mod config;
mod explorer;
mod files;
mod reload;
mod safety;
mod setup;
mod sources;
mod state;
mod system;
#[path = "../../aquifer-adapter/examples/task_board.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod task_board;

use std::process::ExitCode;
use std::time::Duration;

use cli::{AuditCommand, Cli, Command, ExplorerCommand, PolicyCommand};

/// An answer takes many small allocations, for which the system allocator is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long background tasks may take to end on exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandOutcome {
    /// The command succeeded.
    Done,
    /// The answer was a failure.
    Failure,
    /// The exit code of a conformance run.
    Code(u8),
}

fn main() -> ExitCode {
    let cli = Cli::read();
    setup::logging(cli.log.as_deref());
    let outcome = match cli.command {
        Some(command) => run(command),
        None => command::welcome::run(),
    };
    match outcome {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Failure) => ExitCode::from(1),
        Ok(CommandOutcome::Code(code)) => ExitCode::from(code),
        Err(error) => {
            note!("aquifer: {error:#}");
            ExitCode::from(if error.is::<sources::UnreachableError>() { 1 } else { 2 })
        }
    }
}

fn run(command: Command) -> anyhow::Result<CommandOutcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ending = runtime.block_on(async {
        let ending = execute(command).await;
        // In order, while the runtime still works. The tasks end the processes that they started.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, sources::gateway::shut_down()).await;
        ending
    });
    // The wait is limited, because a blocking read of stdin must not keep the process alive.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    ending
}

async fn execute(command: Command) -> anyhow::Result<CommandOutcome> {
    match command {
        Command::Demo(arguments) => command::demo::run(arguments).await,
        Command::Serve(arguments) => command::serve::run(arguments).await,
        Command::Call(arguments) => command::call::run(arguments).await,
        Command::Introspect(arguments) => command::introspect::run(arguments).await,
        Command::Interrogate(arguments) => command::interrogate::run(arguments).await,
        Command::Review(arguments) => command::review::run(arguments).await,
        Command::Build(arguments) => command::build::run(arguments).await,
        Command::Validate(arguments) => command::validate::run(arguments).await,
        Command::Login(arguments) => command::login::run(arguments).await,
        Command::Logout(arguments) => command::login::forget(arguments).await,
        Command::Policy(PolicyCommand::Show(arguments)) => command::policy::show(arguments).await,
        Command::Approvals(what) => command::approvals::run(what).await,
        Command::Explorer(ExplorerCommand::Link { url, place }) => command::explorer::link(&place, url).await,
        Command::Audit(AuditCommand::Verify(arguments)) => command::audit::verify(arguments).await,
        Command::Audit(AuditCommand::Show(arguments)) => command::audit::show(arguments).await,
        Command::Trust(arguments) => command::trust::run(arguments),
        Command::Conformance(arguments) => Ok(command::conformance::run(arguments).await),
        Command::Init(arguments) => command::init::run(arguments),
        Command::Doctor(arguments) => command::doctor::run(arguments).await,
        Command::Tokens(arguments) => command::tokens::run(arguments).await,
        Command::Health { url } => command::health::run(&url).await,
        Command::Completions { shell } => command::completions::run(shell),
    }
}
