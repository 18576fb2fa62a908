//! Pages of the documentation, tried as a reader would try them.

mod block;
mod compare;
mod how_to;
mod reader;

pub(crate) use block::{blocks, commands};
pub(crate) use compare::{assert_shown, is_same};
