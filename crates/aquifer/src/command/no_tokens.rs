//! Replaces `aquifer tokens` in builds without the feature `tokens`.

use crate::CommandOutcome;
use crate::cli::TokensArgs;
use crate::config::feature;

pub(crate) async fn run(_arguments: TokensArgs) -> anyhow::Result<CommandOutcome> {
    Err(feature::missing("token counter", "tokens"))
}
