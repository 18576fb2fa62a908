//! Arguments of the commands about MCP servers: interrogate, review, build, validate, login, logout and init.

use std::path::PathBuf;

use clap::Args;

use super::UpstreamArgs;

#[derive(Debug, Args)]
pub(crate) struct InterrogateArgs {
    /// The server: https://…, a client's FILE.json, or the name of a source in the configuration.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) source: Option<String>,

    /// The configuration file that defines the named server. Default: ./aquifer.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Write the bundle here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The name of the server. Default: derived from the server.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// A bundle, an adapter, a server as for 'aquifer interrogate', or the name of a source in the configuration.
    #[arg(value_name = "BUNDLE|SOURCE|NAME")]
    pub(crate) source: Option<String>,

    /// The configuration file: its sources, and where it stores accepted definitions and the audit log.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A file with earlier decisions, to which the new ones are added.
    #[arg(long, value_name = "FILE")]
    pub(crate) overrides: Option<PathBuf>,

    /// Write the decisions here. Default: the file given with --overrides, or NAME.overrides.yaml.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Accept this tool as it is. With a digest, only if its definition still has that digest. Can be repeated.
    #[arg(long = "accept", value_name = "TOOL[@DIGEST]")]
    pub(crate) accepted: Vec<String>,

    /// Accept every tool as it is.
    #[arg(long)]
    pub(crate) accept_all: bool,

    /// Set a tool's category: CREATE, READ, UPDATE, DELETE or EXECUTE. Can be repeated.
    #[arg(long = "category", alias = "endpoint", value_name = "TOOL=CATEGORY")]
    pub(crate) categories: Vec<String>,

    /// Set a tool's danger level: safe, reversible, destructive, dangerous or forbidden. Can be repeated.
    #[arg(long = "danger", value_name = "TOOL=LEVEL")]
    pub(crate) dangers: Vec<String>,

    /// Show every tool, not only those that need review, and every changed line.
    #[arg(long)]
    pub(crate) all: bool,

    /// The name of the server. Default: derived from the server.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

impl ReviewArgs {
    /// Whether an argument applies to a single server only.
    pub(crate) fn needs_single_server(&self) -> bool {
        !self.categories.is_empty() || !self.dangers.is_empty() || self.output.is_some() || self.name.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The discovery bundle of an MCP server, or the OpenAPI description of an HTTP API: a file, or openapi:FILE or
    /// openapi:URL.
    #[arg(value_name = "BUNDLE|DESCRIPTION")]
    pub(crate) bundle: PathBuf,

    /// A file with the decisions of a review.
    #[arg(long, value_name = "FILE")]
    pub(crate) overrides: Option<PathBuf>,

    /// The base URL of the HTTP API. Default: the one in its description.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// An OpenAPI Overlay to apply to the description. Can be repeated.
    #[arg(long = "overlay", value_name = "FILE")]
    pub(crate) overlays: Vec<PathBuf>,

    /// Include only operations that match this pattern: a name, METHOD /path, or a tag. Can be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,

    /// Exclude operations that match this pattern. Can be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,

    /// The adapter file to write, or a directory for it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// The files to check.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object for each file.
    #[arg(long)]
    pub(crate) json: bool,

    /// Check only the files. Do not connect to the sources of a configuration to see what its rules match.
    #[arg(long)]
    pub(crate) offline: bool,
}

/// The server that a login is for.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The server: https://…, a client's FILE.json, or the name of a source in the configuration.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) server: String,

    /// The configuration file that defines the named server. Default: ./aquifer.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Use this server from a file that names several.
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) server_name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,

    /// Request this scope. Default: the scopes in the configuration, or those the server asks for and those granted
    /// before. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,

    /// Print the address to open instead of starting a browser.
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// How many seconds to wait for the login to finish.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Write a new configuration here instead of to aquifer.toml. Clients that use Aquifer keep their configuration. In a
    /// project, it is for your own servers first.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite a configuration that no client uses, keeping a backup beside it.
    #[arg(long)]
    pub(crate) force: bool,

    /// Replace the servers in each client's own file with Aquifer, keeping a backup of the file beside it.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) apply: bool,

    /// Undo --apply: put the servers of each client back and keep later changes of its file. Also keeps a copy of the file.
    #[arg(long, conflicts_with_all = ["output", "force", "apply", "dry_run"])]
    pub(crate) undo: bool,

    /// Print the configuration instead of writing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
