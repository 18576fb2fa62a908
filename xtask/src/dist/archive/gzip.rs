//! gzip, without a file name and with a fixed time.

use std::io::Write as _;

use anyhow::Result;
use flate2::GzBuilder;

use super::Format;

/// Marks the system that compressed as unknown.
const UNKNOWN_SYSTEM: u8 = 255;

/// Compresses with gzip.
pub(crate) fn gzip(bytes: &[u8], format: Format) -> Result<Vec<u8>> {
    let out = Vec::with_capacity(bytes.len() / 2);
    let mut writer = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM).write(out, format.effort.level());
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}
