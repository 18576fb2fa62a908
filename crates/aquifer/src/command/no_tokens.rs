//! Replaces `aquifer tokens` in builds without the feature `tokens`.

use crate::Ending;
use crate::cli::TokensArgs;
use crate::feature;

pub(crate) async fn run(_arguments: TokensArgs) -> anyhow::Result<Ending> {
    Err(feature::missing("token counter", "tokens"))
}
