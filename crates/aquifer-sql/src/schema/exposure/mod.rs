//! Determines which columns callers see.

mod credential_tables;
mod restriction;
mod secret_names;

pub(crate) use restriction::{
    Baseline, Mismatch, is_secret_key, may_name_rows, possibly_hidden_columns, restrict, suggestion,
};
