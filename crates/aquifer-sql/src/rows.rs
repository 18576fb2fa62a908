//! Rows into JSON text, written once and never read again.

use std::ops::ControlFlow;
use std::sync::Arc;

use aquifer_query::CursorKey;
use aquifer_query::plan::{Page, Plan};
use aquifer_query::selection::{ListSteps, Selection};
use serde_json::Value;

use crate::cell::string;
use crate::exposed_table::ExposedTable;
use crate::media_type;

/// How a cell is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
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
pub(crate) trait Cells {
    /// Writes a cell as JSON. Writes nothing and says so where it is NULL.
    fn write(&self, index: usize, reader: Reader, out: &mut Vec<u8>) -> Wrote;

    /// Writes a cell as part of a place. It is only ever given back to the database it came from.
    fn place(&self, index: usize, reader: Reader, out: &mut Vec<u8>) {
        if self.write(index, reader, out) == Wrote::Nothing {
            out.extend_from_slice(b"null");
        }
    }

    /// A cell as a value.
    fn value(&self, index: usize, reader: Reader) -> Value {
        let mut text = Vec::new();
        match self.write(index, reader, &mut text) {
            Wrote::Nothing => Value::Null,
            Wrote::Value | Wrote::Bytes => serde_json::from_slice(&text).unwrap_or(Value::Null),
        }
    }
}

/// Whether a cell had a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrote {
    Value,
    /// Bytes, in base64.
    Bytes,
    Nothing,
}

/// A field of an item: a cell, or an object of such.
#[derive(Debug)]
pub(crate) struct Node {
    /// `"name":`
    label: Box<[u8]>,
    what: What,
}

#[derive(Debug)]
enum What {
    Cell {
        index: usize,
        reader: Reader,
        omit: bool,
    },
    /// Parts of a cell that is JSON.
    Parts {
        index: usize,
        reader: Reader,
        parts: Selection,
    },
    Object(Vec<Node>),
}

impl Node {
    /// Enters parts of a cell. Which of its values are lists shows only once it has been read.
    pub(crate) fn enter_parts(nodes: &mut Vec<Node>, name: &str, index: usize, reader: Reader, parts: Selection) {
        nodes.push(Node { label: label(name), what: What::Parts { index, reader, parts } });
    }

    /// Enters a cell at the end of a path.
    pub(crate) fn enter(nodes: &mut Vec<Node>, steps: &[&str], index: usize, reader: Reader, omit: bool) {
        let Some((first, rest)) = steps.split_first() else { return };
        let label = label(first);
        let known = nodes.iter().position(|node| node.label == label);
        if rest.is_empty() {
            let node = Node { label, what: What::Cell { index, reader, omit } };
            match known.and_then(|position| nodes.get_mut(position)) {
                Some(slot) => *slot = node,
                None => nodes.push(node),
            }
            return;
        }
        let position = known.unwrap_or_else(|| {
            nodes.push(Node { label, what: What::Object(Vec::new()) });
            nodes.len() - 1
        });
        // A path into something that is shown whole adds nothing.
        if let Some(Node { what: What::Object(inner), .. }) = nodes.get_mut(position) {
            Node::enter(inner, rest, index, reader, omit);
        }
    }
}

/// `"name":`
fn label(name: &str) -> Box<[u8]> {
    let mut label = Vec::with_capacity(name.len() + 3);
    string(name, &mut label);
    label.push(b':');
    label.into_boxed_slice()
}

/// The member that tells the encoding and the media type of bytes in an object (R-RES-5). The bytes themselves stay plain text,
/// so that what a row shows can be sent back.
pub(crate) const BINARY: &str = "_binary";

