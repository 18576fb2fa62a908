//! The command line: the source of help texts, completions and argument parsing.

mod conformance;
mod gateway;
#[cfg(test)]
mod reference;
mod safety;
mod targets;
mod tokens;
mod version;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::target::is_adapter;
use crate::config::{Config, SourceConfig, TrustSetting};
use crate::terminal;
pub(crate) use conformance::{
    BAD_USAGE, ConformanceArgs, ConformanceCommand, ConformanceReportArgs, ConformanceRunArgs, ReportFormat,
    ReportOutput,
};

pub(crate) use gateway::{
    BuildArgs, InitArgs, InterrogateArgs, LoginArgs, LogoutArgs, RemoteArgs, ReviewArgs, ValidateArgs,
};
pub(crate) use safety::{
    ApprovalsCommand, AuditCommand, AuditShowArgs, AuditVerifyArgs, DoctorArgs, ExplorerCommand, NextTime,
    PolicyCommand, PolicyShowArgs, StateArgs, TrustArgs,
};
pub(crate) use targets::{DefaultConfig, choose_config, default_config};
pub(crate) use tokens::TokensArgs;

/// Put MCP servers, HTTP APIs, SQLite and PostgreSQL databases behind MCP-AQL: one to five tools instead of hundreds.
#[derive(Debug, Parser)]
#[command(name = "aquifer", version, long_version = version::LONG, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Without one, the program says what can be done next.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Log level for stderr: error, warn, info, debug or trace, or a filter such as aquifer_engine=debug.
    #[arg(long, global = true, env = "AQUIFER_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

impl Cli {
    /// Parses the command line. Prints help or a usage error and exits if required.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|problem| {
            if !problem.use_stderr() {
                problem.exit();
            }
            // It repeats arguments, and a shell takes names of files for arguments.
            terminal::print_note(&problem.render().to_string());
            let code = if conformance::is_selected() { BAD_USAGE.into() } else { problem.exit_code() };
            std::process::exit(code)
        })
    }
}

const EXAMPLES: &str = "\
Examples:
  aquifer demo                                   try it with a sample shop over HTTP
  aquifer demo --stdio                           the same, for an MCP client that starts its servers
  aquifer serve sqlite:my.db                     serve your database to an MCP client
  aquifer serve mcp.json                         serve your MCP servers as one to five tools
  aquifer init                                   find the MCP servers on this machine
  aquifer doctor                                 find out why something does not work
  aquifer login https://mcp.example.com/mcp      log in to a remote MCP server
  aquifer introspect demo:                       list the operations
  aquifer call demo: get_order '{\"id\": 1}'       call one of them
  aquifer policy show aquifer.toml               see what your agent may do
  aquifer tokens mcp.json                        see how many tokens your servers cost a model
  aquifer conformance --allow-writes -- aquifer demo --stdio
                                                 test a server against the MCP-AQL specification

Every command that takes sources names them in the same way. Without a source, it uses ./aquifer.toml.

Exit codes: 0 success, 1 the answer was a failure or an MCP server could not be reached, 2 invalid usage or \
configuration. 'aquifer conformance' has exit codes of its own.

Results go to stdout, everything else to stderr.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sample data to try Aquifer out.
    #[command(after_help = "\
Examples:
  aquifer demo                                   HTTP on 127.0.0.1:3910
  aquifer demo --http 127.0.0.1:0                HTTP on a free port
  aquifer demo --stdio --mode single             a single tool on stdin and stdout

For a client that starts its servers itself (Claude Desktop, Cursor, VS Code):
  {\"mcpServers\": {\"aquifer\": {\"command\": \"aquifer\", \"args\": [\"demo\", \"--stdio\"]}}}")]
    Demo(DemoArgs),

    /// Serve sources as MCP-AQL, on stdio or HTTP.
    #[command(after_help = "\
Examples:
  aquifer serve sqlite:my.db                     a SQLite file over stdio
  aquifer serve postgres://me@localhost/shop --http 127.0.0.1:3910
                                                 a PostgreSQL database over HTTP
  aquifer serve mcp.json                         the MCP servers in a client's configuration file
  aquifer serve https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
                                                 a remote MCP server
  aquifer serve -- npx -y @modelcontextprotocol/server-filesystem .
                                                 an MCP server started from a command
  aquifer serve github-adapter.md --env GITHUB_TOKEN -- npx -y github-server
                                                 a reviewed adapter and the server it belongs to
  aquifer serve agent.toml                       the sources of a configuration
  aquifer serve                                  the sources of ./aquifer.toml
  aquifer serve shop.db --read-only              only operations that read

