//! Collects the rows of a statement as a table, up to a number of rows and bytes. If rows are missing, the result says
//! so before the rows.

use std::ops::ControlFlow;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::answer::table;
use aquifer_query::collection::PageLimits;
use serde_json::Value;

use super::error::invalid_sql;
use crate::error::SqlError;
use crate::rows::{CellContent, CellType, ResultRow};
use crate::work::OperationOutput;
use crate::work::session::WorkError;

/// The rows of a statement.
#[derive(Debug)]
pub(crate) struct TableResult {
    columns: Vec<String>,
    cell_types: Vec<CellType>,
    limits: PageLimits,
    rows: Vec<u8>,
    count: usize,
    cut: Option<TruncationReason>,
}

/// Why rows are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TruncationReason {
    Rows,
    Bytes,
}

impl TableResult {
    pub(crate) fn new(columns: Vec<String>, cell_types: Vec<CellType>, limits: PageLimits) -> Self {
        Self { columns, cell_types, limits, rows: Vec::new(), count: 0, cut: None }
    }

    /// Adds a row whose first cell is at `offset`, unless the result is full.
    pub(crate) fn push(&mut self, row: &impl ResultRow, offset: usize) -> ControlFlow<()> {
        if self.count >= self.limits.max_size {
            self.cut = Some(TruncationReason::Rows);
            return ControlFlow::Break(());
        }
        let before = self.rows.len();
        self.rows.extend_from_slice(if self.count > 0 { b",[" } else { b"[" });
        for (index, cell_type) in self.cell_types.iter().enumerate() {
            if index > 0 {
                self.rows.push(b',');
            }
            if row.write(offset + index, cell_type, &mut self.rows) == CellContent::Null {
                self.rows.extend_from_slice(b"null");
            }
        }
        self.rows.push(b']');
        if self.rows.len() > self.limits.max_bytes {
            self.rows.truncate(before);
            return self.end_before_large_row();
        }
        self.count += 1;
        ControlFlow::Continue(())
    }

    /// Ends the result before a row that is too large.
    pub(crate) fn end_before_large_row(&mut self) -> ControlFlow<()> {
        self.cut = Some(TruncationReason::Bytes);
        ControlFlow::Break(())
    }

    /// The answer. Fails if even the first row does not fit.
    pub(crate) fn finish(self) -> Result<OperationOutput, WorkError> {
        let PageLimits { max_size, max_bytes, .. } = self.limits;
        let (message, details) = match self.cut {
            None => (None, Vec::new()),
            Some(TruncationReason::Bytes) if self.count == 0 => return Err(too_large(max_bytes).into()),
            Some(TruncationReason::Rows) => {
                let words = format!(
                    "Only the first {max_size} rows are shown: add a WHERE, aggregate, or continue with ORDER BY … LIMIT … OFFSET {max_size}"
                );
                (Some(words), vec![("returned", self.count), ("max_rows", max_size)])
            }
            Some(TruncationReason::Bytes) => {
                let count = self.count;
                let words = format!(
                    "Only the first {count} rows are shown: more would exceed {max_bytes} bytes. Select fewer or shorter columns"
                );
                (Some(words), vec![("returned", self.count), ("max_bytes", max_bytes)])
            }
        };
        let mut out = Vec::with_capacity(self.rows.len() + 256);
        out.push(b'{');
        if let Some(words) = &message {
            out.extend_from_slice(format!("\"truncated\":{},", Value::from(words.as_str())).as_bytes());
        }
        let columns = Value::from(self.columns);
        out.extend_from_slice(format!("\"{}\":{columns},\"{}\":[", table::COLUMNS, table::ROWS).as_bytes());
        out.extend_from_slice(&self.rows);
        out.extend_from_slice(b"]}");
        let warnings = message.into_iter().map(|words| {
            let warning = Warning::new("RESULT_TRUNCATED", words);
            details.iter().fold(warning, |warning, (name, number)| warning.detail(name, *number))
        });
        OperationOutput::from_json_text(out, warnings.collect()).map_err(|error: SqlError| error.into())
    }
}

fn too_large(max_bytes: usize) -> Failure {
    invalid_sql(format_args!(
        "gives a row of more than {max_bytes} bytes. Select fewer columns, or only a part: substr(x, 1, 1000)"
    ))
}
