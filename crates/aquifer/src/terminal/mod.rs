//! Text for people: on a terminal, on stderr, and in commands to run.

#[macro_use]
mod output;

mod escape;
pub(crate) mod pager;
mod prompt;
mod shell_word;

pub(crate) use output::{LogWriter, print, print_colored, print_exact, print_line, print_note, replace_line};
pub(crate) use prompt::{require, require_input, secret, size, yes};
pub(crate) use shell_word::{quoted, quoted_path};
