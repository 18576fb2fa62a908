//! What can be said on the command line. Help, completions and parsing all come from here.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

/// Any MCP server, database or REST API behind MCP-AQL: one to five tools instead of hundreds.
#[derive(Debug, Parser)]
#[command(name = "aquifer", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What to log to stderr: error, warn, info, debug, trace, or a filter such as aquifer_engine=debug.
    #[arg(long, global = true, env = "AQUIFER_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  aquifer demo                                   try it: a sample shop over HTTP
  aquifer demo --stdio                           the same for an MCP client that starts servers itself
  aquifer serve sqlite:my.db                     your database, for an MCP client
  aquifer introspect --source demo:              which operations are there?
  aquifer call get_order '{\"id\": 1}' --source demo:

Exit codes: 0 done, 1 the answer was a failure, 2 bad usage or configuration.
Results go to stdout, everything else to stderr.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sample data, ready to try.
    #[command(after_help = "\
Examples:
  aquifer demo                                   HTTP on 127.0.0.1:3910
  aquifer demo --http 127.0.0.1:0                HTTP on a free port
  aquifer demo --stdio --mode single             one tool, on stdin and stdout

In a client that starts servers itself (Claude Desktop, Cursor, VS Code):
  {\"mcpServers\": {\"aquifer\": {\"command\": \"aquifer\", \"args\": [\"demo\", \"--stdio\"]}}}")]
    Demo(DemoArgs),

    /// Serve sources as MCP-AQL, on stdio or HTTP.
    #[command(after_help = "\
Examples:
  aquifer serve sqlite:my.db                     a SQLite file on stdio
  aquifer serve postgres://me@localhost/shop --http 127.0.0.1:3910
                                                 a PostgreSQL database over HTTP
  aquifer serve --config aquifer.toml            what the file says

SIGHUP has every source look again what it has to offer.

Environment: MCP_AQL_ENDPOINT_MODE, MCP_AQL_ENDPOINT_PROFILE, MCP_AQL_TOOL_PREFIX.
A flag beats the environment, the environment beats the file.")]
    Serve(ServeArgs),

    /// Send one request and print the answer.
    #[command(after_help = "\
Examples:
  aquifer call list_products --source demo:
  aquifer call search_tickets '{\"query\": \"leaking tent\"}' --source demo:
  aquifer call '{\"operations\": [{\"operation\": \"list_tags\"}]}' --source demo:   a batch
  echo '{\"id\": 65}' | aquifer call get_customer - --source demo:")]
    Call(CallArgs),

    /// Show the catalogue to a person.
    #[command(after_help = "\
Examples:
  aquifer introspect --source demo:              every operation
  aquifer introspect get_order --source demo:    one operation with its parameters
  aquifer introspect --search \"late orders\" --source demo:
  aquifer introspect --json --source demo:       as a model sees it")]
    Introspect(IntrospectArgs),

    /// Print a completion script for your shell.
    #[command(after_help = "Example: aquifer completions bash > ~/.local/share/bash-completion/completions/aquifer")]
    Completions {
        /// The shell to complete in.
        shell: Shell,
    },
}

/// Which tools a client sees.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SurfaceArgs {
    /// How operations are grouped into tools: semantic, single or all.
    #[arg(long, value_name = "MODE", help_heading = "Surface")]
    pub(crate) mode: Option<String>,

    /// Which endpoint families there are: crude, crude_authorize, discover_query_manage_operate,
    /// inspect_query_mutate_administer, or one from the configuration.
    #[arg(long, value_name = "PROFILE", help_heading = "Surface")]
    pub(crate) profile: Option<String>,

    /// What tool names begin with, for example github_.
    #[arg(long, value_name = "PREFIX", help_heading = "Surface")]
    pub(crate) prefix: Option<String>,
}

/// How clients reach us over HTTP.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HttpArgs {
    /// A host name clients may use besides localhost. Can be repeated.
    #[arg(long = "allow-host", value_name = "HOST", help_heading = "HTTP")]
    pub(crate) allow_hosts: Vec<String>,

    /// The origin of a web page that may call us. Can be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN", help_heading = "HTTP")]
    pub(crate) allow_origins: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Listen on this address instead of 127.0.0.1:3910.
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Talk to an MCP client on stdin and stdout.
    #[arg(long)]
    pub(crate) stdio: bool,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,

    #[command(flatten)]
    pub(crate) access: HttpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// What to serve: sqlite:PATH, a path ending in .db or .sqlite, postgres://USER@HOST/DATABASE, demo: (a sample
    /// shop) or tasks: (the example adapter).
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Listen on this address instead of talking on stdin and stdout.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Read the configuration from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,

    #[command(flatten)]
    pub(crate) access: HttpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The operation, or a whole request as a JSON object.
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: String,

    /// Its parameters as a JSON object, or - to read them from stdin.
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,

    /// What to call. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Read the configuration from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The tool that is to receive the request; by default the right one.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// One operation or type to explain.
    #[arg(value_name = "NAME", conflicts_with = "search")]
    pub(crate) name: Option<String>,

    /// Rank operations by the words of a task.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,

    /// What to look into. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Read the configuration from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print what a model would get.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

/// An address to listen on; names such as localhost are looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found =
        text.to_socket_addrs().map_err(|_| "use HOST:PORT, for example 127.0.0.1:3910 or localhost:0".to_owned())?;
    // A name may stand for several; the older protocol is what clients try first.
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.into_iter().next().ok_or_else(|| "this name has no address".to_owned())
}
