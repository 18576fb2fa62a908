//! Which columns callers get to see.

mod restriction;
mod secret_names;

pub(crate) use restriction::{Baseline, Mismatch, may_name_rows, possibly_hidden_columns, restrict};
