//! Collects rows as JSON text and writes the page around them.

use std::ops::ControlFlow;

use aquifer_protocol::warning::Warning;
use aquifer_query::answer::table;
use aquifer_query::budget::{Budget, Cut, PageBudget, estimate_text, shortened, shrink, shrink_row};
use aquifer_query::evaluate::{PageEnd, page_truncated};
use aquifer_query::plan::{Page, Plan};
use aquifer_query::{Collection, CursorKey};
use serde_json::Value;

use super::shape::{CursorSource, ResultRow, RowShape, write_list, write_object};

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

    fn last(&self) -> &[u8] {
        self.count().checked_sub(1).map_or(&[], |last| self.get(last))
    }

    /// Removes the text before the last one.
    fn remove_second_last(&mut self) {
        let Some(index) = self.count().checked_sub(2) else { return };
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.remove(index);
        self.bytes.drain(start..end);
        if let Some(last) = self.ends.last_mut() {
            *last -= end - start;
        }
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
    budget: Option<RowBudget>,
    items: TextBuffer,
    /// The cursor of every row if edges are requested, otherwise of the first and last row.
    cursors: TextBuffer,
    more: bool,
    cut: Option<PageEnd>,
}

/// The budget of a page, and the names of its columns if it is a table.
#[derive(Debug)]
struct RowBudget {
    limit: PageBudget,
    columns: Option<Vec<String>>,
    cuts: Vec<Cut>,
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
            budget: None,
            items: TextBuffer { bytes: Vec::with_capacity(if max_rows == 1 { 512 } else { 4096 }), ends: Vec::new() },
            cursors: TextBuffer::default(),
            more: false,
            cut: None,
        }
    }

    /// Also ends the page before the row with which the answer would exceed its budget.
    pub(crate) fn within(mut self, plan: &Plan, mut budget: Budget) -> Self {
        if plan.table {
            budget.spend(table::columns_tokens(&plan.select, &plan.embeds));
        }
        let columns = plan.table.then(|| table::columns(&plan.select, &plan.embeds));
        let limit = PageBudget::new(&budget, plan.edges);
        self.budget = Some(RowBudget { limit, columns, cuts: Vec::new() });
        self
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.items.count()
    }

    /// The rows from this one on, each in a line.
    pub(crate) fn text_since(&self, first: usize) -> String {
        let rows = (first..self.items.count()).map(|index| String::from_utf8_lossy(self.items.get(index)));
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Adds a row, unless the page is full.
    pub(crate) fn push(&mut self, row: &impl ResultRow) -> ControlFlow<()> {
        let count = self.items.count();
        if count >= self.max_rows {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.items.add(|out| {
            if self.shape.table {
                write_list(&self.shape.fields, row, out);
            } else {
                write_object(&self.shape.fields, row, out);
            }
        });
        if self.items.bytes.len() + count > self.max_bytes && count > 0 {
            self.items.pop();
            self.more = true;
            self.cut = Some(PageEnd::Bytes(self.max_bytes));
            return ControlFlow::Break(());
        }
        self.push_cursor(row, count);
        if !self.keeps_budget() {
            self.items.pop();
            self.cursors.pop();
            self.more = true;
            self.cut = self.budget.as_ref().map(|budget| PageEnd::Tokens(budget.limit.max_tokens()));
            return ControlFlow::Break(());
        }
        if !self.every_cursor && self.cursors.count() > 2 {
            self.cursors.remove_second_last();
        }
        ControlFlow::Continue(())
    }

    /// Whether the page with the last row is within the budget. The first row is shortened if it exceeds the budget on
    /// its own.
    fn keeps_budget(&mut self) -> bool {
        let Some(budget) = &mut self.budget else { return true };
        let count = self.items.count();
        let position = self.cursors.last().len();
        if budget.limit.admit(estimate_text(self.items.last()), position) {
            return true;
        }
        if count > 1 {
            return false;
        }
        if let Ok(item) = serde_json::from_slice::<Value>(self.items.last()) {
            let room = budget.limit.room_for_first(position);
            let item = match (item, &budget.columns) {
                (Value::Array(cells), Some(columns)) => shrink_row(cells, columns, room, &mut budget.cuts).into(),
                (item, _) => shrink(item, room, &mut budget.cuts),
            };
            self.items.pop();
            // Writing a value to memory cannot fail.
            self.items.add(|out| drop(serde_json::to_writer(out, &item)));
        }
        // Nothing else fits beside it.
        budget.limit.close();
        true
    }

    fn push_cursor(&mut self, row: &impl ResultRow, count: usize) {
        match &self.shape.cursor_source {
            CursorSource::None => {}
            CursorSource::Cells(cells) => self.cursors.add(|out| {
                out.push(b'[');
                for (position, (index, cell_type)) in cells.iter().enumerate() {
                    if position > 0 {
                        out.push(b',');
                    }
                    row.write_cursor_value(*index, cell_type, out);
                }
                out.push(b']');
            }),
            CursorSource::Counted { from, width } => self.cursors.add(|out| {
                let unknown = "null,".repeat(width.saturating_sub(1));
                out.extend_from_slice(format!("[{unknown}{}]", from + count + 1).as_bytes());
            }),
        }
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

    /// The warnings about a page that ends early, and about a row that was shortened.
    pub(crate) fn warnings(&self, plan: &Plan) -> Vec<Warning> {
        let ended = self.cut.map(|reason| page_truncated(&plan.page, self.items.count(), self.max_rows, reason));
        let budget = self.budget.as_ref().filter(|budget| !budget.cuts.is_empty());
        let shortened = budget.map(|budget| shortened(&budget.cuts, budget.limit.max_tokens()));
        shortened.into_iter().chain(ended).collect()
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
        if plan.table {
            let columns = Value::from(table::columns(&plan.select, &plan.embeds));
            out.extend_from_slice(format!("\"{}\":{columns},\"{}\":[", table::COLUMNS, table::ROWS).as_bytes());
        } else {
            out.extend_from_slice(if plan.edges { b"\"edges\":[" } else { b"\"items\":[" });
        }
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
