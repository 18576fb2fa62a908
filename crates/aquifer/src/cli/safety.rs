//! Arguments of the commands about policy, approvals, the audit log and trust.

use std::path::PathBuf;

use aquifer_protocol::trust::Trust;
use clap::{Args, Subcommand};

use super::{ConfirmationArgs, SurfaceArgs, UpstreamArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show a table of operations and decisions for a configuration or for sources.
    #[command(after_help = "\
Examples:
  aquifer policy show demo:
  aquifer policy show                            the sources in ./aquifer.toml
  aquifer policy show agent.toml --only confirm
  aquifer policy show mcp.json --json

Decisions:
  allow    the operation runs
  confirm  the operation runs after a confirmation:
           elicit    the client asks the person who uses it
           token     the caller repeats the request with a token
           approval  the call waits for 'aquifer approvals approve'
  deny     the operation does not run")]
    Show(PolicyShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyShowArgs {
    /// The sources, as for 'aquifer serve'.
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// The configuration file. Default: ./aquifer.toml if no source is named.
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
    pub(crate) confirmation: ConfirmationArgs,

    #[command(flatten)]
    pub(crate) surface: SurfaceArgs,
}

/// Where the state directory is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StateArgs {
    /// The configuration file, which names the state directory. Default: ./aquifer.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The state directory. Default: the directory named in the configuration, or the standard one.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait for a person, and recent decisions.
    #[command(after_help = APPROVALS)]
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Print one request with the whole call, to a terminal, a file or a pager.
    #[command(after_help = APPROVALS)]
    Show {
        /// The id of the request, from 'aquifer approvals list' or the answer to the caller.
        #[arg(value_name = "ID")]
        id: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Show the whole call page by page, and allow it once.
    #[command(after_help = APPROVALS)]
    Approve {
        /// The id of the request, from 'aquifer approvals list' or the answer to the caller.
        #[arg(value_name = "ID")]
        id: String,
        /// Whether later requests to the same destinations need an approval, too.
        #[arg(long, value_name = "CHOICE", default_value = "known")]
        next_time: NextTime,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Deny the request.
    #[command(after_help = APPROVALS)]
    Deny {
        /// The id of the request, from 'aquifer approvals list' or the answer to the caller.
        #[arg(value_name = "ID")]
        id: String,
        /// Why, in at most 500 characters. The caller is told.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        place: StateArgs,
    },
    /// End the pause of callers whose changes are paused, because three of their requests were denied.
    #[command(after_help = APPROVALS)]
    Resume {
        #[command(flatten)]
        place: StateArgs,
    },
    /// List the destinations that people have agreed to: requests that only send something there need no approval.
    #[command(after_help = APPROVALS)]
    Destinations {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Forget destinations, so that requests which send something there need an approval again.
    #[command(after_help = APPROVALS)]
    Forget {
        /// The ids of destinations, from 'aquifer approvals destinations'.
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// Forget all destinations.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        #[command(flatten)]
        place: StateArgs,
    },
    /// Create the admin secret and show it once.
    #[command(after_help = APPROVALS)]
    Secret {
        #[command(flatten)]
        place: StateArgs,
    },
}

/// What an approval says about later requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NextTime {
    /// Requests that only send something to the same destinations need no approval.
    Known,
    /// Requests that only send something to anyone at the same domains need no approval.
    Domain,
    /// Every request needs an approval.
    Ask,
}

const APPROVALS: &str = "\
Examples:
  aquifer approvals secret                       run this first; keep it where no agent can read it
  aquifer approvals list
  aquifer approvals show k3vm7pqa                the whole call; add --json for JSON
  aquifer approvals approve k3vm7pqa --config aquifer.toml
  aquifer approvals deny k3vm7pqa --reason \"Wrong customer\"
  aquifer approvals approve k3vm7pqa --next-time ask
  aquifer approvals destinations                 where requests may go without an approval
  aquifer approvals forget 5d41402abc
  aquifer approvals resume                       after three denials in a row, changes of a caller are paused

Before you approve a call, you see every page of it. Press Space or Enter for the next page, q to quit without approving. \
Secrets are shown as their length and a fingerprint.

Every command needs the admin secret, typed in a terminal. The protection is the secret, not the terminal: any program \
can open a pseudo-terminal. The state directory holds only a hash of the secret. If no secret was created, \
AQUIFER_ADMIN_SECRET is used.

Exit codes: 0 success, 1 you answered no, 2 error.";

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify that no entry was changed, moved or removed.
    #[command(after_help = "\
Examples:
  aquifer audit verify                           everything in the standard location
  aquifer audit verify --config aquifer.toml
  aquifer audit verify --strict                  fail on anything the state store cannot confirm
  aquifer audit verify /var/backups/audit        other files, checked against the same store

The state store keeps the hash of the last entry, the head. Without --strict, entries without a head, entries after the \
head and a missing audit log are not errors, because a crash or a new installation looks the same. Use --strict in cron \
and CI.

Exit codes: 0 intact, 1 something was changed or, with --strict, is in doubt, 2 the audit log cannot be read.")]
    Verify(AuditVerifyArgs),

    /// Show the newest entries, oldest first.
    #[command(after_help = "\
Examples:
  aquifer audit show
  aquifer audit show --last 100 --json | jq 'select(.event == \"OPERATION_OUTCOME\")'")]
    Show(AuditShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// Audit files or directories of them. Default: those of the configuration.
    #[arg(value_name = "DIR|FILE")]
    pub(crate) paths: Vec<PathBuf>,

    /// Also fail on entries that the state store cannot confirm, and if there is nothing to verify.
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
    /// How many entries to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,

    /// Show only the entries of this approval.
    #[arg(long, value_name = "ID")]
    pub(crate) approval: Option<String>,

    /// Print the lines exactly as they are in the files.
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

    /// The new trust level.
    #[arg(long, value_name = "LEVEL", value_parser = parse_trust)]
    pub(crate) to: Trust,

    /// The reason, recorded in the history of the file.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,

    /// Who decided it. Default: the current user.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,

    #[command(flatten)]
    pub(crate) place: StateArgs,
}

fn parse_trust(text: &str) -> Result<Trust, String> {
    Trust::from_name(text).ok_or_else(|| {
        let levels: Vec<&str> = Trust::ALL.iter().map(|level| level.as_str()).collect();
        format!("use one of {}", levels.join(", "))
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExplorerCommand {
    /// Print a link that logs you in once. Asks for the admin secret.
    #[command(after_help = "\
Examples:
  aquifer explorer link
  aquifer explorer link --url http://127.0.0.1:3911

'aquifer serve --http' prints such a link when it starts in a terminal. 'aquifer approvals secret' creates the admin \
secret.")]
    Link {
        /// The address of the server. Default: `explorer_url` or the address in the configuration, or
        /// http://127.0.0.1:3910.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        place: StateArgs,
    },
}

pub(super) const DOCTOR: &str = "\
Examples:
  aquifer doctor                                 check ./aquifer.toml and this machine
  aquifer doctor --config /etc/aquifer/aquifer.toml
  aquifer doctor --offline                       do not start or ask sources
  aquifer doctor --json                          for programs

It starts the MCP servers of the configuration and connects to its databases and remote servers, but calls no operation.

Exit codes: 0 no problems, 1 problems were found, 2 invalid usage.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Do not start or ask any source.
    #[arg(long)]
    pub(crate) offline: bool,

    /// Print one JSON array.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: StateArgs,
}
