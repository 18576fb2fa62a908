//! Rows into JSON text, written once and never read again.

use std::ops::ControlFlow;
use std::sync::Arc;

use aquifer_query::CursorKey;
use aquifer_query::plan::{Page, Plan};
use aquifer_query::selection::{Lists, Selection};
use serde_json::Value;

use crate::cell::write_string;
use crate::exposed_table::ExposedTable;
use crate::media_type;

/// How a cell is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellType {
    /// As it is: SQLite's values have their types with them.
    Plain,
    Integer,
    Float,
    /// Text that is a number.
    Decimal,
    Text,
    Boolean,
    Time,
    Date,
    Uuid,
    Bytes,
    /// Text that is JSON.
    Json,
    /// Text that is a JSON list of whole numbers.
    Integers,
}

/// One row of a result.
pub(crate) trait ResultRow {
    /// Writes a cell as JSON. Writes nothing and says so where it is NULL.
    fn write(&self, index: usize, cell_type: CellType, out: &mut Vec<u8>) -> CellContent;

    /// Writes a cell as part of a place. It is only ever given back to the database it came from.
    fn write_cursor_value(&self, index: usize, cell_type: CellType, out: &mut Vec<u8>) {
        if self.write(index, cell_type, out) == CellContent::Null {
            out.extend_from_slice(b"null");
        }
    }

    /// A cell as a value.
    fn value(&self, index: usize, cell_type: CellType) -> Value {
        let mut text = Vec::new();
        match self.write(index, cell_type, &mut text) {
            CellContent::Null => Value::Null,
            CellContent::Value | CellContent::Bytes => serde_json::from_slice(&text).unwrap_or(Value::Null),
        }
    }
}

/// Whether a cell had a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellContent {
    Value,
    /// Bytes, in base64.
    Bytes,
    Null,
}

/// A field of an item: a cell, or an object of such.
#[derive(Debug)]
pub(crate) struct OutputField {
    /// `"name":`
    label: Box<[u8]>,
    source: FieldSource,
}

#[derive(Debug)]
enum FieldSource {
    Cell {
        index: usize,
        cell_type: CellType,
        omit: bool,
    },
    /// Parts of a cell that is JSON.
    Parts {
        index: usize,
        cell_type: CellType,
        parts: Selection,
    },
    Object(Vec<OutputField>),
}

impl OutputField {
    /// Enters parts of a cell. Which of its values are lists shows only once it has been read.
    pub(crate) fn add_parts(
        fields: &mut Vec<OutputField>,
        name: &str,
        index: usize,
        cell_type: CellType,
        parts: Selection,
    ) {
        fields.push(OutputField { label: encode_label(name), source: FieldSource::Parts { index, cell_type, parts } });
    }

    /// Enters a cell at the end of a path.
    pub(crate) fn add_cell(
        fields: &mut Vec<OutputField>,
        steps: &[&str],
        index: usize,
        cell_type: CellType,
        omit: bool,
    ) {
        let Some((first, rest)) = steps.split_first() else { return };
        let label = encode_label(first);
        let known = fields.iter().position(|field| field.label == label);
        if rest.is_empty() {
            let field = OutputField { label, source: FieldSource::Cell { index, cell_type, omit } };
            match known.and_then(|position| fields.get_mut(position)) {
                Some(slot) => *slot = field,
                None => fields.push(field),
            }
            return;
        }
        let position = known.unwrap_or_else(|| {
            fields.push(OutputField { label, source: FieldSource::Object(Vec::new()) });
            fields.len() - 1
        });
        // A path into something that is shown whole adds nothing.
        if let Some(OutputField { source: FieldSource::Object(inner), .. }) = fields.get_mut(position) {
            OutputField::add_cell(inner, rest, index, cell_type, omit);
        }
    }
}

/// `"name":`
fn encode_label(name: &str) -> Box<[u8]> {
    let mut label = Vec::with_capacity(name.len() + 3);
    write_string(name, &mut label);
    label.push(b':');
    label.into_boxed_slice()
}

/// The member that tells the encoding and the media type of bytes in an object (R-RES-5). The bytes themselves stay plain text,
/// so that what a row shows can be sent back.
pub(crate) const BINARY: &str = "_binary";

