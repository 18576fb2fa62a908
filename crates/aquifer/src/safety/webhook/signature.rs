//! Signatures of notices: HMAC-SHA256 (RFC 2104) over the time and the body, so that the service knows who sent them
//! and can refuse those that somebody repeats later.

use aquifer_protocol::hex::hex;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// The block size of SHA-256.
const BLOCK_BYTES: usize = 64;

/// The value of the header: `t=<seconds since 1970>,v1=<HMAC of "t.body" in hexadecimal>`.
pub(super) fn sign(secret: &[u8], time: Timestamp, body: &[u8]) -> String {
    let seconds = time.as_second();
    let mac = hmac_sha256(secret, &[seconds.to_string().as_bytes(), b".", body]);
    format!("t={seconds},v1={}", hex(&mac))
}

/// The HMAC of the concatenated parts.
fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK_BYTES];
    let digest = (key.len() > BLOCK_BYTES).then(|| Sha256::digest(key));
    let key = digest.as_deref().unwrap_or(key);
    for (byte, key_byte) in block.iter_mut().zip(key) {
        *byte = *key_byte;
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4231.
    #[test]
    fn the_mac_is_that_of_the_standard() {
        let cases: [(&[u8], &[u8], &str); 4] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, expected) in cases {
            assert_eq!(hex(&hmac_sha256(key, &[text])), expected);
            let (first, rest) = text.split_at(3);
            assert_eq!(hex(&hmac_sha256(key, &[first, rest])), expected);
        }
    }

    #[test]
    fn a_signature_covers_the_time_and_the_body() {
        let time = Timestamp::UNIX_EPOCH;
        let signature = sign(b"Jefe", time, b"{}");
        assert_eq!(signature, format!("t=0,v1={}", hex(&hmac_sha256(b"Jefe", &[b"0.{}"]))));
        assert_ne!(signature, sign(b"Jefe", time, b"[]"));
        assert_ne!(signature, sign(b"jefe", time, b"{}"));
    }
}
