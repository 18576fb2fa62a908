//! Rows into JSON text, written once and never read again.

use std::ops::ControlFlow;

use aquifer_query::CursorKey;
use aquifer_query::plan::{Page, Plan};
use serde_json::Value;

use crate::model::TimeStyle;
use crate::served::Served;

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
    Time(TimeStyle),
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

    /// A cell as part of a place. It is only ever given back to the database it came from.
    fn place(&self, index: usize, reader: Reader) -> Value {
        let mut text = Vec::new();
        match self.write(index, reader, &mut text) {
            Wrote::Nothing => Value::Null,
            Wrote::Value => serde_json::from_slice(&text).unwrap_or(Value::Null),
        }
    }
}

/// Whether a cell had a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrote {
    Value,
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
    Cell { index: usize, reader: Reader, omit: bool },
    Object(Vec<Node>),
}

impl Node {
    /// Enters a cell at the end of a path.
    pub(crate) fn enter(nodes: &mut Vec<Node>, steps: &[&str], index: usize, reader: Reader, omit: bool) {
        let Some((first, rest)) = steps.split_first() else { return };
        // Writing a string cannot fail.
        let label = format!("{}:", Value::from(*first)).into_bytes().into_boxed_slice();
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

fn object(nodes: &[Node], row: &impl Cells, out: &mut Vec<u8>) -> bool {
    out.push(b'{');
    let mut any = false;
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
                Wrote::Nothing if *omit => false,
                Wrote::Nothing => {
                    out.extend_from_slice(b"null");
                    true
                }
            },
            What::Object(inner) => object(inner, row, out),
        };
        if shown {
            any = true;
        } else {
            out.truncate(start);
        }
    }
    out.push(b'}');
    any
}

/// What the rows of a statement become.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub(crate) nodes: Vec<Node>,
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

/// Collects rows until there are enough of them, or too many bytes.
#[derive(Debug)]
pub(crate) struct Collector {
    shape: Shape,
    wanted: usize,
    most_bytes: usize,
    every_place: bool,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<Vec<Value>>,
    more: bool,
    cut: bool,
}

impl Collector {
    /// For one row.
    pub(crate) fn one(shape: Shape) -> Self {
        Self::new(shape, 1, usize::MAX, false)
    }

    pub(crate) fn new(shape: Shape, wanted: usize, most_bytes: usize, every_place: bool) -> Self {
        Self {
            shape,
            wanted,
            most_bytes,
            every_place,
            bytes: Vec::new(),
            ends: Vec::new(),
            places: Vec::new(),
            more: false,
            cut: false,
        }
    }

    /// Takes a row, unless there are enough.
    pub(crate) fn take(&mut self, row: &impl Cells) -> ControlFlow<()> {
        if self.ends.len() >= self.wanted {
            self.more = true;
            return ControlFlow::Break(());
        }
        let start = self.bytes.len();
        object(&self.shape.nodes, row, &mut self.bytes);
        if self.bytes.len() + self.ends.len() > self.most_bytes && !self.ends.is_empty() {
            self.bytes.truncate(start);
            self.more = true;
            self.cut = true;
            return ControlFlow::Break(());
        }
        let place = match &self.shape.places {
            Places::None => None,
            Places::Cells(cells) => Some(cells.iter().map(|(index, reader)| row.place(*index, *reader)).collect()),
            Places::Counted { from, width } => {
                let mut place = vec![Value::Null; width.saturating_sub(1)];
                place.push((from + self.ends.len() + 1).into());
                Some(place)
            }
        };
        // Of a page without edges only the first and the last place are needed.
        if let Some(place) = place {
            if !self.every_place && self.places.len() > 1 {
                self.places.pop();
            }
            self.places.push(place);
        }
        self.ends.push(self.bytes.len());
        ControlFlow::Continue(())
    }

    /// Whether no more rows are needed.
    pub(crate) fn is_full(&self) -> bool {
        self.more
    }

    /// The only row, as JSON text.
    pub(crate) fn into_one(self) -> Option<Vec<u8>> {
        if self.ends.is_empty() { None } else { Some(self.bytes) }
    }

    /// Whether the page ended early because of its bytes, and after how many rows.
    pub(crate) fn cut(&self) -> Option<usize> {
        self.cut.then_some(self.ends.len())
    }