fn write_object(fields: &[OutputField], row: &impl ResultRow, out: &mut Vec<u8>) -> bool {
    out.push(b'{');
    let mut any = false;
    let mut binary: Vec<u8> = Vec::new();
    for field in fields {
        let start = out.len();
        if any {
            out.push(b',');
        }
        out.extend_from_slice(&field.label);
        let shown = match &field.source {
            FieldSource::Cell { index, cell_type, omit } => match row.write(*index, *cell_type, out) {
                CellContent::Value if *omit && out.ends_with(b":null") => false,
                CellContent::Value => true,
                CellContent::Bytes => {
                    let value = start + usize::from(any) + field.label.len();
                    let media_type = media_type::detect_base64(out.get(value..).unwrap_or_default());
                    binary.extend_from_slice(if binary.is_empty() { b"" } else { b"," });
                    binary.extend_from_slice(&field.label);
                    binary.extend_from_slice(b"{\"encoding\":\"base64\",\"media_type\":\"");
                    binary.extend_from_slice(media_type.as_bytes());
                    binary.extend_from_slice(b"\"}");
                    true
                }
                CellContent::Null if *omit => false,
                CellContent::Null => {
                    out.extend_from_slice(b"null");
                    true
                }
            },
            FieldSource::Parts { index, cell_type, parts } => {
                match parts.apply(&row.value(*index, *cell_type), Lists::ByNumber) {
                    // Writing a value to memory cannot fail.
                    Some(shown) => serde_json::to_writer(&mut *out, &shown).is_ok(),
                    None => false,
                }
            }
            FieldSource::Object(inner) => write_object(inner, row, out),
        };
        if shown {
            any = true;
        } else {
            out.truncate(start);
        }
    }
    if !binary.is_empty() {
        out.extend_from_slice(format!(",\"{BINARY}\":{{").as_bytes());
        out.extend_from_slice(&binary);
        out.push(b'}');
    }
    out.push(b'}');
    any
}

/// What the rows of a statement become.
#[derive(Debug, Default)]
pub(crate) struct RowShape {
    pub(crate) fields: Arc<[OutputField]>,
    pub(crate) cursor_source: CursorSource,
}

/// Where a row's place is to be found.
#[derive(Debug, Default)]
pub(crate) enum CursorSource {
    /// Nobody asks.
    #[default]
    None,
    /// In these cells.
    Cells(Vec<(usize, CellType)>),
    /// It is only counted, beginning with this.
    Counted { from: usize, width: usize },
}

/// Texts one after the other.
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

/// Collects rows until there are enough of them, or too many bytes.
#[derive(Debug)]
pub(crate) struct RowCollector {
    shape: RowShape,
    max_rows: usize,
    max_bytes: usize,
    every_cursor: bool,
    items: TextBuffer,
    /// Of every row with its cursor, else of the first and the last.
    cursors: TextBuffer,
    more: bool,
    cut: bool,
}

impl RowCollector {
    /// For one row.
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

    /// Takes a row, unless there are enough.
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

    /// The place of the row that was taken last.
    pub(crate) fn last_cursor_values(&self) -> Option<Vec<Value>> {
        let last = self.cursors.count().checked_sub(1)?;
        serde_json::from_slice(self.cursors.get(last)).ok()
    }

    /// The only row, as JSON text.
    pub(crate) fn into_single_row(self) -> Option<Vec<u8>> {
        if self.items.count() == 0 { None } else { Some(self.items.bytes) }
    }

    /// Whether the page ended early because of its bytes, and after how many rows.
    pub(crate) fn truncated_after(&self) -> Option<usize> {
        self.cut.then_some(self.items.count())
    }

    /// Writes `"items":[…],"pageInfo":{…}` and the like.
    pub(crate) fn write_page(
        self,
        exposed: &ExposedTable,
        plan: &Plan,
        key: &CursorKey,
        total: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let backward = matches!(plan.page, Page::Backward { .. });
        let count = self.items.count();
        let mut sealer = key.sealer(&exposed.collection, plan);
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
