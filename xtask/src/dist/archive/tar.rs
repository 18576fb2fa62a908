//! tar, in the format of POSIX (ustar), which every program reads.

use anyhow::{Context, Result, bail};

use super::{Content, Format, Tree};

const BLOCK: usize = 512;
const MAX_NAME: usize = 100;

/// Writes a tar archive.
pub(crate) fn tar(tree: &Tree, format: Format) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(tree.size() + (1 << 16));
    for (path, mode, content) in tree.entries() {
        let (kind, bytes): (u8, &[u8]) = match content {
            Content::File(bytes) => (b'0', bytes),
            Content::Directory => (b'5', &[]),
        };
        let name = if kind == b'5' { format!("{path}/") } else { path.to_owned() };
        let header = header(&name, mode, kind, bytes.len(), format.time);
        out.extend(header.with_context(|| format!("cannot pack {path}"))?);
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    Ok(out)
}

fn header(name: &str, mode: u32, kind: u8, size: usize, time: u64) -> Result<[u8; BLOCK]> {
    let mut header = [0; BLOCK];
    let mut put = |offset: usize, text: &str, max: usize| -> Result<()> {
        let field = header.get_mut(offset..offset + text.len());
        let Some(field) = field.filter(|_| text.len() <= max) else { bail!("'{text}' is too long for a tar archive") };
        field.copy_from_slice(text.as_bytes());
        Ok(())
    };
    put(0, name, MAX_NAME)?;
    put(100, &format!("{mode:07o}"), 8)?;
    put(108, "0000000", 8)?;
    put(116, "0000000", 8)?;
    put(124, &format!("{size:011o}"), 12)?;
    put(136, &format!("{time:011o}"), 12)?;
    // The checksum is computed as if it were spaces.
    put(148, "        ", 8)?;
    put(156, char::from(kind).encode_utf8(&mut [0; 4]), 1)?;
    put(257, "ustar\x0000", 8)?;
    put(265, "root", 32)?;
    put(297, "root", 32)?;
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    let checksum = format!("{sum:06o}\0 ");
    if let Some(field) = header.get_mut(148..156) {
        field.copy_from_slice(checksum.as_bytes());
    }
    Ok(header)
}
