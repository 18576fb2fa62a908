//! The output of a statement's rows: cells, fields and cursors, written as JSON text.

use std::sync::Arc;

use aquifer_query::selection::Selection;
use serde_json::Value;

use super::cell::write_string;
use super::media_type;
use crate::rows::time_digits::TimeDigits;

/// How a cell is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CellType {
    /// By the type of the value itself (SQLite).
    Plain,
    Integer,
    Float,
    /// Text that contains a number.
    Decimal,
    Text,
    Boolean,
    /// A time, with this many digits after the second.
    Time(TimeDigits),
    Date,
    Uuid,
    Bytes,
    /// Text that contains JSON.
    Json,
    /// Text that contains a JSON array of integers.
    Integers,
}

/// One row of a result.
pub(crate) trait ResultRow {
    /// Writes a cell as JSON. Writes nothing if it is NULL.
    fn write(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent;

    /// Writes a cell as a cursor value, which is only sent back to the same database.
    fn write_cursor_value(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) {
        if self.write(index, cell_type, out) == CellContent::Null {
            out.extend_from_slice(b"null");
        }
    }

    /// Writes a cell that holds rows, as a list of objects with these fields.
    fn write_rows(&self, index: usize, fields: &[OutputField], out: &mut Vec<u8>);

    /// A cell as a value.
    fn value(&self, index: usize, cell_type: &CellType) -> Value {
        let mut text = Vec::new();
        match self.write(index, cell_type, &mut text) {
            CellContent::Null => Value::Null,
            CellContent::Value | CellContent::Bytes => serde_json::from_slice(&text).unwrap_or(Value::Null),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellContent {
    Value,
    /// Bytes, in base64.
    Bytes,
    Null,
}

/// A field of an item: a cell, or an object of fields.
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
    /// The value at the end of a path into a JSON cell.
    Inside {
        index: usize,
        cell_type: CellType,
        steps: Vec<Arc<str>>,
    },
    /// Rows that refer to this one.
    Rows {
        index: usize,
        fields: Arc<[OutputField]>,
    },
    /// Parts of a JSON cell.
    Parts {
        index: usize,
        cell_type: CellType,
        parts: Selection,
    },
    Object(Vec<OutputField>),
}

impl OutputField {
    /// Rows that refer to this one.
    pub(crate) fn rows(name: &str, index: usize, fields: Arc<[OutputField]>) -> Self {
        Self { label: encode_label(name), source: FieldSource::Rows { index, fields } }
    }

    /// Adds a field inside the objects at the end of a path.
    pub(crate) fn add_field(fields: &mut Vec<OutputField>, steps: &[&str], field: OutputField) {
        let Some((first, rest)) = steps.split_first() else {
            fields.push(field);
            return;
        };
        let label = encode_label(first);
        let position = fields.iter().position(|known| known.label == label).unwrap_or_else(|| {
            fields.push(OutputField { label, source: FieldSource::Object(Vec::new()) });
            fields.len() - 1
        });
        if let Some(OutputField { source: FieldSource::Object(inner), .. }) = fields.get_mut(position) {
            Self::add_field(inner, rest, field);
        }
    }

    /// A column of a table: a cell, or the value at the end of a path into a JSON cell.
    pub(crate) fn column(index: usize, cell_type: CellType, steps: &[Arc<str>]) -> Self {
        let source = match steps {
            [] => FieldSource::Cell { index, cell_type, omit: false },
            steps => FieldSource::Inside { index, cell_type, steps: steps.to_vec() },
        };
        Self { label: Box::default(), source }
    }

    /// Adds parts of a JSON cell at the end of a path. Only the value shows whether it is a list.
    pub(crate) fn add_parts(
        fields: &mut Vec<OutputField>,
        steps: &[&str],
        index: usize,
        cell_type: CellType,
        parts: Selection,
    ) {
        Self::add(fields, steps, FieldSource::Parts { index, cell_type, parts });
    }

    /// Adds a cell at the end of a path.
    pub(crate) fn add_cell(
        fields: &mut Vec<OutputField>,
        steps: &[&str],
        index: usize,
        cell_type: CellType,
        omit: bool,
    ) {
        Self::add(fields, steps, FieldSource::Cell { index, cell_type, omit });
    }

    fn add(fields: &mut Vec<OutputField>, steps: &[&str], source: FieldSource) {
        let Some((first, rest)) = steps.split_first() else { return };
        let label = encode_label(first);
        let existing = fields.iter().position(|field| field.label == label);
        if rest.is_empty() {
            let field = OutputField { label, source };
            match existing.and_then(|position| fields.get_mut(position)) {
                Some(slot) => *slot = field,
                None => fields.push(field),
            }
            return;
        }
        let position = existing.unwrap_or_else(|| {
            fields.push(OutputField { label, source: FieldSource::Object(Vec::new()) });
            fields.len() - 1
        });
        // A path into a field that is already selected as a whole adds nothing.
        if let Some(OutputField { source: FieldSource::Object(inner), .. }) = fields.get_mut(position) {
            OutputField::add(inner, rest, source);
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

/// The member with the encoding and media type of the bytes in an object (R-RES-5). The bytes themselves stay plain
/// text, so that a row can be sent back unchanged.
pub(crate) const BINARY: &str = "_binary";

pub(super) fn write_object(fields: &[OutputField], row: &impl ResultRow, out: &mut Vec<u8>) -> bool {
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
            FieldSource::Cell { index, cell_type, omit } => match row.write(*index, cell_type, out) {
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
                match parts.apply(&row.value(*index, cell_type)) {
                    // Writing a value to memory cannot fail.
                    Some(shown) => serde_json::to_writer(&mut *out, &shown).is_ok(),
                    None => false,
                }
            }
            FieldSource::Inside { index, cell_type, steps } => {
                write_inside(row, *index, cell_type, steps, out);
                true
            }
            FieldSource::Rows { index, fields } => {
                row.write_rows(*index, fields, out);
                true
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

fn write_inside(row: &impl ResultRow, index: usize, cell_type: &CellType, steps: &[Arc<str>], out: &mut Vec<u8>) {
    let value = row.value(index, cell_type);
    let inside = aquifer_query::evaluate::resolve_steps(&value, steps);
    // Writing a value to memory cannot fail.
    let _ = serde_json::to_writer(out, inside);
}

/// Writes rows as a list of objects.
pub(crate) fn write_objects<R: ResultRow>(rows: impl Iterator<Item = R>, fields: &[OutputField], out: &mut Vec<u8>) {
    out.push(b'[');
    for (position, row) in rows.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_object(fields, &row, out);
    }
    out.push(b']');
}

/// Writes a row as a list of values. Its fields are columns.
pub(super) fn write_list(fields: &[OutputField], row: &impl ResultRow, out: &mut Vec<u8>) {
    out.push(b'[');
    for (position, field) in fields.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        match &field.source {
            FieldSource::Cell { index, cell_type, .. } => {
                if row.write(*index, cell_type, out) == CellContent::Null {
                    out.extend_from_slice(b"null");
                }
            }
            FieldSource::Inside { index, cell_type, steps } => write_inside(row, *index, cell_type, steps, out),
            FieldSource::Rows { index, fields } => row.write_rows(*index, fields, out),
            FieldSource::Parts { .. } | FieldSource::Object(_) => out.extend_from_slice(b"null"),
        }
    }
    out.push(b']');
}

/// The output of a statement's rows.
#[derive(Debug, Default)]
pub(crate) struct RowShape {
    pub(crate) fields: Arc<[OutputField]>,
    /// Whether a row becomes a list of values instead of an object.
    pub(crate) table: bool,
    pub(crate) cursor_source: CursorSource,
}

/// The source of a row's cursor.
#[derive(Debug, Default)]
pub(crate) enum CursorSource {
    /// No cursor is needed.
    #[default]
    None,
    /// The values of these cells.
    Cells(Vec<(usize, CellType)>),
    /// Rows are counted, starting after `from`.
    Counted { from: usize, width: usize },
}
