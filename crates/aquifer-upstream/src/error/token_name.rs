//! The names under which callers send the confirmation tokens of an upstream.

use aquifer_protocol::operation::TOKEN;

/// What the parameter for a token that the server itself asks for begins with. [`TOKEN`] is ours. The server may stand in
/// front of others that ask for tokens: each level adds this once.
pub(crate) const UPSTREAM: &str = "upstream_";

/// The name here of a parameter that is for a token: `upstream_confirmation_token` for `confirmation_token`. `None` for
/// all other parameters.
pub(crate) fn token_parameter(name: &str) -> Option<String> {
    (name.trim_start_matches(UPSTREAM) == TOKEN).then(|| format!("{UPSTREAM}{name}"))
}
