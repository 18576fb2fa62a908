//! Text for people: on a terminal and on stderr.

#[macro_use]
mod output;

mod escape;
pub(crate) mod pager;
mod prompt;

pub(crate) use output::{LogWriter, print, print_colored, print_exact, print_line, print_note, replace_line};
pub(crate) use prompt::{has_person, require, require_input, secret, size, yes};
