//! Files that people name, read up to a size: what is named may be anything.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// No configuration, bundle or adapter is larger.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 64 MiB"));
    }
    Ok(text)
}
