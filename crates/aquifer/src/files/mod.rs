//! Files that users name: they are read within a size limit, and written completely or not at all.

mod read;
pub(crate) mod write;

pub(crate) use read::read;
