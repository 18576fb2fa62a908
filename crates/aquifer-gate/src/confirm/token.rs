//! Tokens: format, generation, and keys in the store.

use aquifer_protocol::hex::hex;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Maximum length of a token (R-SAF-3).
const MAX_TOKEN_LEN: usize = 80;

/// What a token is for. A token is only valid for its own purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    /// Confirms an operation.
    Confirmation,
    /// Identifies a question put to a person, so that its answer cannot be forged.
    Question,
    /// Continues after a quota's pause.
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

/// Generates a token with 256 random bits.
pub(super) fn generate(purpose: Purpose) -> Result<String, getrandom::Error> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits)?;
    let mut token = purpose.prefix().to_owned();
    URL_SAFE_NO_PAD.encode_string(bits, &mut token);
    Ok(token)
}

/// The key of a token's record: the token's hash, so that the store holds no tokens. `None` for text that is too long
/// to be a token.
pub(super) fn key(token: &str) -> Option<String> {
    if token.is_empty() || token.len() > MAX_TOKEN_LEN {
        return None;
    }
    Some(format!("gate/token/{}", hex(&Sha256::digest(token.as_bytes()))))
}
