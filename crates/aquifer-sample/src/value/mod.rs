//! Values: amounts, times and text, and the seeded generator that picks them.

pub(crate) mod cents;
pub(crate) mod moment;
pub(crate) mod rng;
pub(crate) mod text;
