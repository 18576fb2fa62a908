//! What a connection knows of the formats of times: which values it has looked at since the data changed.
//!
//! `PRAGMA data_version` changes whenever anybody else commits. Within one version nothing has to be looked at twice, so
//! in a database that is only read, checks cost next to nothing.

use std::collections::VecDeque;

use rusqlite::{Connection, Result};

use super::rows::stored;
use crate::sql::uniform::{DaySpan, TextRange, TimeCheck};
use crate::statement::{Bind, Statement};
use crate::time_style::{StyleFinder, TimeStyle};

/// How many columns are remembered, each with the conditions it was looked at under.
const MAX_COLUMNS: usize = 32;
/// How many separate ranges of one column are remembered.
const MAX_RANGES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct TimeFormats(VecDeque<Looked>);

/// What was looked at of a column, under some conditions.
#[derive(Debug)]
struct Looked {
    sql: String,
    binds: Vec<Bind>,
    /// The version of the data.
    version: i64,
    /// What the values that were looked at are written in. This outlives the version, as something to begin with.
    style: TimeStyle,
    /// Ranges in which all values are in that style.
    ranges: Vec<TextRange>,
    /// Days of which everything that could matter is in these ranges.
    spans: Vec<DaySpan>,
    /// Whether all values are numbers in that style.
    are_numbers: bool,
    /// The last sortable style.
    expected: TimeStyle,
}

impl TimeFormats {
    /// The style to make an answer in: the last one that was found.
    pub(super) fn known(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let version = data_version(connection)?;
        let known = self.0.iter().find(|looked| looked.is_about(check));
        Ok(match known {
            None => check.style,
            // Another version may be in one style again.
            Some(looked) if looked.version != version => looked.expected,
            Some(looked) => looked.style,
        })
    }

    /// Looks at the values that matter, as far as they have not been looked at.
    pub(super) fn check(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let version = data_version(connection)?;
        let position = self.0.iter().position(|looked| looked.is_about(check));
        let mut looked = position.and_then(|position| self.0.remove(position)).unwrap_or_else(|| Looked::new(check));
        looked.renew(version, check.style);
        let answer = looked.look(connection, check);
        // The last one used is the first one found, and stays longest.
        self.0.truncate(MAX_COLUMNS - 1);
        self.0.push_front(looked);
        answer
    }
}

impl Looked {
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

    fn is_about(&self, check: &TimeCheck) -> bool {
        self.sql == check.base.text() && self.binds == check.base.binds()
    }

    /// Forgets what was seen in other data or in another style.
    fn renew(&mut self, version: i64, style: TimeStyle) {
        if self.version != version || self.style != style {
            (self.version, self.style, self.are_numbers) = (version, style, false);
            self.forget_ranges();
        }
    }

    fn forget_ranges(&mut self) {
        self.ranges.clear();
        self.spans.clear();
    }

    fn look(&mut self, connection: &Connection, check: &TimeCheck) -> Result<TimeStyle> {
        let mut finder = StyleFinder::expecting(check.style);
        let mut seen = Vec::new();
        match check.style {
            TimeStyle::Mixed => return Ok(TimeStyle::Mixed),
            TimeStyle::Number { .. } if self.are_numbers => {}
            TimeStyle::Number { unit, .. } => {
                for statement in check.no_numbers(unit) {
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
                    if !add_all(connection, &check.in_range(&rest), &mut finder)? {
                        break;
                    }
                    seen.push(range);
                }
            }
        }
        let found = finder.finish().unwrap_or(check.style);
        if found == check.style {
            self.are_numbers = matches!(found, TimeStyle::Number { .. });
            self.remember(seen, &check.spans);
            self.expected = found;
            return Ok(found);
        }
        self.forget_ranges();
        self.are_numbers = false;
        // Perhaps all values are in another style than the expected one, such as in a table that was empty before.
        let found = if found.is_sortable() { Some(found) } else { sample(connection, check)? };
        self.style = found.filter(|style| style.is_sortable() && *style != check.style).unwrap_or(TimeStyle::Mixed);
        if self.style.is_sortable() {
            self.expected = self.style;
        }
        Ok(self.style)
    }

    /// Whether nothing about these days has to be looked at again.
    fn has_seen(&self, spans: &[DaySpan]) -> bool {
        // Whatever was looked at, what is no date was looked at with it.
        !self.ranges.is_empty() && spans.iter().all(|span| self.spans.iter().any(|seen| seen.covers(*span)))
    }

    fn remember(&mut self, seen: Vec<TextRange>, spans: &[DaySpan]) {
        for range in seen {
            // A range that begins or ends within another one makes it longer.
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

/// The style of some values.
fn sample(connection: &Connection, check: &TimeCheck) -> Result<Option<TimeStyle>> {
    let mut finder = StyleFinder::new();
    add_all(connection, &check.sample(), &mut finder)?;
    Ok(finder.finish())
}

/// Takes all values into account. False once no style is left.
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
