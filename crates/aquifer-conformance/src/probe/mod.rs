//! Values that follow a parameter's description, and values that break it.

mod broken;
mod value;

pub(crate) use broken::{breaches, wrong_type};
pub(crate) use value::Values;
