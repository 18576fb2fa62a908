//! Determines which stored times an answer depends on, and the statements that verify that they are in one format.
//!
//! Comparing SQLite times as stored is correct only if all of them are in one sortable format, and any program may
//! write another format at any time. Checking the whole column for every answer would cost more than the index saves.
//! But text that is a time begins with its local date, so a value in another format is at most two days away from its
//! correct position in the index. It is sufficient to check the values around the page and around the bounds of the
//! filter, and the few ranges of text that does not begin with a date. Only an answer that includes missing values, or
//! that aggregates, depends on the whole column.

use aquifer_query::FieldType;
use aquifer_query::plan::{Filter, Function, Page, Path, Plan, Test};
use serde_json::Value;

use super::filter;
use super::scope::{PathTarget, Scope};
use crate::schema::model::{Column, Key, SqliteStore, Store};
use crate::schema::time_style::{
    self, MAX_SECOND, MIN_MILLISECONDS, MIN_REAL_SECONDS, MIN_SECOND, StoredTime, TimeStyle,
};
use crate::statement::{Bind, Dialect, Statement};

/// Maximum number of bounds that are checked individually.
const MAX_BOUNDS: usize = 8;
/// Offsets are less than 26 hours, so local dates differ from those in UTC by no more than this.
const SLACK_DAYS: i64 = 2;
/// In nanoseconds.
const DAY: i128 = 86_400_000_000_000;

/// A time column that a plan compares.
#[derive(Debug)]
pub(crate) struct TimeUse<'a> {
    pub(crate) column: &'a Column,
    /// The times with which a filter compares it.
    bounds: Vec<i128>,
    /// Whether it is the first sort column.
    pub(crate) is_leading: bool,
    /// Whether the answer depends on all of its values.
    is_whole: bool,
    /// The bounds of the times of all rows in the answer.
    low: Option<i128>,
    high: Option<i128>,
}

/// The range of the order that a page covers, by the times of the leading column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageSpan {
    /// No rows were requested.
    Nothing,
    /// Between these times. `None` is an end of the order.
    Between(Option<i128>, Option<i128>),
    /// Including the missing values, or not bounded by times.
    Everything,
}

/// The range of a page, given the cursor values of its last row and whether there are more rows.
pub(crate) fn page_span(plan: &Plan, end: Option<&[Value]>, has_more: bool) -> PageSpan {
    let (cursor_values, backward) = match &plan.page {
        Page::Forward { after, .. } => (after.as_deref(), false),
        Page::Backward { before, .. } => (before.as_deref(), true),
        Page::Offset { .. } | Page::Numbered { .. } => (None, false),
    };
    let leading = plan.sort.first();
    let nulls_first = leading.is_some_and(|key| key.nulls_first) != backward;
    let descending = leading.is_some_and(|key| key.descending) != backward;
    let start = cursor_values.map(|cursor_values| cursor_values.first().and_then(parse_time));
    let end = end.and_then(|cursor_values| cursor_values.first()).and_then(parse_time);
    match (start, end) {
        // The page starts among the missing values, or before them.
        (None | Some(None), _) if nulls_first => PageSpan::Everything,
        (Some(None), _) | (_, None) => PageSpan::Everything,
        _ if !has_more => PageSpan::Everything,
        (start, end) if descending => PageSpan::Between(end, start.flatten()),
        (start, end) => PageSpan::Between(start.flatten(), end),
    }
}

/// A time from a cursor or a caller.
pub(crate) fn parse_time(value: &Value) -> Option<i128> {
    time_style::nanosecond(StoredTime::Text(value.as_str()?.as_bytes()))
}

/// The time columns that a plan compares and that may be indexed.
pub(crate) fn time_uses<'a>(scope: &Scope<'a>, plan: &Plan) -> Vec<TimeUse<'a>> {
    let mut uses = Vec::new();
    if scope.dialect != Dialect::Sqlite {
        return uses;
    }
    if let Some(filter) = &plan.filter {
        add_tests(scope, filter, &mut uses);
        narrow_bounds(scope, filter, &mut uses);
    }
    if plan.items {
        let leads = |position: usize| position == 0 && !plan.is_ranked();
        for (position, key) in plan.sort.iter().enumerate() {
            add_sort(scope, &key.path, leads(position), &mut uses);
        }
        for (position, name) in scope.exposed.collection.key.iter().enumerate() {
            add_sort(scope, &Path::from_name(name.clone()), leads(plan.sort.len() + position), &mut uses);
        }
        if scope.exposed.table.key == Key::None {
            for field in &scope.exposed.collection.fields {
                add_sort(scope, &Path::from_name(field.name.clone()), false, &mut uses);
            }
        }
    }
    for aggregate in &plan.aggregates {
        let compared = aggregate.functions.iter().filter_map(|function| match function {
            Function::CountDistinct(path, _) | Function::Min(path, _) | Function::Max(path, _) => Some(path),
            _ => None,
        });
        // Buckets parse each time by itself.
        let grouped = aggregate.group_by.iter().filter(|key| key.bucket.is_none()).map(|key| &key.path);
        for path in grouped.chain(compared) {
            add_sort(scope, path, false, &mut uses);
        }
    }
    uses
}

