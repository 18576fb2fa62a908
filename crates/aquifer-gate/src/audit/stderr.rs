//! The error output, which somebody may have stopped reading.

use std::io::{self, Write as _};
use std::sync::mpsc::{SyncSender, sync_channel};

use super::AuditError;

/// Batches that may wait for a slow reader.
const MAX_WAITING_BATCHES: usize = 64;

/// Writes lines to the error output.
#[derive(Debug)]
pub(super) enum Stderr {
    /// It is the record, so it is waited for.
    Blocking,
    /// The record is elsewhere; what a reader cannot take is lost here.
    Buffered(SyncSender<Vec<u8>>),
}

impl Stderr {
    pub(super) fn new(alone: bool) -> Result<Self, AuditError> {
        if alone {
            return Ok(Stderr::Blocking);
        }
        let (sender, lines) = sync_channel::<Vec<u8>>(MAX_WAITING_BATCHES);
        std::thread::Builder::new()
            .name("audit-stderr".to_owned())
            .spawn(move || {
                for lines in lines {
                    // Nobody to tell.
                    let _ = io::stderr().lock().write_all(&lines);
                }
            })
            .map_err(|error| AuditError::Settings(error.to_string()))?;
        Ok(Stderr::Buffered(sender))
    }

    pub(super) fn write(&self, lines: &[u8]) -> io::Result<()> {
        match self {
            Stderr::Blocking => io::stderr().lock().write_all(lines),
            Stderr::Buffered(sender) => {
                let _ = sender.try_send(lines.to_vec());
                Ok(())
            }
        }
    }
}
