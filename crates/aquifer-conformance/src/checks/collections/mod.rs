//! Checks of collections: filters, sorting, pages, aggregates and field selection.

pub(super) mod aggregate;
pub(super) mod fields;
pub(super) mod filter;
pub(super) mod pages;
pub(super) mod sort;
