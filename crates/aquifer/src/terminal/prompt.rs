//! Requires a person at a terminal. Callers without one, such as a model with a tool that runs commands, are refused.

use std::io::IsTerminal as _;

use anyhow::{Context, bail};

use super::output::{print, print_note};
use crate::system::{self, EchoGuard};

/// The maximum length of a typed line.
const MAX_LEN: usize = 1_000;

/// Fails unless a person can read the question and type the answer.
pub(crate) fn require(what: &str) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    bail!("{what} needs a person at a terminal: stdin and stdout must be connected to it")
}

/// Fails unless a person can type. The output may go to a file.
pub(crate) fn require_input(what: &str) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    bail!("{what} needs the admin secret, typed by a person: stdin must be a terminal")
}

/// Whether a person can read a question and type the answer. The output may go to a file.
pub(crate) fn has_person() -> bool {
    std::io::stdin().is_terminal() && (std::io::stdout().is_terminal() || std::io::stderr().is_terminal())
}

/// Reads a line without echo.
pub(crate) fn secret(prompt: &str) -> anyhow::Result<String> {
    prompt_with(prompt)?;
    let silent = silence()?;
    let mut typed = Vec::new();
    let ended = loop {
        match read_byte()? {
            Some(b'\n' | b'\r') => break true,
            // Interrupt, end of input, quit.
            None | Some(3 | 4 | 28) => break false,
            Some(8 | 127) => drop(typed.pop()),
            Some(byte) if typed.len() < MAX_LEN => typed.push(byte),
            Some(_) => {}
        }
    };
    drop(silent);
    prompt_with("\n")?;
    if !ended {
        bail!("nothing was typed. Nothing was done");
    }
    String::from_utf8(typed).context("the input is not valid text")
}

/// Asks a yes-or-no question. Any other answer is no, and input typed before the question is discarded.
pub(crate) fn yes(question: &str) -> anyhow::Result<bool> {
    system::discard_input().context("cannot read the terminal")?;
    prompt_with(question)?;
    let mut line = Vec::new();
    while let Some(byte) = read_byte()?.filter(|byte| *byte != b'\n') {
        if line.len() == MAX_LEN {
            return Ok(false);
        }
        line.push(byte);
    }
    Ok(matches!(line.trim_ascii().to_ascii_lowercase().as_slice(), b"y" | b"yes"))
}

/// A key pressed at the end of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// Space or Enter.
    Next,
    /// `q`, Ctrl-C, Ctrl-D, or the end of the input.
    Leave,
}

/// Shows a prompt and waits for a key. Keys pressed before the prompt are ignored.
pub(crate) fn key(prompt: &str) -> anyhow::Result<Key> {
    let silent = silence()?;
    print(prompt)?;
    let key = loop {
        match read_byte()? {
            Some(b' ' | b'\n' | b'\r') => break Key::Next,
            None | Some(b'q' | b'Q' | 3 | 4 | 28) => break Key::Leave,
            Some(_) => {}
        }
    };
    drop(silent);
    print("\n")?;
    Ok(key)
}

/// The rows and columns of the terminal, or a default if they are unknown.
pub(crate) fn size() -> (usize, usize) {
    let size = system::terminal_size();
    let or = |length: Option<u16>, usual: usize| length.filter(|length| *length > 0).map_or(usual, usize::from);
    (or(size.map(|(rows, _)| rows), 24), or(size.map(|(_, columns)| columns), 80))
}

/// Reads one byte.
fn read_byte() -> anyhow::Result<Option<u8>> {
    system::read_byte().context("cannot read the terminal")
}

/// Turns off echo until the guard is dropped.
fn silence() -> anyhow::Result<EchoGuard> {
    EchoGuard::new().context("cannot turn off the echo of the terminal")
}

/// Shows a prompt that is visible even if the output goes to a file.
fn prompt_with(words: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() {
        return print(words);
    }
    print_note(words);
    Ok(())
}