Aquifer watches the configuration and the files it names. Changes to sources or to [gate] take effect together, a second \
or two after the last write; an invalid configuration is reported and ignored. Changes to other sections need a restart. \
SIGHUP reloads the configuration at once, makes MCP servers and databases refresh their catalogs, and fetches descriptions \
from a URL again.

Environment: MCP_AQL_ENDPOINT_MODE, MCP_AQL_ENDPOINT_PROFILE, MCP_AQL_TOOL_PREFIX. Flags override the environment, and \
the environment overrides the configuration.")]
    Serve(ServeArgs),

    /// Send one request and print the answer.
    #[command(
        override_usage = "aquifer call [SOURCE]... <OPERATION> [JSON] [OPTIONS] [-- COMMAND...]",
        after_help = "\
Examples:
  aquifer call demo: list_products
  aquifer call demo: search_tickets '{\"query\": \"leaking tent\"}'
  aquifer call demo: '{\"operations\": [{\"operation\": \"list_tags\"}]}'   a batch
  echo '{\"id\": 65}' | aquifer call demo: get_customer -
  aquifer call demo: delete_tag '{\"id\": 3}' --explain
                                                 would it run, and what decides that?
  aquifer call list_products                     from the sources in ./aquifer.toml

At a terminal, you are asked about an operation that needs confirmation. Otherwise it fails with CONFIRMATION_REQUIRED, \
and waits for an approval: 'aquifer approvals approve ID'. Then repeat the call with the token of the answer in the \
parameter confirmation_token."
    )]
    Call(CallArgs),

    /// Show the operations and types of a catalog.
    #[command(
        override_usage = "aquifer introspect [SOURCE]... [NAME] [OPTIONS] [-- COMMAND...]",
        after_help = "\
Examples:
  aquifer introspect demo:                       list every operation
  aquifer introspect demo: get_order             one operation and its parameters
  aquifer introspect demo: --search \"late orders\"
  aquifer introspect demo: --json                the JSON that a model gets
  aquifer call introspect '{\"query\": \"signatures\", \"search\": \"late orders\"}' --source demo:
  aquifer call introspect '{\"query\": \"schema\"}' --source demo:
  aquifer introspect                             the sources in ./aquifer.toml"
    )]
    Introspect(IntrospectArgs),

    /// Ask an MCP server what it offers and write a discovery bundle. Calls no tool.
    #[command(after_help = "\
Examples:
  aquifer interrogate -o files.bundle.json -- npx -y @modelcontextprotocol/server-filesystem .
  aquifer interrogate https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
  aquifer interrogate mcp.json --server github -o github.bundle.json

The bundle records the time of the capture. Set SOURCE_DATE_EPOCH to fix it.")]
    Interrogate(InterrogateArgs),

    /// Review what needs a person's judgment and record the decisions.
    #[command(after_help = "\
Examples:
  aquifer review files.bundle.json               ask in a terminal, list elsewhere
  aquifer review files.bundle.json --accept-all
  aquifer review files.bundle.json --accept read_file --category touch=UPDATE
  aquifer review files-adapter.md -- npx -y @modelcontextprotocol/server-filesystem .
                                                 has the server changed since the review?
  aquifer review files                           what is quarantined, why, and how to accept it

A tool whose definition changes after it was first served is quarantined: it cannot be called until the change is accepted \
here. A running gateway picks up the decision within seconds.

Exit codes: 0 nothing is left to review, 1 something is left to review, 2 invalid usage.")]
    Review(ReviewArgs),

    /// Build an adapter file from a discovery bundle or an OpenAPI description.
    #[command(after_help = "\
Examples:
  aquifer build files.bundle.json                writes files-adapter.md and its sidecar
  aquifer build openapi:petstore.yaml            the same for an HTTP API
  aquifer build files.bundle.json --overrides files.overrides.yaml -o adapters/")]
    Build(BuildArgs),

    /// Check adapters, bundles, overrides, configurations and MCP client files.
    #[command(after_help = "\
