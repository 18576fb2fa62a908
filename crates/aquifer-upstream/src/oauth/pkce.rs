//! PKCE (RFC 7636) and `state`: proof that the client that redeems a code is the one that requested it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::error::LoginError;

/// A random value that cannot be guessed.
pub(crate) fn random_token() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| LoginError::new("the system gives no randomness"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier: its SHA-256.
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Compares two texts in constant time.
pub(crate) fn constant_time_eq(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one.as_bytes()), Sha256::digest(other.as_bytes()));
    one.iter().zip(other.iter()).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_digest_of_its_verifier() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random_token().unwrap(), random_token().unwrap());
        assert!(one.len() == 43 && one != other);
        assert!(constant_time_eq(&one, &one.clone()) && !constant_time_eq(&one, &other));
    }
}
