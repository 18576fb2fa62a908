//! The Markdown of an adapter file, for the people who review it.

use std::fmt::Write as _;

use aquifer_protocol::category::Category;

use crate::bundle::{Bundle, NormalizedOperation};
use crate::text;

/// The description of the adapter, in one line.
pub(super) fn purpose(bundle: &Bundle) -> String {
    let server = bundle.source.server.as_ref();
    let title = server.and_then(|server| server.title.as_ref().or(server.name.as_ref()));
    let title = text::shorten(title.unwrap_or(&bundle.source.name), 80).replace('\n', " ");
    let count = bundle.normalized_bundle.operations.len();
    let operations = if count == 1 { "operation" } else { "operations" };
    format!("MCP server {title}: {count} {operations}")
}

/// Everything after the front matter.
pub(super) fn body(bundle: &Bundle, name: &str) -> String {
    let mut page = format!("# {name}\n\n{}.\n\n", plain(&purpose(bundle)));
    let open = bundle.normalized_bundle.operations.iter().filter(|operation| operation.needs_review).count();
    page.push_str("Generated from a discovery bundle. The remaining data (provenance, warnings, whole ");
    let _ = writeln!(page, "JSON Schemas) is in `{}`.", super::Adapter::sidecar_name(name));
    if open > 0 {
        let _ = write!(page, "\n**{open} to review**, marked below; until then they count as destructive.\n");
    }
    for category in Category::ALL {
        let mut operations =
            bundle.normalized_bundle.operations.iter().filter(|operation| operation.endpoint == category).peekable();
        if operations.peek().is_none() {
            continue;
        }
        let _ = write!(page, "\n## {category}\n\n| operation | what it does | danger | review |\n|---|---|---|---|\n");
        operations.for_each(|operation| row(operation, &mut page));
    }
    page
}

fn row(operation: &NormalizedOperation, page: &mut String) {
    let summary = text::shorten(text::first_sentence(&operation.description), 120);
    let review = operation.review_reasons.join("; ");
    let _ = writeln!(
        page,
        "| `{}` | {} | {} | {} |",
        operation.operation_name,
        plain(&summary),
        operation.danger_level,
        plain(&text::shorten(&review, 300)),
    );
}

/// Escapes untrusted text, so that nothing in it becomes a link, a tag or a table cell.
pub(super) fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => escaped.push(' '),
            '\\' | '|' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '&' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