/// The column of a path, if it contains times and may be indexed.
fn time_column<'a>(scope: &Scope<'a>, path: &Path) -> Option<&'a Column> {
    // Times of other tables are parsed value by value.
    if path.computed || !path.inside.is_empty() || !path.through.is_empty() {
        return None;
    }
    let column = scope.exposed.table.column(&path.name)?;
    (column.may_have_index && matches!(column.store, Store::Sqlite(SqliteStore::Time(_)))).then_some(column)
}

fn entry_for<'u, 'a>(uses: &'u mut Vec<TimeUse<'a>>, column: &'a Column) -> Option<&'u mut TimeUse<'a>> {
    let existing = uses.iter().position(|time_use| time_use.column.name == column.name);
    let position = existing.unwrap_or_else(|| {
        let (is_leading, is_whole) = (false, false);
        uses.push(TimeUse { column, bounds: Vec::new(), is_leading, is_whole, low: None, high: None });
        uses.len() - 1
    });
    uses.get_mut(position)
}

fn add_sort<'a>(scope: &Scope<'a>, path: &Path, is_leading: bool, uses: &mut Vec<TimeUse<'a>>) {
    let Some(time_use) = time_column(scope, path).and_then(|column| entry_for(uses, column)) else { return };
    // If a column occurs twice in the sort, the first occurrence counts.
    if is_leading {
        time_use.is_leading = true;
    } else if !time_use.is_leading {
        time_use.is_whole = true;
    }
}

fn test_values(test: &Test) -> &[Value] {
    match test {
        Test::Eq(value) | Test::Gt(value) | Test::Gte(value) | Test::Lt(value) | Test::Lte(value) => {
            std::slice::from_ref(value)
        }
        Test::In(values) => values,
        _ => &[],
    }
}

fn add_tests<'a>(scope: &Scope<'a>, filter: &Filter, uses: &mut Vec<TimeUse<'a>>) {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| add_tests(scope, part, uses)),
        Filter::Not(inner) => add_tests(scope, inner, uses),
        Filter::Test { path, test, .. } => {
            let values = test_values(test);
            if values.is_empty() {
                return;
            }
            let Some(time_use) = time_column(scope, path).and_then(|column| entry_for(uses, column)) else { return };
            time_use.bounds.extend(values.iter().filter_map(parse_time));
            time_use.is_whole |= time_use.bounds.len() > MAX_BOUNDS;
        }
        // These times are parsed value by value.
        Filter::Compare { .. } | Filter::Calculate { .. } | Filter::Related { .. } => {}
    }
}

/// Narrows the bounds of the times of all rows in the answer.
fn narrow_bounds(scope: &Scope<'_>, filter: &Filter, uses: &mut [TimeUse<'_>]) {
    match filter {
        Filter::And(parts) => parts.iter().for_each(|part| narrow_bounds(scope, part, uses)),
        Filter::Test { path, test, .. } => {
            let times = || test_values(test).iter().filter_map(parse_time);
            let (low, high) = match test {
                Test::Gt(_) | Test::Gte(_) => (times().min(), None),
                Test::Lt(_) | Test::Lte(_) => (None, times().max()),
                Test::Eq(_) | Test::In(_) => (times().min(), times().max()),
                _ => return,
            };
            let Some(column) = time_column(scope, path) else { return };
            let Some(time_use) = uses.iter_mut().find(|time_use| time_use.column.name == column.name) else { return };
            time_use.low = time_use.low.max(low);
            time_use.high = [time_use.high, high].into_iter().flatten().min();
        }
        Filter::Or(_) | Filter::Not(_) | Filter::Compare { .. } | Filter::Calculate { .. } | Filter::Related { .. } => {
        }
    }
}

/// A range of text, including the lower bound and excluding the upper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextRange {
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
}

