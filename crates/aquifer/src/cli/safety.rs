//! What can be said about policy, approvals, the audit and trust.

use std::path::PathBuf;

use aquifer_protocol::trust::Trust;
use clap::{Args, Subcommand};

use super::{SurfaceArgs, UpstreamArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// A table of operations and decisions, for a configuration or the sources named.
    #[command(after_help = "\
Examples:
  aquifer policy show demo:
  aquifer policy show                            of ./aquifer.toml
  aquifer policy show agent.toml --only confirm
  aquifer policy show mcp.json --json

allow    it runs
confirm  it runs once somebody said yes: 'elicit' asks the person through the client, 'token' has the request repeated
         with a token, 'approval' waits for 'aquifer approvals approve'
deny     it does not run")]
    Show(PolicyShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyShowArgs {
    /// What to look into, as serve takes it.
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Show only these decisions: allow, confirm or deny. Can be repeated.
    #[arg(long = "only", value_name = "DECISION", value_parser = ["allow", "confirm", "deny"])]
    pub(crate) only: Vec<String>,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

/// Where state is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StateArgs {
    /// Read the configuration from this file, else from ./aquifer.toml; it says where the state is.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The state directory, instead of the configuration's or the usual one.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// What waits for a person, and what was decided lately.
    #[command(after_help = APPROVALS)]
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Print one of them with the whole call. The output may go into a file or a pager.
    #[command(after_help = APPROVALS)]
    Show {
        /// Which, as the list and the caller's answer say.
        #[arg(value_name = "ID")]
        id: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Show the whole call page by page, and let it pass, once.
    #[command(after_help = APPROVALS)]
    Approve {
        /// Which, as the list and the caller's answer say.
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Refuse it.
    #[command(after_help = APPROVALS)]
    Deny {
        /// Which, as the list and the caller's answer say.
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Make the admin secret and show it, once.
    #[command(after_help = APPROVALS)]
    Secret {
        #[command(flatten)]
        place: StateArgs,
    },
}

const APPROVALS: &str = "\
Examples:
  aquifer approvals secret                       first of all: keep it where no agent can read it
  aquifer approvals list
  aquifer approvals show k3vm7pqa                the whole call, also as --json
  aquifer approvals approve k3vm7pqa --config aquifer.toml

Before a call is approved, every page of it is shown: blank or enter for the next page, q to leave without approving.
Secrets are shown as their length and a fingerprint.

All of it needs the admin secret, typed at a terminal: the secret is what protects, since any program can open a
pseudo-terminal. Only its hash is kept, in the state directory; where none was made, AQUIFER_ADMIN_SECRET is the secret.
Exit codes: 0 done, 1 the question was answered with no, 2 not done.";

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Whether every line is what was written, in its place, and none is missing.
    #[command(after_help = "\
Examples:
  aquifer audit verify                           all of the usual place
  aquifer audit verify --config aquifer.toml
  aquifer audit verify --strict                  fail on everything the state store does not vouch for
  aquifer audit verify /var/backups/audit        files elsewhere, held against the same store

Without --strict, entries without a head in the state store, entries after the head and an audit that is gone altogether
are no failure, because a crash or a new installation looks the same. Use --strict in cron and CI.

Exit codes: 0 all is whole, 1 something was changed or, with --strict, is in doubt, 2 it cannot be read.")]
    Verify(AuditVerifyArgs),

    /// The newest entries, oldest first.
    #[command(after_help = "\
Examples:
  aquifer audit show
  aquifer audit show --last 100 --json | jq 'select(.event == \"OPERATION_OUTCOME\")'")]
    Show(AuditShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// Files, or directories of them; else those of the configuration.
    #[arg(value_name = "DIR|FILE")]
    pub(crate) paths: Vec<PathBuf>,

    /// Fail also on entries that no head in the state store vouches for, and when there is nothing to verify.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: StateArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditShowArgs {
    /// How many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,

    /// Print the lines as they stand in the files.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: StateArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The adapter file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The level it gets.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) to: Trust,

    /// Why. It goes into the file's history.
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: String,

    /// Who decided it; else the user who runs this.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,

    #[command(flatten)]
    pub(crate) place: StateArgs,
}

fn level(text: &str) -> Result<Trust, String> {
    Trust::from_name(text).ok_or_else(|| {
        let known: Vec<&str> = Trust::ALL.iter().map(|level| level.as_str()).collect();
        format!("levels are {}", known.join(", "))
    })
}
