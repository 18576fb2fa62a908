//! Tokens: what they look like, how they are made, and under which key a store knows them.

use aquifer_protocol::hex::hex;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// No token is longer (R-SAF-3).
const MAX_TOKEN_LEN: usize = 80;

/// What a token is for. A token for one thing is no token for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    /// Confirms an operation.
    Confirmation,
    /// Names a question that was put to a person, so that its answer cannot be made up.
    Question,
    /// Goes on after a quota's pause.
    Quota,
}

impl Purpose {
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Purpose::Confirmation => "conf_",
            Purpose::Question => "confirm_",
            Purpose::Quota => "quota_continue_",
        }
    }
}

/// 256 bits that nobody can guess, as text.
pub(super) fn generate(purpose: Purpose) -> Result<String, getrandom::Error> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits)?;
    let mut token = purpose.prefix().to_owned();
    URL_SAFE_NO_PAD.encode_string(bits, &mut token);
    Ok(token)
}

/// Where the record of a token lies: under its hash, so that whoever reads the store has no tokens. Nothing for what is
/// too long to be one.
pub(super) fn key(token: &str) -> Option<String> {
    if token.is_empty() || token.len() > MAX_TOKEN_LEN {
        return None;
    }
    Some(format!("gate/token/{}", hex(&Sha256::digest(token.as_bytes()))))
}
