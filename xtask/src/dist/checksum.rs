//! Hashes of files, as `sha256sum --check` reads them.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The content of `SHA256SUMS`.
pub(crate) fn sums<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut lines: Vec<String> = files.map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
    lines.sort_unstable_by(|one, other| one.get(66..).cmp(&other.get(66..)));
    lines.concat()
}
