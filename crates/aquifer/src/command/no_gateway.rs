//! Replaces the commands about MCP servers in builds without the feature `gateway`.

use crate::Ending;
use crate::feature;

fn missing() -> anyhow::Result<Ending> {
    Err(feature::missing("support for MCP servers", "gateway"))
}

pub(crate) mod build {
    pub(crate) async fn run(_arguments: crate::cli::BuildArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }
}

pub(crate) mod init {
    pub(crate) fn run(_arguments: crate::cli::InitArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }
}

pub(crate) mod interrogate {
    pub(crate) async fn run(_arguments: crate::cli::InterrogateArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }
}

pub(crate) mod login {
    pub(crate) async fn run(_arguments: crate::cli::LoginArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }

    pub(crate) async fn forget(_arguments: crate::cli::LogoutArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }
}

pub(crate) mod review {
    pub(crate) async fn run(_arguments: crate::cli::ReviewArgs) -> anyhow::Result<crate::Ending> {
        super::missing()
    }
}