Examples:
  aquifer validate files-adapter.md
  aquifer validate aquifer.toml mcp.json files.bundle.json files.overrides.yaml
  aquifer validate --offline aquifer.toml        without connecting to its sources

The rules of a configuration are checked against the operations of its sources: a rule that matches nothing is an error.

Exit codes: 0 all files are valid, 1 a file has errors, 2 a file cannot be read.")]
    Validate(ValidateArgs),

    /// Log in to a remote MCP server with OAuth.
    #[command(after_help = "\
Examples:
  aquifer login https://mcp.example.com/mcp      opens a browser and waits for the login
  aquifer login mcp.json --server example        a server in a client's configuration file
  aquifer login example                          a server in ./aquifer.toml
  aquifer login example --config aquifer.toml --scope notes.read --scope notes.write
  aquifer login https://mcp.example.com/mcp --no-browser
                                                 prints the address instead of opening it

If the browser runs on another machine, paste the address it is redirected to into the terminal.

The login is stored in the state directory, readable only by you, and is refreshed automatically. A running server picks \
it up by itself.

Exit codes: 0 logged in, 1 login failed, 2 invalid usage.")]
    Login(LoginArgs),

    /// Delete a stored login and revoke it if the server supports that.
    #[command(after_help = "\
Examples:
  aquifer logout https://mcp.example.com/mcp
  aquifer logout example --config aquifer.toml")]
    Logout(LogoutArgs),

    /// Show what your agent may do: every operation and the decision for it.
    #[command(subcommand)]
    Policy(PolicyCommand),

    /// Approve or deny calls that wait for a person.
    #[command(subcommand)]
    Approvals(ApprovalsCommand),

    /// Log in to the explorer, the pages for people of a server.
    #[command(subcommand)]
    Explorer(ExplorerCommand),

    /// Show the audit log and verify that it was not modified.
    #[command(subcommand)]
    Audit(AuditCommand),

    /// Change the trust level of an adapter file and record the reason.
    #[command(after_help = "\
Examples:
  aquifer trust files-adapter.md --to accepted --reason \"read every operation\"
  aquifer conformance files-adapter.md --allow-writes
  aquifer trust files-adapter.md --to validated --reason \"passed on the test server\"
  aquifer trust files-adapter.md --to untested --reason \"the server was replaced\"

Levels, lowest first: untested, generated, accepted, validated, community_reviewed, certified. Trust rises one level at a \
time and can drop by any number of levels. The level that a file claims for itself counts up to 'generated'. The level \
given here is valid on this machine until the file changes. 'accepted' is recorded only here, not in the file. \
'validated' needs the report of a conformance run that granted a level, which 'aquifer conformance' records. A 'trust' key \
for the source in the configuration overrides both.

Exit codes: 0 changed, 2 not changed.")]
    Trust(TrustArgs),

    /// Test any MCP-AQL server and report the conformance level it reaches.
    #[command(after_help = conformance::HELP)]
    Conformance(ConformanceArgs),

    /// Find the MCP clients on this machine and write a configuration with their servers.
    #[command(after_help = "\
Examples:
  aquifer init                                   write aquifer.toml, show what to paste where
  aquifer init --apply                           also change each client's own file
  aquifer init --undo                            put the clients' files back
  aquifer init --dry-run                         only print the configuration
  aquifer init -o ~/.config/aquifer/aquifer.toml

Values that may be secret go into aquifer.env beside the configuration, which only you can read (mode 0600), and never \
into the configuration itself. For placeholders such as <your-token>, init asks in a terminal and otherwise lists them.

Only --apply changes the files of clients. It keeps a backup of each file and leaves everything else in it unchanged.

Exit codes: 0 success, 1 a client's file could not be changed, 2 invalid usage, or nothing was found.")]
    Init(InitArgs),

    /// Check the configuration, its sources and this machine, and say what to do about each problem.
    #[command(after_help = safety::DOCTOR)]
    Doctor(DoctorArgs),

    /// Measure what a source costs a model in tokens: at connect, for introspection and for tasks.
    #[command(after_help = tokens::EXAMPLES)]
    Tokens(TokensArgs),

    /// Ask a server over HTTP whether it is up.
    #[command(after_help = "\
