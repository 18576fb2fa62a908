//! The time formats that a connection has verified since the data changed.
//!
//! `PRAGMA data_version` changes whenever another connection commits. Within one version nothing is checked twice, so
//! checks cost almost nothing in a database that is only read.

use std::collections::VecDeque;

use rusqlite::{Connection, Result};

use super::rows::stored;
use crate::schema::style_finder::StyleFinder;
use crate::schema::time_style::TimeStyle;
use crate::sql::time_checks::{DaySpan, TextRange, TimeCheck};
use crate::statement::{Bind, Statement};

/// Maximum number of columns that are remembered, each with its conditions.
const MAX_COLUMNS: usize = 32;
/// Maximum number of separate ranges of a column that are remembered.
const MAX_RANGES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct TimeFormats(VecDeque<CheckedColumn>);

/// The checked part of a column, under some conditions.
#[derive(Debug)]
struct CheckedColumn {
    sql: String,
    binds: Vec<Bind>,
    /// The version of the data.
    version: i64,
    /// The style of the checked values. It outlives the version as the expected style.
    style: TimeStyle,
    /// Ranges in which all values are in that style.
    ranges: Vec<TextRange>,
    /// Days for which all relevant values are in these ranges.
    spans: Vec<DaySpan>,
    /// Whether all values are numbers in that style.
    are_numbers: bool,
    /// The last sortable style.
    expected: TimeStyle,
}

impl TimeFormats {
    /// The style for the next answer: the last one found.
    pub(super) fn known_style(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let version = data_version(connection)?;
        let checked = self.0.iter().find(|checked| checked.matches_check(check));
        Ok(match checked {
            None => check.style,
            // The data of another version may be in one style again.
            Some(checked) if checked.version != version => checked.expected,
            Some(checked) => checked.style,
        })
    }

    /// Checks the relevant values that are not checked yet.
    pub(super) fn check(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let version = data_version(connection)?;
        let position = self.0.iter().position(|checked| checked.matches_check(check));
        let mut checked =
            position.and_then(|position| self.0.remove(position)).unwrap_or_else(|| CheckedColumn::new(check));
        checked.reset_if_changed(version, check.style);
        let answer = checked.verify(connection, check);
        // The column used last is found first and kept longest.
        self.0.truncate(MAX_COLUMNS - 1);
        self.0.push_front(checked);
        answer
    }
}

impl CheckedColumn {
    fn new(check: &TimeCheck) -> Self {
        Self {
            sql: check.base.text().to_owned(),
            binds: check.base.binds().to_vec(),
            version: 0,
            style: check.style,
            ranges: Vec::new(),
            spans: Vec::new(),
            are_numbers: false,
            expected: check.style,
        }
    }

    fn matches_check(&self, check: &TimeCheck) -> bool {
        self.sql == check.base.text() && self.binds == check.base.binds()
    }

    /// Forgets checks of other data or another style.
    fn reset_if_changed(&mut self, version: i64, style: TimeStyle) {
        if self.version != version || self.style != style {
            (self.version, self.style, self.are_numbers) = (version, style, false);
            self.forget_ranges();
        }
    }

    fn forget_ranges(&mut self) {
        self.ranges.clear();
        self.spans.clear();
    }

    fn verify(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let mut finder = StyleFinder::expecting(check.style);
        let mut seen = Vec::new();
        match check.style {
            TimeStyle::Mixed => return Ok(TimeStyle::Mixed),
            TimeStyle::Number { .. } if self.are_numbers => {}
            TimeStyle::Number { unit, .. } => {
                for statement in check.other_number_statements(unit) {
                    if !add_all(connection, &statement, &mut finder)? {
                        break;
                    }
                }
            }
            TimeStyle::Text(_) if self.has_seen(&check.spans) => {}
            TimeStyle::Text(_) => {
                for range in check.ranges() {
                    let rest = self.ranges.iter().try_fold(range.clone(), TextRange::without);
                    let Some(rest) = rest else { continue };
                    if !add_all(connection, &check.range_statement(&rest), &mut finder)? {
                        break;
                    }
                    seen.push(range);
                }
            }
        }
        let seen_style = finder.finish().unwrap_or(check.style);
        if seen_style == check.style {
            self.are_numbers = matches!(seen_style, TimeStyle::Number { .. });
            self.remember(seen, &check.spans);
            self.expected = seen_style;
            return Ok(seen_style);
        }
        self.forget_ranges();
        self.are_numbers = false;
        // All values may be in another style than expected, such as in a table that was empty before.
        let other_style = if seen_style.is_sortable() { Some(seen_style) } else { sample_style(connection, check)? };
        self.style =
            other_style.filter(|style| style.is_sortable() && *style != check.style).unwrap_or(TimeStyle::Mixed);
        if self.style.is_sortable() {
            self.expected = self.style;
        }
        Ok(self.style)
    }

    /// Whether these days have been checked completely.
    fn has_seen(&self, spans: &[DaySpan]) -> bool {
        // Text that does not begin with a date is checked together with any range.
        !self.ranges.is_empty() && spans.iter().all(|span| self.spans.iter().any(|seen| seen.covers(*span)))
    }

    fn remember(&mut self, seen: Vec<TextRange>, spans: &[DaySpan]) {
        for range in seen {
            // A range that overlaps a known one extends it.
            match self.ranges.iter_mut().find(|known| known.touches(&range)) {
                Some(known) => known.extend(range),
                None => self.ranges.push(range),
            }
        }
        for span in spans {
            if !self.has_seen(std::slice::from_ref(span)) {
                self.spans.retain(|seen| !span.covers(*seen));
                self.spans.push(*span);
            }
        }
        if self.ranges.len() > MAX_RANGES || self.spans.len() > MAX_RANGES {
            self.forget_ranges();
        }
    }
}

/// The style of sampled values.
fn sample_style(connection: &Connection, check: &TimeCheck) -> Result<Option<TimeStyle>> {
    let mut finder = StyleFinder::new();
    add_all(connection, &check.sample_statement(), &mut finder)?;
    Ok(finder.finish())
}

/// Adds all values. Returns false once no style is left.
fn add_all(connection: &Connection, statement: &Statement, finder: &mut StyleFinder) -> Result<bool> {
    tracing::trace!(check = statement.text(), "sqlite");
    let mut prepared = connection.prepare_cached(statement.text())?;
    let mut rows = prepared.query(rusqlite::params_from_iter(statement.binds()))?;
    while let Some(row) = rows.next()? {
        if !finder.add(stored(row.get_ref(0)?)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn data_version(connection: &Connection) -> Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
