//! Identifiers of secrets that may be logged.

use aquifer_protocol::hex::hex_prefix;
use sha2::{Digest as _, Sha256};

/// A loggable identifier for a secret: the beginning of its hash.
fn fingerprint(prefix: &str, secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    format!("{prefix}{}", hex_prefix(&digest, 8))
}

/// The fingerprint of a token.
pub(crate) fn token_fingerprint(token: &str) -> String {
    fingerprint("token_", token)
}

/// The fingerprint of a session.
pub(crate) fn session_fingerprint(session: &str) -> String {
    fingerprint("session_", session)
}