Examples:
  aquifer health                                 the server on 127.0.0.1:3910
  aquifer health http://127.0.0.1:8080           another one

Exit codes: 0 it is up, 1 it is not, 2 invalid usage.")]
    Health {
        /// The address of the server.
        #[arg(value_name = "URL", default_value = "http://127.0.0.1:3910")]
        url: String,
    },

    /// Print a completion script for your shell.
    #[command(after_help = "Example: aquifer completions bash > ~/.local/share/bash-completion/completions/aquifer")]
    Completions {
        /// The shell to write the script for.
        shell: Shell,
    },
}

/// Which tools a client sees.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SurfaceArgs {
    /// How to group operations into tools: semantic, single or all.
    #[arg(long, value_name = "MODE", help_heading = "Surface")]
    pub(crate) mode: Option<String>,

    /// The endpoint families: crude, crude_authorize, discover_query_manage_operate, inspect_query_mutate_administer,
    /// or a profile from the configuration.
    #[arg(long, value_name = "PROFILE", help_heading = "Surface")]
    pub(crate) profile: Option<String>,

    /// Prefix for tool names, for example github_.
    #[arg(long, value_name = "PREFIX", help_heading = "Surface")]
    pub(crate) prefix: Option<String>,
}

/// Who confirms calls.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ConfirmationArgs {
    /// Let a model confirm its own calls with a token, where its client cannot ask a person. Like 'model_confirms' in
    /// the configuration, and AQUIFER_MODEL_CONFIRMS=1 in the environment.
    #[arg(long, help_heading = "Safety")]
    pub(crate) model_confirms: bool,
}

/// The environment variable that does the same.
const MODEL_CONFIRMS: &str = "AQUIFER_MODEL_CONFIRMS";

impl ConfirmationArgs {
    /// The configuration with these options.
    pub(crate) fn apply_to(self, mut config: Config) -> Config {
        if self.model_confirms || std::env::var_os(MODEL_CONFIRMS).is_some_and(|value| value == "1") {
            config.gate.let_model_confirm();
        }
        config
    }
}

/// Which hosts and origins clients may use over HTTP.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HttpArgs {
    /// Accept this host name in addition to localhost. Can be repeated.
    #[arg(long = "allow-host", value_name = "HOST", help_heading = "HTTP")]
    pub(crate) allow_hosts: Vec<String>,

    /// Accept requests from web pages of this origin. Can be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN", help_heading = "HTTP")]
    pub(crate) allow_origins: Vec<String>,

    /// Do not serve the explorer, the pages for people at /.
    #[arg(long, help_heading = "HTTP")]
    pub(crate) no_explorer: bool,
}

