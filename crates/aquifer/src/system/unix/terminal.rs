//! The terminal of a person.

use std::io::Result;

use rustix::termios::{self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};

/// The rows and columns of the terminal at standard output. Zero if they are unknown to it.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    termios::tcgetwinsize(std::io::stdout()).ok().map(|size| (size.ws_row, size.ws_col))
}

/// Discards input that was typed and not read yet.
pub(crate) fn discard_input() -> Result<()> {
    Ok(termios::tcflush(std::io::stdin(), QueueSelector::IFlush)?)
}

/// Reads exactly one byte: input that is read ahead could answer a question that was not asked yet.
pub(crate) fn read_byte() -> Result<Option<u8>> {
    let mut byte = [0_u8];
    loop {
        match rustix::io::read(std::io::stdin(), &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(byte.first().copied()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Turns off echo and line buffering until it is dropped. Ctrl-C is an ordinary key in the meantime, so that it cannot
/// leave the terminal without echo.
pub(crate) struct EchoGuard(Termios);

impl EchoGuard {
    pub(crate) fn new() -> Result<Self> {
        let before = termios::tcgetattr(std::io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Input typed before the question is discarded.
        termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