    /// Writes `"items":[…],"pageInfo":{…}` and the like.
    pub(crate) fn finish(
        self,
        served: &Served,
        plan: &Plan,
        key: &CursorKey,
        total: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let backward = matches!(plan.page, Page::Backward { .. });
        let count = self.ends.len();
        let seal = |place: &[Value]| key.seal(place, &served.collection, plan);
        out.extend_from_slice(if plan.edges { b"\"edges\":[" } else { b"\"items\":[" });
        for position in 0..count {
            let index = if backward { count - 1 - position } else { position };
            let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            let end = self.ends.get(index).copied().unwrap_or(start);
            let item = self.bytes.get(start..end).unwrap_or_default();
            if position > 0 {
                out.push(b',');
            }
            if plan.edges {
                out.extend_from_slice(b"{\"node\":");
                out.extend_from_slice(item);
                let place = self.places.get(index).map(Vec::as_slice).unwrap_or_default();
                out.extend_from_slice(format!(",\"cursor\":\"{}\"}}", seal(place)).as_bytes());
            } else {
                out.extend_from_slice(item);
            }
        }
        out.push(b']');
        let (first, last) = match backward {
            false => (self.places.first(), self.places.last()),
            true => (self.places.last(), self.places.first()),
        };
        let text = match &plan.page {
            Page::Forward { .. } | Page::Backward { .. } => {
                let (has_next, has_previous) = match &plan.page {
                    Page::Backward { before, .. } => (before.is_some(), self.more),
                    page => (self.more, matches!(page, Page::Forward { after: Some(_), .. })),
                };
                let mut info = format!(",\"pageInfo\":{{\"hasNextPage\":{has_next},\"hasPreviousPage\":{has_previous}");
                if let (Some(first), Some(last)) = (first, last) {
                    info += &format!(",\"startCursor\":\"{}\",\"endCursor\":\"{}\"", seal(first), seal(last));
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

/// Writes text as a JSON string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// The greatest whole number up to which JavaScript has them all.
const SAFE: u64 = (1 << 53) - 1;

/// Writes a whole number; as text where JavaScript would round it (R-RES-5).
pub(crate) fn integer(number: i64, out: &mut Vec<u8>) {
    if number.unsigned_abs() > SAFE {
        out.extend_from_slice(format!("\"{number}\"").as_bytes());
    } else {
        let _ = serde_json::to_writer(out, &number);
    }
}

/// Writes a number; as text where JSON has none for it.
pub(crate) fn float(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        let _ = serde_json::to_writer(out, &number);
    } else {
        let name = if number.is_nan() {
            "\"NaN\""
        } else if number > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        };
        out.extend_from_slice(name.as_bytes());
    }
}

/// Writes the digits of an exact number; as text where a double would not hold them. Zeros at the end of a fraction say
/// how a column is declared, and nothing about the number.
pub(crate) fn decimal(text: &str, out: &mut Vec<u8>) {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if let Ok(whole) = text.parse() {
        return integer(whole, out);
    }
    let same = text.parse::<f64>().is_ok_and(|number| number.is_finite() && number.to_string() == text);
    if same && text.contains('.') {
        out.extend_from_slice(text.as_bytes());
    } else {
        string(text, out);
    }
}

/// Writes text that should be JSON; as a string where it is none.
pub(crate) fn json(text: &str, out: &mut Vec<u8>) {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        vouched(text.as_bytes(), out);
    } else {
        string(text, out);
    }
}

/// Writes what is JSON for sure. Numbers beyond all that readers of JSON have are written as text.
pub(crate) fn vouched(text: &[u8], out: &mut Vec<u8>) {
    if may_hold_huge_numbers(text) {
        quoting(text, out, |number| number.parse::<f64>().is_ok_and(f64::is_finite));
    } else {
        out.extend_from_slice(text);
    }
}

/// Writes a list of whole numbers; as text those that JavaScript would round (R-RES-5).
pub(crate) fn integers(text: &[u8], out: &mut Vec<u8>) {
    quoting(text, out, |number| number.parse::<i64>().is_ok_and(|number| number.unsigned_abs() <= SAFE));
}

/// Writes JSON with quotes around numbers that are not fine.
fn quoting(text: &[u8], out: &mut Vec<u8>, is_fine: impl Fn(&str) -> bool) {
    let (mut in_string, mut escaped, mut rest) = (false, false, text);
    while let Some((&byte, after)) = rest.split_first() {
        if !in_string && (byte == b'-' || byte.is_ascii_digit()) {
            let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
            let (number, after) = rest.split_at(rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len()));
            let mark: &[u8] = if std::str::from_utf8(number).is_ok_and(&is_fine) { b"" } else { b"\"" };
            out.extend([mark, number, mark].concat());
            rest = after;
            continue;
        }
        in_string = if byte == b'"' && !escaped { !in_string } else { in_string };
        escaped = byte == b'\\' && !escaped;
        out.push(byte);
        rest = after;
    }
}

/// Whether there may be a number that no double holds: one with an exponent, or with hundreds of digits.
fn may_hold_huge_numbers(text: &[u8]) -> bool {
    const MANY: usize = 300;
    let mut run = 0;
    text.iter().any(|byte| {
        let exponent = run > 0 && matches!(byte, b'e' | b'E');
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        exponent || run > MANY
    })
}
