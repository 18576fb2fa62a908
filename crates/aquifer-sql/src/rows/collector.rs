//! Collects rows as JSON text and writes the page around them.

use std::ops::ControlFlow;

use aquifer_query::plan::{Page, Plan};
use aquifer_query::{Collection, CursorKey};
use serde_json::Value;

use super::shape::{CursorSource, ResultRow, RowShape, write_object};

/// Consecutive texts in one buffer.
#[derive(Debug, Default)]
struct TextBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl TextBuffer {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn pop(&mut self) {
        self.ends.pop();
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// Collects rows up to a number of rows or bytes.
#[derive(Debug)]
pub(crate) struct RowCollector {
    shape: RowShape,
    max_rows: usize,
    max_bytes: usize,
    every_cursor: bool,
    items: TextBuffer,
    /// The cursor of every row if edges are requested, otherwise of the first and last row.
    cursors: TextBuffer,
    more: bool,
    cut: bool,
}

impl RowCollector {
    /// A collector for a single row.
    pub(crate) fn for_single_row(shape: RowShape) -> Self {
        Self::new(shape, 1, usize::MAX, false)
    }

    pub(crate) fn new(shape: RowShape, max_rows: usize, max_bytes: usize, every_cursor: bool) -> Self {
        Self {
            shape,
            max_rows,
            max_bytes,
            every_cursor,
            items: TextBuffer { bytes: Vec::with_capacity(if max_rows == 1 { 512 } else { 4096 }), ends: Vec::new() },
            cursors: TextBuffer::default(),
            more: false,
            cut: false,
        }
    }

    /// Adds a row, unless there are enough.
    pub(crate) fn push(&mut self, row: &impl ResultRow) -> ControlFlow<()> {
        let count = self.items.count();
        if count >= self.max_rows {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.items.add(|out| {
            write_object(&self.shape.fields, row, out);
        });
        if self.items.bytes.len() + count > self.max_bytes && count > 0 {
            self.items.pop();
            self.more = true;
            self.cut = true;
            return ControlFlow::Break(());
        }
        if !self.every_cursor && self.cursors.count() > 1 {
            self.cursors.pop();
        }
        match &self.shape.cursor_source {
            CursorSource::None => {}
            CursorSource::Cells(cells) => self.cursors.add(|out| {
                out.push(b'[');
                for (position, (index, cell_type)) in cells.iter().enumerate() {
                    if position > 0 {
                        out.push(b',');
                    }
                    row.write_cursor_value(*index, *cell_type, out);
                }
                out.push(b']');
            }),
            CursorSource::Counted { from, width } => self.cursors.add(|out| {
                let unknown = "null,".repeat(width.saturating_sub(1));
                out.extend_from_slice(format!("[{unknown}{}]", from + count + 1).as_bytes());
            }),
        }
        ControlFlow::Continue(())
    }

    /// Whether no more rows are needed.
    pub(crate) fn is_full(&self) -> bool {
        self.more
    }

    /// The cursor values of the last row.
    pub(crate) fn last_cursor_values(&self) -> Option<Vec<Value>> {
        let last = self.cursors.count().checked_sub(1)?;
        serde_json::from_slice(self.cursors.get(last)).ok()
    }

    /// The only row, as JSON text.
    pub(crate) fn into_single_row(self) -> Option<Vec<u8>> {
        if self.items.count() == 0 { None } else { Some(self.items.bytes) }
    }

    /// The number of rows, if the page was cut because of its size in bytes.
    pub(crate) fn truncated_after(&self) -> Option<usize> {
        self.cut.then_some(self.items.count())
    }

    /// Writes `"items":[…],"pageInfo":{…}` or the equivalent for the kind of page.
    pub(crate) fn write_page(
        self,
        collection: &Collection,
        plan: &Plan,
        key: &CursorKey,
        total: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let backward = matches!(plan.page, Page::Backward { .. });
        let count = self.items.count();
        let mut sealer = key.sealer(collection, plan);
        out.reserve(self.items.bytes.len() + count + 512);
        out.extend_from_slice(if plan.edges { b"\"edges\":[" } else { b"\"items\":[" });
        for position in 0..count {
            let index = if backward { count - 1 - position } else { position };
            if position > 0 {
                out.push(b',');
            }
            if plan.edges {
                out.extend_from_slice(b"{\"node\":");
                out.extend_from_slice(self.items.get(index));
                out.extend_from_slice(b",\"cursor\":\"");
                out.extend_from_slice(sealer.seal(self.cursors.get(index)).as_bytes());
                out.extend_from_slice(b"\"}");
            } else {
                out.extend_from_slice(self.items.get(index));
            }
        }
        out.push(b']');
        let last = self.cursors.count().saturating_sub(1);
        let (first, last) = if backward { (last, 0) } else { (0, last) };
        let text = match &plan.page {
            Page::Forward { .. } | Page::Backward { .. } => {
                let (has_next, has_previous) = match &plan.page {
                    Page::Backward { before, .. } => (before.is_some(), self.more),
                    page => (self.more, matches!(page, Page::Forward { after: Some(_), .. })),
                };
                let mut info = format!(",\"pageInfo\":{{\"hasNextPage\":{has_next},\"hasPreviousPage\":{has_previous}");
                if self.cursors.count() > 0 {
                    let (first, last) = (sealer.seal(self.cursors.get(first)), sealer.seal(self.cursors.get(last)));
                    info += &format!(",\"startCursor\":\"{first}\",\"endCursor\":\"{last}\"");
                }
                if let Some(total) = total {
                    info += &format!(",\"totalCount\":{total}");
                }
                info + "}"
            }
            Page::Offset { limit, offset } => {
                let total = total.map(|total| format!(",\"total_items\":{total}")).unwrap_or_default();
                format!(
                    ",\"pagination\":{{\"limit\":{limit},\"offset\":{offset},\"returned\":{count}{total},\"has_more\":{}}}",
                    self.more
                )
            }
            Page::Numbered { page, size } => {
                let pages = |total: &Value| total.as_u64().map_or(0, |total| total.div_ceil((*size).max(1) as u64));
                let total = total
                    .map(|total| format!(",\"total_items\":{total},\"total_pages\":{}", pages(total)))
                    .unwrap_or_default();
                format!(",\"pagination\":{{\"page\":{page},\"page_size\":{size}{total},\"has_more\":{}}}", self.more)
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
}
