//! What can be said about MCP servers: asking, reviewing, building, checking, logging in.

use std::path::PathBuf;

use clap::Args;

use super::UpstreamArgs;

#[derive(Debug, Args)]
pub(crate) struct InterrogateArgs {
    /// The server: https://…, FILE.json of a client, or the name it has in the configuration.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) source: Option<String>,

    /// Read the configuration from this file, else from ./aquifer.toml, where a server is named that it has.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Write the bundle here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What the server is called; else it is guessed.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// A bundle, an adapter, a server as interrogate takes it, or the name of one in the configuration.
    #[arg(value_name = "BUNDLE|SOURCE|NAME")]
    pub(crate) source: Option<String>,

    /// Read the configuration from this file: its sources, where accepted definitions are kept, and the audit.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Decisions made before; they are kept and added to.
    #[arg(long, value_name = "FILE")]
    pub(crate) overrides: Option<PathBuf>,

    /// Write the decisions here; else into the file of --overrides, else NAME.overrides.yaml.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// This tool was looked at and is right as it is; with a digest, only if it is still that definition. Can be repeated.
    #[arg(long = "accept", value_name = "TOOL[@DIGEST]")]
    pub(crate) accepted: Vec<String>,

    /// Every tool was looked at and is right as it is.
    #[arg(long)]
    pub(crate) accept_all: bool,

    /// A tool's category: CREATE, READ, UPDATE, DELETE or EXECUTE. Can be repeated.
    #[arg(long = "endpoint", value_name = "TOOL=CATEGORY")]
    pub(crate) endpoints: Vec<String>,

    /// A tool's danger: safe, reversible, destructive, dangerous or forbidden. Can be repeated.
    #[arg(long = "danger", value_name = "TOOL=LEVEL")]
    pub(crate) dangers: Vec<String>,

    /// Show every tool, not only those that need review, and every line of what changed.
    #[arg(long)]
    pub(crate) all: bool,

    /// What the server is called; else it is guessed.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

impl ReviewArgs {
    /// Whether something is said that can be about one server only.
    pub(crate) fn is_about_one(&self) -> bool {
        !self.endpoints.is_empty() || !self.dangers.is_empty() || self.output.is_some() || self.name.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The discovery bundle.
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,

    /// A reviewer's decisions.
    #[arg(long, value_name = "FILE")]
    pub(crate) overrides: Option<PathBuf>,

    /// The adapter's file, or the folder for it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write over files that are there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// What to check.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object for each file.
    #[arg(long)]
    pub(crate) json: bool,

    /// Look only at the files: do not ask the sources of a configuration what its rules match.
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Which server's login.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The server: https://…, FILE.json of a client, or the name it has in the configuration.
    #[arg(value_name = "SOURCE|NAME")]
    pub(crate) server: String,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Of a file that names several servers: this one.
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) one: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,

    /// What to ask for; else what the configuration says, else what the server wants and was granted before. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,

    /// Show where to go, and open nothing.
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// How many seconds to wait for you.
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
    /// Write the configuration here instead of to aquifer.toml.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write over a configuration that is there. A copy of it is kept beside it.
    #[arg(long)]
    pub(crate) force: bool,

    /// Put Aquifer into each client's own file in place of the servers it has now. A copy of the file is kept beside it.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) apply: bool,

    /// Print the configuration instead of writing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
