//! The console of a person.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Result};

use crossterm_winapi::{Console, ConsoleMode, Handle, ScreenBuffer};
use parking_lot::Mutex;

/// Ctrl-C as a signal, whole lines, and echo.
const LINE_MODE: u32 = 0x0001 | 0x0002 | 0x0004;

/// The rows and columns of the console window.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    let size = ScreenBuffer::current().and_then(|screen| screen.info()).ok()?.terminal_size();
    Some((u16::try_from(size.height).ok()?, u16::try_from(size.width).ok()?))
}

/// The input of the console, which holds the rest of a line that was read in part.
static INPUT: Mutex<Option<File>> = Mutex::new(None);

/// Discards input that was typed and not read yet.
pub(crate) fn discard_input() -> Result<()> {
    *INPUT.lock() = None;
    Console::from(Handle::current_in_handle()?).read_console_input().map(drop)
}

/// Reads exactly one byte from the console: standard input would read ahead, and that could answer a question that was
/// not asked yet.
pub(crate) fn read_byte() -> Result<Option<u8>> {
    let mut input = INPUT.lock();
    let console = match input.as_mut() {
        Some(console) => console,
        None => input.insert(OpenOptions::new().read(true).write(true).open("CONIN$")?),
    };
    let mut byte = [0_u8];
    let read = console.read(&mut byte)?;
    Ok(byte.first().copied().filter(|_| read > 0))
}

/// Turns off echo and line buffering until it is dropped. Ctrl-C is an ordinary key in the meantime, so that it cannot
/// leave the console without echo.
pub(crate) struct EchoGuard(u32);

impl EchoGuard {
    pub(crate) fn new() -> Result<Self> {
        let mode = ConsoleMode::from(Handle::current_in_handle()?);
        let before = mode.mode()?;
        mode.set_mode(before & !LINE_MODE)?;
        let guard = Self(before);
        // Input typed before the question is discarded.
        discard_input()?;
        Ok(guard)
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        if let Ok(input) = Handle::current_in_handle() {
            let _ = ConsoleMode::from(input).set_mode(self.0);
        }
    }
}
