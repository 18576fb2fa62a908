//! Everything that the program writes to stdout and stderr, except the messages of a stdio server.
//!
//! Text contains names and messages from files, servers and callers, wherever it was put together, so it is escaped here
//! and not by those who print it. A test keeps other modules from writing by themselves.

use std::io::{self, ErrorKind, IsTerminal as _, Write};

use anyhow::Context as _;
use tracing_subscriber::fmt::MakeWriter;

use super::escape::escape_hidden;

/// Prints a line for the person to stderr: `note!("wrote {path}")`.
macro_rules! note {
    () => { $crate::terminal::print_note("\n") };
    ($($words:tt)+) => { $crate::terminal::print_note(&format!("{}\n", format_args!($($words)+))) };
}

/// Prints text for the person to stderr, without a line end. Errors are ignored, because nobody could be told.
pub(crate) fn print_note(words: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(escape_hidden(words).as_bytes()).and_then(|()| err.flush());
}

/// Replaces the current line of the terminal on stderr.
pub(crate) fn replace_line(line: &str) {
    let mut err = io::stderr().lock();
    let line = line.replace('\n', " ");
    let _ = write!(err, "\r\u{1b}[K{}", escape_hidden(&line)).and_then(|()| err.flush());
}

/// Prints a line of text for people to stdout.
pub(crate) fn print_line(text: &str) -> anyhow::Result<()> {
    write_stdout(&[&escape_hidden(text), "\n"])
}

/// Prints what programs read, such as JSON or a generated file, to stdout: exactly, unless a terminal shows it.
pub(crate) fn print_exact(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() { print_line(text) } else { write_stdout(&[text, "\n"]) }
}

/// Prints text for people that contains colors, and no other escapes.
pub(crate) fn print_colored(text: &str) -> anyhow::Result<()> {
    write_stdout(&[&escape_except_colors(text), "\n"])
}

/// Prints text for the person to stdout, without a line end.
pub(crate) fn print(words: &str) -> anyhow::Result<()> {
    write_stdout(&[&escape_hidden(words)])
}

fn write_stdout(pieces: &[&str]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match pieces.iter().try_for_each(|piece| out.write_all(piece.as_bytes())).and_then(|()| out.flush()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to stdout"),
    }
}

fn escape_except_colors(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut escaped = escape_hidden(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let color = piece.split_once('m').filter(|(code, _)| {
            let digits = code.strip_prefix('[').unwrap_or_default();
            (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        let rest = match color {
            Some((code, rest)) => {
                escaped.extend(["\u{1b}", code, "m"]);
                rest
            }
            None => {
                escaped.push_str("\\u001b");
                piece
            }
        };
        escaped.push_str(&escape_hidden(rest));
    }
    escaped
}

/// Writes log events to stderr, each on a line of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    /// The subscriber writes an event at once.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.trim_end_matches('\n').replace('\n', "\\n");
        io::stderr().lock().write_all(format!("{}\n", escape_hidden(&line)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for LogWriter {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn colors_are_the_only_escapes() {
        for (text, expected) in [
            ("\u{1b}[32mPASS\u{1b}[0m ä", "\u{1b}[32mPASS\u{1b}[0m ä"),
            ("\u{1b}[2J\u{1b}[m\u{1b}[1;31mx\u{1b}", "\\u001b[2J\\u001b[m\\u001b[1;31mx\\u001b"),
            ("\u{1b}[31m\u{9b}2J\r\u{202e}", "\u{1b}[31m\\u009b2J\\u000d\\u202e"),
        ] {
            assert_eq!(escape_except_colors(text), expected);
        }
    }

    /// Names where a module writes by itself. The next command would print what it read as it is.
    fn find_writers(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("src/terminal") {
                    find_writers(&path, found);
                }
                continue;
            }
            let code = std::fs::read_to_string(&path).unwrap();
            let writes = |line: &&str| {
                let asks = [
                    "stdout().is_terminal()",
                    "stderr().is_terminal()",
                    "tcgetwinsize(std::io::stdout())",
                    "use_stderr()",
                ];
                let rest = asks.iter().fold(line.to_string(), |rest, ask| rest.replace(ask, ""));
                ["print!(", "println!(", "dbg!(", "stdout()", "stderr()"].iter().any(|name| rest.contains(name))
            };
            found.extend(code.lines().filter(writes).map(|line| format!("{}: {line}", path.display())));
        }
    }

    #[test]
    fn no_other_module_writes_to_the_terminal() {
        let mut found = Vec::new();
        find_writers(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.is_empty(), "use note! or terminal::print_line: {found:#?}");
    }
}
