//! Reads how a target returns lists page by page.

use aquifer_protocol::error::Code;

use crate::adapter::{AdapterPagination, PaginationStyle};
use crate::problem::{Findings, join};
use crate::text::yaml::Node;

/// The fields of the published schema, those that the specification's documents use, and the path of the next cursor.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "style", "default_limit", "max_limit", "param_name", "per_page_param", "next_cursor", "first_page",
];

const STYLES: &[&str] = &["offset", "cursor", "page", "link_header", "link"];

/// Reads a `pagination` block. If `is_followed`, Aquifer fetches further pages itself, so the block has to be complete.
pub(super) fn read(node: &Node, path: &str, is_followed: bool, findings: &mut Findings) -> Option<AdapterPagination> {
    if !findings.object(node, path, FIELDS) {
        return None;
    }
    let default_limit = read_count(node, "default_limit", 1, path, findings);
    let max_limit = read_count(node, "max_limit", 1, path, findings);
    let first_page = read_count(node, "first_page", 0, path, findings).unwrap_or(1);
    let page_param = findings.optional_text(node, "param_name", path);
    let size_param = findings.optional_text(node, "per_page_param", path);
    let next_path = findings.optional_text(node, "next_cursor", path);
    let style = findings.required(node, "style", path)?;
    let style = match findings.one_of(style, &join(path, "style"), STYLES, Code::SchemaInvalidType)? {
        "offset" => PaginationStyle::Offset,
        "page" => PaginationStyle::Page,
        "cursor" => PaginationStyle::Cursor,
        _ => PaginationStyle::Link,
    };
    if is_followed && style == PaginationStyle::Cursor && next_path.is_none() {
        let message = format!("Missing field '{path}.next_cursor'");
        let suggestion = "Set it to the path of the next cursor in an answer, such as \"meta.next_cursor\"".to_owned();
        findings.add_with(Code::SchemaMissingField, &join(path, "next_cursor"), node.at, message, Some(suggestion));
        return None;
    }
    Some(AdapterPagination { style, page_param, size_param, next_path, first_page, default_limit, max_limit })
}

fn read_count(node: &Node, key: &str, least: u64, path: &str, findings: &mut Findings) -> Option<u64> {
    let field = node.get(key)?;
    let count = field.to_json().as_u64().filter(|count| *count >= least);
    if count.is_none() {
        let (path, value) = (join(path, key), field.to_json());
        let got =
            value.as_number().map_or_else(|| format!("a value of type {}", field.type_name()), ToString::to_string);
        let message = format!("Field '{path}' must be an integer of at least {least}, not {got}");
        findings.add_with(Code::SchemaInvalidType, &path, field.at, message, None);
    }
    count
}
