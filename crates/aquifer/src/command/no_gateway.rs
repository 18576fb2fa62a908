//! Replaces the commands about MCP servers in builds without the feature `gateway`.

use crate::CommandOutcome;
use crate::config::feature;

fn missing() -> anyhow::Result<CommandOutcome> {
    Err(feature::missing("support for MCP servers", "gateway"))
}

pub(crate) mod build {
    pub(crate) async fn run(_arguments: crate::cli::BuildArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }
}

pub(crate) mod init {
    pub(crate) fn run(_arguments: crate::cli::InitArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }
}

pub(crate) mod interrogate {
    pub(crate) async fn run(_arguments: crate::cli::InterrogateArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }
}

pub(crate) mod login {
    pub(crate) async fn run(_arguments: crate::cli::LoginArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }

    pub(crate) async fn forget(_arguments: crate::cli::LogoutArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }
}

pub(crate) mod review {
    pub(crate) async fn run(_arguments: crate::cli::ReviewArgs) -> anyhow::Result<crate::CommandOutcome> {
        super::missing()
    }
}
