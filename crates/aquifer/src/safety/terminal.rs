//! A person at a terminal: whoever has none, such as a model with a tool that runs commands, is turned away here.

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::{Context, bail};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

/// Nobody types more.
const LONGEST: usize = 1_000;

/// Refuses unless a person can read what is asked and type the answer.
pub(crate) fn wanted(what: &str) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    bail!("{what} wants a person at a terminal: stdin and stdout must be one")
}

/// Asks for a line that is not shown.
pub(crate) fn secret(prompt: &str) -> anyhow::Result<String> {
    say(prompt)?;
    let silent = Silent::begin()?;
    let mut typed = Vec::new();
    let mut byte = [0_u8];
    let ended = loop {
        if std::io::stdin().lock().read(&mut byte).context("cannot read the terminal")? == 0 {
            break false;
        }
        match byte {
            [b'\n' | b'\r'] => break true,
            // Interrupt, end of input, quit.
            [3 | 4 | 28] => break false,
            [8 | 127] => drop(typed.pop()),
            [byte] if typed.len() < LONGEST => typed.push(byte),
            _ => {}
        }
    };
    drop(silent);
    say("\n")?;
    if !ended {
        bail!("nothing was typed. Nothing was done");
    }
    String::from_utf8(typed).context("what was typed is no text")
}

/// Asks a question that is answered with yes or no. Anything else is no.
pub(crate) fn yes(question: &str) -> anyhow::Result<bool> {
    say(question)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read the terminal")?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Says something to the person.
pub(crate) fn say(words: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(words.as_bytes()).and_then(|()| out.flush()).context("cannot write to the terminal")
}

/// The terminal shows nothing, and hands over keys one by one, until this is dropped. Also Ctrl-C is a key meanwhile, so
/// that nobody leaves the terminal silent.
struct Silent(Termios);

impl Silent {
    fn begin() -> anyhow::Result<Self> {
        let before = termios::tcgetattr(std::io::stdin()).context("the terminal cannot be made silent")?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before the question is no answer to it.
        termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)
            .context("the terminal cannot be made silent")?;
        Ok(Self(before))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
