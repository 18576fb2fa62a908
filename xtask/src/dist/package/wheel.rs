//! The Python wheel: the binary as a script, so that `uvx aquifer-mcp` and `pip install` put it on the path.

use anyhow::Result;
use sha2::{Digest as _, Sha256};

use super::{Kind, Package, Parts, text};
use crate::dist::archive::Tree;
use crate::dist::archive::zip;
use crate::dist::platform::Linkage;
use crate::dist::release::{PACKAGE, REPOSITORY, SUMMARY};

pub(super) fn pack(parts: &Parts) -> Result<Package> {
    let (version, distribution) = (&parts.release.version, PACKAGE.replace('-', "_"));
    let stem = format!("{distribution}-{version}");
    let (scripts, info) = (format!("{stem}.data/scripts"), format!("{stem}.dist-info"));
    let tags = platform_tags(parts);
    let mut tree = Tree::default();
    tree.add_file(&format!("{scripts}/aquifer"), 0o755, parts.binary.clone())?;
    tree.add_file(&format!("{scripts}/{PACKAGE}"), 0o755, text("packaging/python/aquifer-mcp")?.into_bytes())?;
    tree.add_file(&format!("{info}/METADATA"), 0o644, metadata(version)?.into_bytes())?;
    tree.add_file(&format!("{info}/WHEEL"), 0o644, wheel(&tags).into_bytes())?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.add_file(&format!("{info}/licenses/{licence}"), 0o644, text(licence)?.into_bytes())?;
    }
    let record = record(&tree, &format!("{info}/RECORD"));
    tree.add_file(&format!("{info}/RECORD"), 0o644, record.into_bytes())?;
    let file = format!("{stem}-py3-none-{}.whl", tags.join("."));
    Ok(Package { kind: Kind::Wheel, file, bytes: zip(&tree, parts.format())?, installed_size: tree.size() })
}

/// A static binary runs with every C library, so one wheel is for glibc and musl.
fn platform_tags(parts: &Parts) -> Vec<String> {
    let machine = parts.platform.python();
    let systems: &[&str] = match parts.linkage {
        Linkage::Static => &["manylinux_2_17", "manylinux2014", "musllinux_1_1"],
        Linkage::Dynamic => &["linux"],
    };
    systems.iter().map(|system| format!("{system}_{machine}")).collect()
}

fn metadata(version: &str) -> Result<String> {
    Ok(format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {version}\nSummary: {SUMMARY}\n\
         Project-URL: Homepage, {REPOSITORY}\nLicense-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\n\
         License-File: LICENSE-MIT\nKeywords: mcp,mcp-aql,sqlite,postgresql,openapi,gateway\n\
         Classifier: Operating System :: POSIX :: Linux\nClassifier: Programming Language :: Rust\n\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
        text("packaging/python/README.md")?
    ))
}

fn wheel(tags: &[String]) -> String {
    let tags: String = tags.iter().map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: aquifer xtask\nRoot-Is-Purelib: false\n{tags}")
}

/// The list of files with their hashes and sizes. It cannot contain its own hash.
fn record(tree: &Tree, own: &str) -> String {
    let lines = tree
        .files()
        .map(|(path, _, bytes)| format!("{path},sha256={},{}\n", unpadded_base64(&Sha256::digest(bytes)), bytes.len()));
    lines.collect::<String>() + &format!("{own},,\n")
}

/// Base64 for URLs, without padding.
fn unpadded_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| (group << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            let digit = (group >> (18 - 6 * index)) & 63;
            let digit = usize::try_from(digit).ok().and_then(|digit| ALPHABET.get(digit));
            out.extend(digit.copied().map(char::from));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_python_does() {
        for (bytes, expected) in
            [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\xfc", "__79_A")]
        {
            assert_eq!(unpadded_base64(bytes), expected);
        }
    }
}
