//! Text for people: at a terminal, on stderr, and as words of a command to run.

mod escape;
pub(crate) mod pager;
mod prompt;
mod shell_word;

pub(crate) use escape::escape_hidden;
pub(crate) use prompt::{print, require, require_input, secret, size, yes};
pub(crate) use shell_word::quoted;
