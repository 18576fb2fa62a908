//! Results of servers without a query language, shaped here: the language over any JSON (R-DIS-8).
//!
//! A result is seen as a [`Subject`]: rows, one thing, or text. Of rows some are [`Picked`] by what was [`Asked`], with
//! the code that the language has for it, over a collection described from the rows themselves. What is shown is then
//! moved out of the result, or copied where the result is held for later pages. Nothing here holds anything: who does
//! gives the cursors.

mod asked;
mod controls;
mod infer;
mod literal;
mod observe;
mod pick;
mod project;
mod rows;
mod subject;
mod text;
mod write;

pub use asked::Asked;
pub use asked::Sent;
pub use controls::Controls;
pub use controls::names;
pub use controls::offer;
pub use controls::offer_collection;
pub use controls::parameters;
pub use controls::take;
pub use infer::collection as describe;
pub use observe::Observation;
pub use pick::PageStart;
pub use pick::Picked;
pub use rows::Place;
pub use subject::Subject;
pub use subject::from_text;
pub use subject::into_text;
pub use subject::plain_text;
pub use text::TextPage;
pub use text::page as text_page;
pub use write::Cursors;
pub use write::Rows;
pub use write::beside;
pub use write::not_applied;
pub use write::one;

/// About how many bytes a value takes in memory: what is held is bounded by it.
pub fn weight(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    const NODE: usize = size_of::<Value>();
    // A name, its hash and its place in the table.
    const ENTRY: usize = size_of::<String>() + 2 * size_of::<usize>() + 8;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(elements) => elements.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| ENTRY + name.capacity() + weight(field)).sum(),
    }
}
