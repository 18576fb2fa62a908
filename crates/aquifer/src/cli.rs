//! What can be said on the command line. Help, completions and parsing all come from here.

mod conformance;
mod gateway;
mod safety;
mod targets;
mod tokens;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::SourceConfig;
use crate::safety::TrustSaid;
pub(crate) use conformance::{
    BAD_USAGE, ConformanceArgs, ConformanceCommand, ConformanceReportArgs, ConformanceRunArgs, ReportOutput,
};

pub(crate) use gateway::{
    BuildArgs, InitArgs, InterrogateArgs, LoginArgs, LogoutArgs, RemoteArgs, ReviewArgs, ValidateArgs,
};
pub(crate) use safety::{
    ApprovalsCommand, AuditCommand, AuditShowArgs, AuditVerifyArgs, PolicyCommand, PolicyShowArgs, StateArgs, TrustArgs,
};
pub(crate) use targets::{choose_config, is_config, usual_config};
pub(crate) use tokens::TokensArgs;

/// Any MCP server, SQLite or PostgreSQL database behind MCP-AQL: one to five tools instead of hundreds.
#[derive(Debug, Parser)]
#[command(name = "aquifer", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What to log to stderr: error, warn, info, debug, trace, or a filter such as aquifer_engine=debug.
    #[arg(long, global = true, env = "AQUIFER_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

impl Cli {
    /// Reads the command line; help, or what is wrong with it, ends the process.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|problem| {
            if problem.use_stderr() && conformance::is_meant() {
                let _ = problem.print();
                std::process::exit(BAD_USAGE.into());
            }
            problem.exit()
        })
    }
}

const EXAMPLES: &str = "\
Examples:
  aquifer demo                                   try it: a sample shop over HTTP
  aquifer demo --stdio                           the same for an MCP client that starts servers itself
  aquifer serve sqlite:my.db                     your database, for an MCP client
  aquifer serve mcp.json                         the MCP servers you have, as one to five tools
  aquifer init                                   find them on this machine
  aquifer login https://mcp.example.com/mcp      for those on the web that want a login
  aquifer introspect demo:                       which operations are there?
  aquifer call demo: get_order '{\"id\": 1}'
  aquifer policy show aquifer.toml               what can my agent do?
  aquifer tokens mcp.json                        what does a model pay for my servers?
  aquifer conformance --allow-writes -- aquifer demo --stdio
                                                 does a server speak MCP-AQL as published?

Sources are named in the same way in every command. Where none is named, ./aquifer.toml is used.

Exit codes: 0 done, 1 the answer was a failure or an MCP server is not there, 2 bad usage or
configuration; those of conformance are its own.
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
  aquifer serve mcp.json                         the MCP servers that a client's file names
  aquifer serve https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
                                                 an MCP server on the web
  aquifer serve -- npx -y @modelcontextprotocol/server-filesystem .
                                                 an MCP server that is started
  aquifer serve github-adapter.md --env GITHUB_TOKEN -- npx -y github-server
                                                 a reviewed adapter, and the server it is for
  aquifer serve agent.toml                       what the file says
  aquifer serve                                  the same of ./aquifer.toml
  aquifer serve shop.db --read-only              nothing that writes

The configuration and the files it names are watched: a change of sources or [gate] takes effect as a whole, a second or
two after the file was last written, and a broken one is reported and ignored. Other sections wait for a restart. SIGHUP
reads it right away and has every source look again what it offers.

Environment: MCP_AQL_ENDPOINT_MODE, MCP_AQL_ENDPOINT_PROFILE, MCP_AQL_TOOL_PREFIX.
A flag beats the environment, the environment beats the file.")]
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
                                                 would it run? which rule, matrix cell or quota says so?
  aquifer call list_products                     of the sources in ./aquifer.toml

What has to be confirmed answers CONFIRMATION_REQUIRED with a token: call it again with the token as the parameter
confirmation_token."
    )]
    Call(CallArgs),

    /// Show the catalogue to a person.
    #[command(
        override_usage = "aquifer introspect [SOURCE]... [NAME] [OPTIONS] [-- COMMAND...]",
        after_help = "\
Examples:
  aquifer introspect demo:                       every operation
  aquifer introspect demo: get_order             one operation with its parameters
  aquifer introspect demo: --search \"late orders\"
  aquifer introspect demo: --json                as a model sees it
  aquifer introspect                             the sources in ./aquifer.toml"
    )]
    Introspect(IntrospectArgs),

    /// Ask an MCP server what it offers and write a discovery bundle. No tool is called.
    #[command(after_help = "\