fn object(nodes: &[Node], row: &impl Cells, out: &mut Vec<u8>) -> bool {
    out.push(b'{');
    let mut any = false;
    let mut binary: Vec<u8> = Vec::new();
    for node in nodes {
        let start = out.len();
        if any {
            out.push(b',');
        }
        out.extend_from_slice(&node.label);
        let shown = match &node.what {
            What::Cell { index, reader, omit } => match row.write(*index, *reader, out) {
                Wrote::Value if *omit && out.ends_with(b":null") => false,
                Wrote::Value => true,
                Wrote::Bytes => {
                    let value = start + usize::from(any) + node.label.len();
                    let media_type = media_type::of_base64(out.get(value..).unwrap_or_default());
                    binary.extend_from_slice(if binary.is_empty() { b"" } else { b"," });
                    binary.extend_from_slice(&node.label);
                    binary.extend_from_slice(b"{\"encoding\":\"base64\",\"media_type\":\"");
                    binary.extend_from_slice(media_type.as_bytes());
                    binary.extend_from_slice(b"\"}");
                    true
                }
                Wrote::Nothing if *omit => false,
                Wrote::Nothing => {
                    out.extend_from_slice(b"null");
                    true
                }
            },
            What::Parts { index, reader, parts } => {
                match parts.apply(&row.value(*index, *reader), ListSteps::ByIndex) {
                    // Writing a value to memory cannot fail.
                    Some(shown) => serde_json::to_writer(&mut *out, &shown).is_ok(),
                    None => false,
                }
            }
            What::Object(inner) => object(inner, row, out),
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
pub(crate) struct Shape {
    pub(crate) nodes: Arc<[Node]>,
    pub(crate) places: Places,
}

/// Where a row's place is to be found.
#[derive(Debug, Default)]
pub(crate) enum Places {
    /// Nobody asks.
    #[default]
    None,
    /// In these cells.
    Cells(Vec<(usize, Reader)>),
    /// It is only counted, beginning with this.
    Counted { from: usize, width: usize },
}

/// Texts one after the other.
#[derive(Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
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
pub(crate) struct Collector {
    shape: Shape,
    wanted: usize,
    max_bytes: usize,
    every_place: bool,
    items: Texts,
    /// Of every row with its cursor, else of the first and the last.
    places: Texts,
    more: bool,
    cut: bool,
}

impl Collector {
    /// For one row.
    pub(crate) fn one(shape: Shape) -> Self {
        Self::new(shape, 1, usize::MAX, false)
    }

    pub(crate) fn new(shape: Shape, wanted: usize, max_bytes: usize, every_place: bool) -> Self {
        Self {
            shape,
            wanted,
            max_bytes,
            every_place,
            items: Texts { bytes: Vec::with_capacity(if wanted == 1 { 512 } else { 4096 }), ends: Vec::new() },
            places: Texts::default(),
            more: false,
            cut: false,
        }
    }

    /// Takes a row, unless there are enough.
    pub(crate) fn take(&mut self, row: &impl Cells) -> ControlFlow<()> {
        let count = self.items.count();
        if count >= self.wanted {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.items.add(|out| {
            object(&self.shape.nodes, row, out);
        });
        if self.items.bytes.len() + count > self.max_bytes && count > 0 {
            self.items.pop();
            self.more = true;
            self.cut = true;
            return ControlFlow::Break(());
        }
        if !self.every_place && self.places.count() > 1 {
            self.places.pop();
        }
        match &self.shape.places {
            Places::None => {}
            Places::Cells(cells) => self.places.add(|out| {
                out.push(b'[');
                for (position, (index, reader)) in cells.iter().enumerate() {
                    if position > 0 {
                        out.push(b',');
                    }
                    row.place(*index, *reader, out);
                }
                out.push(b']');
            }),
            Places::Counted { from, width } => self.places.add(|out| {
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
    pub(crate) fn last_place(&self) -> Option<Vec<Value>> {
        let last = self.places.count().checked_sub(1)?;
        serde_json::from_slice(self.places.get(last)).ok()
    }

    /// The only row, as JSON text.
    pub(crate) fn into_one(self) -> Option<Vec<u8>> {
        if self.items.count() == 0 { None } else { Some(self.items.bytes) }
    }

    /// Whether the page ended early because of its bytes, and after how many rows.
    pub(crate) fn cut(&self) -> Option<usize> {
        self.cut.then_some(self.items.count())
    }

    /// Writes `"items":[…],"pageInfo":{…}` and the like.
    pub(crate) fn finish(
        self,
        served: &ExposedTable,
        plan: &Plan,
        key: &CursorKey,
        total: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let backward = matches!(plan.page, Page::Backward { .. });
        let count = self.items.count();
        let mut sealer = key.sealer(&served.collection, plan);
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
                out.extend_from_slice(sealer.seal(self.places.get(index)).as_bytes());
                out.extend_from_slice(b"\"}");
            } else {
                out.extend_from_slice(self.items.get(index));
            }
        }
        out.push(b']');
        let last = self.places.count().saturating_sub(1);
        let (first, last) = if backward { (last, 0) } else { (0, last) };
        let text = match &plan.page {
            Page::Forward { .. } | Page::Backward { .. } => {
                let (has_next, has_previous) = match &plan.page {
                    Page::Backward { before, .. } => (before.is_some(), self.more),
                    page => (self.more, matches!(page, Page::Forward { after: Some(_), .. })),
                };
                let mut info = format!(",\"pageInfo\":{{\"hasNextPage\":{has_next},\"hasPreviousPage\":{has_previous}");
                if self.places.count() > 0 {
                    let (first, last) = (sealer.seal(self.places.get(first)), sealer.seal(self.places.get(last)));
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
