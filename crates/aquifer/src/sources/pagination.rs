//! How lists of HTTP APIs are paged, as configured.

use std::sync::Arc;

use aquifer_rest::route::Pagination;

use crate::config::{PaginationConfig, PaginationStyle};

/// How an operation paginates, as configured. The outer `None` leaves that to the description.
pub(super) fn pagination(configured: &PaginationConfig) -> Option<Option<Pagination>> {
    let named = |name: &Option<String>, default: &str| -> Arc<str> { name.as_deref().unwrap_or(default).into() };
    let size = configured.per_page_param.as_deref().map(Into::into);
    let (name, max_size) = (&configured.param_name, configured.max_limit);
    Some(Some(match configured.style? {
        PaginationStyle::None => return Some(None),
        PaginationStyle::Offset => {
            Pagination::Offset { offset: named(name, "offset"), limit: Some(size.unwrap_or("limit".into())), max_size }
        }
        PaginationStyle::Page => {
            let first = configured.first_page.unwrap_or(1);
            Pagination::Page { page: named(name, "page"), size, first, max_size }
        }
        PaginationStyle::Cursor => {
            let next = configured.next_cursor.as_deref().unwrap_or_default().into();
            Pagination::Cursor { cursor: named(name, "cursor"), next, limit: size, max_size }
        }
        PaginationStyle::LinkHeader => Pagination::Link { limit: size, max_size },
    }))
}
