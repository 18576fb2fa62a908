//! Text for people: on a terminal, on stderr, and in commands to run.

mod escape;
pub(crate) mod pager;
mod prompt;
mod shell_word;

pub(crate) use escape::escape_hidden;
pub(crate) use prompt::{print, require, require_input, secret, size, yes};
pub(crate) use shell_word::{quoted, quoted_path};
