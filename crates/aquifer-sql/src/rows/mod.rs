//! Writes rows as JSON text, which is not parsed again.

pub(crate) mod cell;
mod collector;
mod media_type;
mod selection_cache;
mod shape;
pub(crate) mod time;
pub(crate) mod time_digits;

pub(crate) use collector::RowCollector;
pub(crate) use selection_cache::{CachedSelection, SelectionCache};
pub(crate) use shape::{CellContent, CellType, CursorSource, OutputField, ResultRow, RowShape, write_objects};
