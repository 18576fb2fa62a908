//! Standard error as a sink. Its reader may be slow or gone.

use std::io::{self, Write as _};
use std::sync::mpsc::{SyncSender, sync_channel};

use super::AuditError;

/// Maximum number of batches that wait for a slow reader.
const MAX_WAITING_BATCHES: usize = 64;

/// Writes lines to standard error.
#[derive(Debug)]
pub(super) enum Stderr {
    /// Standard error is the only sink, so writing blocks.
    Blocking,
    /// There are other sinks; lines are lost here if the reader is too slow.
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
                    // There is nowhere to report an error.
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