/// How to start and reach MCP servers.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpstreamArgs {
    /// Pass this environment variable to the command after --, which otherwise gets only a few standard ones. Can be
    /// repeated.
    #[arg(long = "env", value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) env: Vec<String>,

    /// Send this header with every request to a remote server; ${VAR} is read from the environment. Can be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", help_heading = "MCP servers")]
    pub(crate) headers: Vec<String>,

    /// The environment variable that holds the bearer token for a remote server.
    #[arg(long, value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) bearer_env: Option<String>,

    /// Use only this server from a file that names several. Can be repeated.
    #[arg(long = "server", value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) servers: Vec<String>,

    /// Send requests to an HTTP API here, instead of the server that its description names.
    #[arg(long, value_name = "URL", help_heading = "HTTP APIs")]
    pub(crate) base_url: Option<String>,

    /// Trust level of these sources: untested, generated, accepted, community_reviewed, certified, or file (the level that
    /// an adapter file claims). 'validated' is earned by 'aquifer conformance'. Default: accepted; for an adapter file,
    /// the level it claims, at most generated.
    #[arg(long, value_name = "LEVEL", help_heading = "Safety")]
    pub(crate) trust: Option<TrustSetting>,

    /// Offer only operations that read, for every source.
    #[arg(long, help_heading = "Safety")]
    pub(crate) read_only: bool,

    /// The command that starts an MCP server, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl UpstreamArgs {
    /// Builds the configurations of the sources on the command line: the targets, and the command after `--`.
    pub(crate) fn sources(&self, targets: &[String]) -> anyhow::Result<Vec<SourceConfig>> {
        let named = targets.iter().map(|target| self.source(target));
        let mut named: Vec<SourceConfig> = named.collect::<anyhow::Result<_>>()?;
        match (self.command.is_empty(), named.as_mut_slice()) {
            (true, _) => {}
            // The command starts the server of the adapter file.
            (false, [adapter]) if adapter.target.as_deref().is_some_and(is_adapter) => self.start(adapter),
            (false, _) => {
                let mut started = SourceConfig::default();
                self.start(&mut started);
                named.push(started);
            }
        }
        Ok(named)
    }

    /// Builds the configuration of a source from its target and these arguments.
    fn source(&self, target: &str) -> anyhow::Result<SourceConfig> {
        let mut source = SourceConfig::from_target(target);
        for header in &self.headers {
            // The message does not repeat the value, which may be a secret.
            let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
                anyhow::bail!("--header must be written as NAME: VALUE");
            };
            source.headers.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        source.bearer_env.clone_from(&self.bearer_env);
        source.servers.clone_from(&self.servers);
        source.base_url.clone_from(&self.base_url);
        source.trust = self.trust;
        Ok(source)
    }

    /// Adds the command after `--` to a source.
    fn start(&self, source: &mut SourceConfig) {
        if let Some((program, arguments)) = self.command.split_first() {
            source.trust = self.trust;
            source.command = Some(escaped(program));
            source.args = arguments.iter().map(|word| escaped(word)).collect();
            source.env = self.env.iter().map(|name| (name.clone(), format!("${{{name}}}"))).collect();
        }
    }
}

/// Escapes `${`. The shell has already expanded its variables, so the rest is literal.
fn escaped(word: &str) -> String {
    word.replace("${", "$${")
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Listen on this address instead of 127.0.0.1:3910.
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Serve an MCP client over stdin and stdout.
    #[arg(long)]
    pub(crate) stdio: bool,

    #[command(flatten)]
    pub(crate) confirmation: ConfirmationArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,

    #[command(flatten)]
    pub(crate) access: HttpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// What to serve: sqlite:PATH, a path ending in .db or .sqlite, postgres://USER@HOST/DATABASE, https://… (a remote
    /// MCP server), FILE.json (the MCP servers of a client), NAME-adapter.md, NAME.toml (a configuration), demo: (the
    /// sample shop) or tasks: (the example adapter).
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Serve over HTTP on this address instead of stdin and stdout.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// The configuration file. Default: ./aquifer.toml if no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) confirmation: ConfirmationArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,

    #[command(flatten)]
    pub(crate) access: HttpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The sources, as for 'aquifer serve'; then an operation, or a whole request as a JSON object; then the parameters
    /// as a JSON object, or - to read them from stdin.
    #[arg(value_name = "SOURCE|OPERATION|JSON", required = true)]
    pub(crate) words: Vec<String>,

    #[arg(skip)]
    pub(crate) operation: String,

    #[arg(skip)]
    pub(crate) params: Option<String>,

    /// A source, as an alternative to naming it before the operation. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// The configuration file. Default: ./aquifer.toml if no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The tool to send the request to. Default: the tool that the operation belongs to.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// Show what would be decided about the request and why, without running it.
    #[arg(long)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) confirmation: ConfirmationArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// The sources, as for 'aquifer serve', and one operation or type to show.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) words: Vec<String>,

    #[arg(skip)]
    pub(crate) name: Option<String>,

    /// Search for operations by the words of a task, best match first.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,

    /// A source, as an alternative to naming it before the operation or type. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// The configuration file. Default: ./aquifer.toml if no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print the JSON that a model would get.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) confirmation: ConfirmationArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

/// Parses an address to listen on and resolves names such as localhost.
fn address(text: &str) -> Result<SocketAddr, String> {
    let addresses =
        text.to_socket_addrs().map_err(|_| "use HOST:PORT, for example 127.0.0.1:3910 or localhost:0".to_owned())?;
    // A name may resolve to several addresses. IPv4 comes first, because clients try it first.
    let mut addresses: Vec<SocketAddr> = addresses.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.into_iter().next().ok_or_else(|| "the name does not resolve to an address".to_owned())
}