Examples:
  aquifer interrogate -o files.bundle.json -- npx -y @modelcontextprotocol/server-filesystem .
  aquifer interrogate https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
  aquifer interrogate mcp.json --server github -o github.bundle.json

The time of the capture is written into the bundle; SOURCE_DATE_EPOCH sets it.")]
    Interrogate(InterrogateArgs),

    /// Look at what needs a person's judgement, and write down what was decided.
    #[command(after_help = "\
Examples:
  aquifer review files.bundle.json               in a terminal it asks, elsewhere it lists
  aquifer review files.bundle.json --accept-all
  aquifer review files.bundle.json --accept read_file --endpoint touch=UPDATE
  aquifer review files-adapter.md -- npx -y @modelcontextprotocol/server-filesystem .
                                                 has the server changed since the adapter was reviewed?
  aquifer review files                           what of a configured server is quarantined, and why? How is it accepted?

A tool whose definition changes after it was first served is quarantined: it cannot be called until its change is accepted
here. A running gateway notices that within seconds. Exit codes: 0 nothing is left to review, 1 something is, 2 bad usage.")]
    Review(ReviewArgs),

    /// Build an adapter file from a discovery bundle.
    #[command(after_help = "\
Examples:
  aquifer build files.bundle.json                files-adapter.md, and its sidecar beside it
  aquifer build files.bundle.json --overrides files.overrides.yaml -o adapters/")]
    Build(BuildArgs),

    /// Check adapters, bundles, overrides, configurations and files of MCP clients.
    #[command(after_help = "\
Examples:
  aquifer validate files-adapter.md
  aquifer validate aquifer.toml mcp.json files.bundle.json files.overrides.yaml
  aquifer validate --offline aquifer.toml        without asking its sources what the rules match

The rules of a configuration are held against what its sources offer: a rule that matches nothing is wrong. Exit codes: 0 all are right, 1 something is wrong with one, 2 one cannot be read.")]
    Validate(ValidateArgs),

    /// Log in to an MCP server on the web that wants a login (OAuth).
    #[command(after_help = "\
Examples:
  aquifer login https://mcp.example.com/mcp      opens a browser, and waits until you are back
  aquifer login mcp.json --server example        a server of a client's file
  aquifer login example                          a server of ./aquifer.toml
  aquifer login example --config aquifer.toml --scope notes.read --scope notes.write
  aquifer login https://mcp.example.com/mcp --no-browser
                                                 only shows where to go. If the browser is on another machine, paste
                                                 the address that it ends at

The login is kept in the state directory, for you alone to read, and renews itself. A running server takes it up by
itself. Exit codes: 0 logged in, 1 not, 2 bad usage.")]
    Login(LoginArgs),

    /// Forget a login, and have it revoked where that is possible.
    #[command(after_help = "\
Examples:
  aquifer logout https://mcp.example.com/mcp
  aquifer logout example --config aquifer.toml")]
    Logout(LogoutArgs),

    /// What can my agent do? Every operation, and what happens when it is called.
    #[command(subcommand)]
    Policy(PolicyCommand),

    /// Say yes or no to what waits for a person.
    #[command(subcommand)]
    Approvals(ApprovalsCommand),

    /// Read what was decided and done, and whether anybody has changed it since.
    #[command(subcommand)]
    Audit(AuditCommand),

    /// Change how far an adapter file is trusted, with the reason in its history.
    #[command(after_help = "\
Examples:
  aquifer trust files-adapter.md --to validated --reason \"read every operation, ran the tests\"
  aquifer trust files-adapter.md --to untested --reason \"the server was replaced\"

One level up at a time, any number down: untested, generated, validated, community_reviewed, certified. What a file says
of itself counts up to 'generated'; what this command gives it counts on this machine, until the file is changed. A 'trust'
beside it in the configuration beats both.
Exit codes: 0 changed, 2 not.")]
    Trust(TrustArgs),

    /// Drive any MCP-AQL server and say which conformance level it gets, and why not more.
    #[command(after_help = conformance::HELP)]
    Conformance(ConformanceArgs),

    /// Find the MCP clients on this machine and write a configuration with the servers they have.
    #[command(after_help = "\