impl TextRange {
    pub(crate) const ALL: Self = Self { low: None, high: None };

    fn new(low: impl Into<Option<String>>, high: impl Into<Option<String>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    /// The part outside of a range that was checked; `None` if that covers it.
    pub(crate) fn without(mut self, checked: &Self) -> Option<Self> {
        let from_start = match (&checked.low, &self.low) {
            (None, _) => true,
            (Some(checked_low), Some(low)) => checked_low <= low,
            (Some(_), None) => false,
        };
        let to_end = match (&checked.high, &self.high) {
            (None, _) => true,
            (Some(checked_high), Some(high)) => checked_high >= high,
            (Some(_), None) => false,
        };
        // Ranges that do not overlap have nothing in common.
        let starts_within = self.low.is_none() || checked.high.is_none() || checked.high > self.low;
        let ends_within = self.high.is_none() || checked.low.is_none() || checked.low < self.high;
        match (from_start && starts_within, to_end && ends_within) {
            (true, true) => return None,
            (true, false) => self.low.clone_from(&checked.high),
            (false, true) => self.high.clone_from(&checked.low),
            (false, false) => {}
        }
        Some(self)
    }
}

impl TextRange {
    /// Whether the ranges overlap or are adjacent.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        let reaches = |high: &Option<String>, low: &Option<String>| high.is_none() || low.is_none() || high >= low;
        reaches(&self.high, &other.low) && reaches(&other.high, &self.low)
    }

    /// Extends the range by another one that touches it.
    pub(crate) fn extend(&mut self, other: Self) {
        self.low = self.low.take().min(other.low);
        self.high = match (self.high.take(), other.high) {
            (Some(one), Some(other)) => Some(one.max(other)),
            _ => None,
        };
    }
}

/// What has to be checked to know that a column is in one format, as far as an answer depends on it.
#[derive(Debug)]
pub(crate) struct TimeCheck {
    pub(crate) style: TimeStyle,
    /// Selects the column for all rows on which the answer may depend.
    pub(crate) base: Statement,
    column: crate::statement::Name,
    /// The parts of the order that matter, in days.
    pub(crate) spans: Vec<DaySpan>,
}

/// Days since 1970, from one to another, both included. `None` has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DaySpan {
    low: Option<i64>,
    high: Option<i64>,
}

impl DaySpan {
    fn new(low: Option<i128>, high: Option<i128>) -> Self {
        // Every time that can be stored is within these days.
        let day = |time: i128| i64::try_from(time.div_euclid(DAY)).unwrap_or(i64::MAX);
        Self { low: low.map(day), high: high.map(day) }
    }

    /// Whether all days of the other one are in this one.
    pub(crate) fn covers(self, other: Self) -> bool {
        let begins = self.low.is_none_or(|low| other.low.is_some_and(|other| low <= other));
        let ends = self.high.is_none_or(|high| other.high.is_some_and(|other| other <= high));
        begins && ends
    }
}

impl TimeUse<'_> {
    /// The check for an answer that covers this range.
    pub(crate) fn check(&self, scope: &Scope<'_>, plan: &Plan, style: TimeStyle, span: PageSpan) -> TimeCheck {
        let mut base = Statement::new(Dialect::Sqlite);
        base.push("SELECT ");
        scope.write_column(&mut base, self.column);
        base.push(" FROM ").name(&scope.exposed.table.quoted).push(" AS t WHERE ");
        scope.write_column(&mut base, self.column);
        base.push(" IS NOT NULL");
        let scope = &scope.alone();
        // Conditions on other columns narrow the check, and allow a wider index to be used.
        for part in plan.filter.iter().flat_map(conjuncts).filter(|part| is_checkable(scope, part)) {
            base.push(" AND ");
            filter::write_condition(scope, &mut base, part);
        }
        TimeCheck { style, base, column: self.column.quoted.clone(), spans: self.spans(span) }
    }

    fn spans(&self, span: PageSpan) -> Vec<DaySpan> {
        let around_bounds = self.bounds.iter().map(|bound| DaySpan::new(Some(*bound), Some(*bound)));
        let mut spans: Vec<DaySpan> = around_bounds.filter(|_| !self.is_whole).collect();
        match span {
            _ if self.is_whole => spans.push(DaySpan::new(self.low, self.high)),
            PageSpan::Everything if self.is_leading => spans.push(DaySpan::new(self.low, self.high)),
            PageSpan::Between(from, to) if self.is_leading => {
                let high = [to, self.high].into_iter().flatten().min();
                spans.push(DaySpan::new(from.max(self.low), high));
            }
            _ => {}
        }
        spans
    }
}

