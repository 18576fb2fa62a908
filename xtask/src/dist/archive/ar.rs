//! ar, the outer format of Debian packages.

use anyhow::{Result, bail};

use super::Format;

/// Writes an ar archive with these members, in this order.
pub(crate) fn ar(members: &[(&str, &[u8])], format: Format) -> Result<Vec<u8>> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        if name.len() > 15 {
            bail!("'{name}' is too long for an ar archive");
        }
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format.time, 0, 0, "100644", bytes.len());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    Ok(out)
}
