//! Shapes the results of servers without a query language: the collection language over any JSON (R-DIS-8).
//!
//! A result is parsed as [`ResultContent`]: rows, one value, or text. A [`RowSelection`] applies the [`ShapingRequest`] to
//! the rows with the same code as for collections, over a collection inferred from the rows. Selected rows are moved out
//! of the result, or copied if the result is held for later pages. This module holds no results: whoever does makes the
//! cursors.

mod announced;
mod controls;
mod infer;
mod observation;
mod project;
mod python_literal;
mod request;
mod result_content;
mod result_shape;
mod row_location;
mod row_selection;
mod text_page;
mod write;

pub use announced::{announced_count, announced_page, announced_pages, announced_total, announces_more, next_marks};
pub use controls::Controls;
pub use controls::add_collection_controls;
pub use controls::add_controls;
pub use controls::add_observed_controls;
pub use controls::control_names;
pub use controls::control_parameters;
pub use controls::declare_pages;
pub use controls::set_default_fields;
pub use controls::take_controls;
pub use infer::infer_collection;
pub use observation::Observation;
pub use request::CursorParam;
pub use request::ShapingRequest;
pub use result_content::ResultContent;
pub use result_content::into_text;
pub use result_content::parse_json_text;
pub use result_content::plain_text;
pub use result_shape::ResultShape;
pub use row_location::RowLocation;
pub use row_selection::PageStart;
pub use row_selection::RowSelection;
pub use text_page::TextPage;
pub use write::Cursors;
pub use write::Rows;
pub use write::add_envelope;
pub use write::envelope_tokens;
pub use write::not_applied_warning;
pub use write::refuse_without_rows;
pub use write::shape_object;
pub use write::without_rows;
