//! Results of servers without a query language, shaped here: the language over any JSON (R-DIS-8).

mod controls;

pub use controls::Controls;
pub use controls::names;
pub use controls::offer;
pub use controls::parameters;
pub use controls::take;
