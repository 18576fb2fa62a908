//! Reads files that users name, with a size limit.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// The maximum size of a configuration, bundle or adapter.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 64 MiB"));
    }
    Ok(text)
}