/// The day this many days after the given one, as the beginning of a text.
fn day_text(day: i64, days: i64) -> String {
    let least = i128::from(MIN_SECOND) * 1_000_000_000;
    let most = i128::from(MAX_SECOND) * 1_000_000_000;
    let mut text = time_style::canonical((i128::from(day.saturating_add(days)) * DAY).clamp(least, most));
    text.truncate(10);
    text
}

fn year(day: &str) -> Option<i32> {
    day.get(..4)?.parse().ok()
}

/// Conditions that hold for every row of the answer.
fn conjuncts(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// Whether a condition can narrow the check: it concerns this table only, and compares no times, whose style is not
/// verified yet.
fn is_checkable(scope: &Scope<'_>, filter: &Filter) -> bool {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().all(|part| is_checkable(scope, part)),
        Filter::Not(inner) => is_checkable(scope, inner),
        Filter::Test { path, field_type, .. } => {
            let is_stored = || matches!(scope.resolve(path).1, PathTarget::Column(_) | PathTarget::Computed(_));
            path.through.is_empty() && !(*field_type == FieldType::Time && is_stored())
        }
        Filter::Compare { .. } | Filter::Calculate { .. } | Filter::Related { .. } => false,
    }
}

impl TimeCheck {
    /// The relevant ranges, if the column contains text.
    pub(crate) fn ranges(&self) -> Vec<TextRange> {
        if self.spans.iter().any(|span| span.low.is_none() && span.high.is_none()) {
            return vec![TextRange::ALL];
        }
        // Numbers, signs and bytes; then whatever is no digit.
        let mut ranges = vec![TextRange::new(None, "/~".to_owned()), TextRange::new(":".to_owned(), None)];
        let mut add = |range: TextRange| {
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        };
        for DaySpan { low, high } in &self.spans {
            let low = low.map(|day| day_text(day, -SLACK_DAYS));
            let high = high.map(|day| day_text(day, SLACK_DAYS + 1));
            // Dates without dashes come after all others of their year.
            let before = low.as_deref().and_then(year).map(|year| year - 1);
            let around = high.as_deref().and_then(year).into_iter().flat_map(|year| year - 1..=year + 1);
            for year in before.into_iter().chain(around) {
                add(TextRange::new(format!("{year:04}-~"), format!("{year:04}:")));
            }
            add(TextRange::new(low, high));
        }
        ranges
    }

    /// Selects the values in a range of text.
    pub(crate) fn range_statement(&self, range: &TextRange) -> Statement {
        let mut statement = self.base.clone();
        for (operator, bound) in [(" >= ", &range.low), (" < ", &range.high)] {
            if let Some(bound) = bound {
                statement.push(" AND t.").name(&self.column).push(operator).bind(Bind::Text(bound.clone()));
            }
        }
        statement
    }

    /// Selects the values that do not belong in a column of numbers. Text sorts after every number.
    pub(crate) fn other_number_statements(&self, unit: time_style::Unit) -> Vec<Statement> {
        let with = |conditions: &[(&'static str, Bind)]| {
            let mut statement = self.base.clone();
            for (operator, bound) in conditions {
                statement.push(" AND t.").name(&self.column).push(operator).bind(bound.clone());
            }
            statement
        };
        match unit {
            time_style::Unit::Second => {
                let (low, high) = (Bind::Integer(-MIN_REAL_SECONDS), Bind::Integer(MIN_REAL_SECONDS));
                let mut small = with(&[(" > ", low), (" < ", high)]);
                small.push(" AND typeof(t.").name(&self.column).push(") = 'real'");
                let beyond = with(&[(" >= ", Bind::Integer(MIN_MILLISECONDS))]);
                vec![beyond, with(&[(" < ", Bind::Integer(MIN_SECOND))]), small]
            }
            time_style::Unit::Millisecond => vec![
                with(&[(" > ", Bind::Integer(-MIN_MILLISECONDS)), (" < ", Bind::Integer(MIN_MILLISECONDS))]),
                with(&[(" >= ", Bind::Integer((MAX_SECOND + 1) * 1_000))]),
                with(&[(" < ", Bind::Integer(MIN_SECOND * 1_000))]),
            ],
        }
    }

    /// Selects some values, to determine the format.
    pub(crate) fn sample_statement(&self) -> Statement {
        let mut statement = self.base.clone();
        statement.push(" LIMIT ").count(100);
        statement
    }
}
