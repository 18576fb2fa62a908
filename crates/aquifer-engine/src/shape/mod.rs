//! Results shaped after a source gave them, and held for later pages.

pub use aquifer_query::shape::Controls;
pub use aquifer_query::shape::offer;
pub use aquifer_query::shape::parameters;