Examples:
  aquifer init                                   write aquifer.toml, and say what to paste into each client
  aquifer init --apply                           and put it into each client's own file
  aquifer init --dry-run                         only show it
  aquifer init -o ~/.config/aquifer/aquifer.toml

Values that may be secret go into a file beside the configuration that only you can read (aquifer.env, mode 0600), never
into the configuration. Placeholders such as <your-token> are no values: they are asked for on a terminal, and else named.
Only --apply changes clients' files. It keeps a copy of each, with everything else in it as it was. Exit codes: 0 done, 1 a
client's file could not be changed, 2 bad usage, or nothing was found.")]
    Init(InitArgs),

    /// What a model pays, in tokens: at connect, to look around, and for whole tasks.
    #[command(after_help = tokens::EXAMPLES)]
    Tokens(TokensArgs),

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

/// How MCP servers are started and reached.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpstreamArgs {
    /// An environment variable that the command after -- gets; it sees no others but the usual few. Can be repeated.
    #[arg(long = "env", value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) env: Vec<String>,

    /// A header for every request to a server on the web; ${VAR} is read from the environment. Can be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", help_heading = "MCP servers")]
    pub(crate) headers: Vec<String>,

    /// The environment variable that holds a bearer token for a server on the web.
    #[arg(long, value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) bearer_env: Option<String>,

    /// Of a file that names several servers: only this one. Can be repeated.
    #[arg(long = "server", value_name = "NAME", help_heading = "MCP servers")]
    pub(crate) servers: Vec<String>,

    /// How far the sources named here are trusted: untested, generated, validated, community_reviewed, certified, or file
    /// (the word of an adapter file). Else validated, and of an adapter file what it says up to generated.
    #[arg(long, value_name = "LEVEL", help_heading = "Safety")]
    pub(crate) trust: Option<TrustSaid>,

    /// Offer nothing but operations that only read, of every source.
    #[arg(long, help_heading = "Safety")]
    pub(crate) read_only: bool,

    /// An MCP server to start, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl UpstreamArgs {
    /// What is said of a target.
    pub(crate) fn source(&self, target: &str) -> anyhow::Result<SourceConfig> {
        let mut source = SourceConfig::of(target);
        for header in &self.headers {
            // What is wrong is not repeated: it may be a secret.
            let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
                anyhow::bail!("a --header is not written as NAME: VALUE");
            };
            source.headers.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        source.bearer_env.clone_from(&self.bearer_env);
        source.servers.clone_from(&self.servers);
        source.trust = self.trust;
        Ok(source)
    }

    /// What is said of the command.
    pub(crate) fn start(&self, source: &mut SourceConfig) {
        if let Some((program, arguments)) = self.command.split_first() {
            source.trust = self.trust;
            source.command = Some(escaped(program));
            source.args = arguments.iter().map(|word| escaped(word)).collect();
            source.env = self.env.iter().map(|name| (name.clone(), format!("${{{name}}}"))).collect();
        }
    }
}

/// The shell has already put in what it knows; what looks like a reference now is meant as it stands.
fn escaped(word: &str) -> String {
    word.replace("${", "$${")
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
    /// What to serve: sqlite:PATH, a path ending in .db or .sqlite, postgres://USER@HOST/DATABASE, https://… (an MCP
    /// server), FILE.json (the MCP servers of a client), NAME-adapter.md, NAME.toml (a configuration), demo: (a sample
    /// shop) or tasks: (the example adapter).
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Listen on this address instead of talking on stdin and stdout.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,

    #[command(flatten)]
    pub(crate) access: HttpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The sources, as serve takes them; an operation, or a whole request as a JSON object; its parameters as a JSON object,
    /// or - to read them from stdin.
    #[arg(value_name = "SOURCE|OPERATION|JSON", required = true)]
    pub(crate) words: Vec<String>,

    #[arg(skip)]
    pub(crate) operation: String,

    #[arg(skip)]
    pub(crate) params: Option<String>,

    /// A source, as before the operation. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The tool that is to receive the request; by default the right one.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// Say what would be decided about the request and why, and do nothing.
    #[arg(long)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// The sources, as serve takes them, and one operation or type to explain.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) words: Vec<String>,

    #[arg(skip)]
    pub(crate) name: Option<String>,

    /// Rank operations by the words of a task.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,

    /// A source, as before the name. Can be repeated.
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print what a model would get.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

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
