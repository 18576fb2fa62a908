//! Which stored times an answer depends on, and the statements that check that they are in one format.
//!
//! Comparing SQLite's times as they are stored is right only if all of them are in one sortable format, and any program
//! may write another one at any time. Looking at the whole column for every answer would cost more than the index
//! saves. But text that is a time begins with its date in local time, so a value in another format stands in the index
//! no more than two days from where it belongs. It is enough to look at the values around the page and around the bounds
//! of the filter, and at the few places where text is that does not begin with a date. Only an answer that reaches
//! the missing values, or that sums, depends on the whole column.

use aquifer_query::FieldType;
use aquifer_query::plan::{Filter, Function, Page, Path, Plan, Test};
use serde_json::Value;

use super::filter;
use super::value::{Scope, Thing};
use crate::model::{Column, Key, SqliteStore, Store};
use crate::statement::{Bind, Dialect, Statement};
use crate::time_style::{self, MAX_SECOND, MIN_MILLISECONDS, MIN_REAL_SECONDS, MIN_SECOND, Stored, TimeStyle};

/// More bounds than this are not looked at one by one.
const MAX_BOUNDS: usize = 8;
/// Offsets are less than 26 hours, so local dates differ from those in UTC by no more than this.
const SLACK_DAYS: i128 = 2;

/// A time column that a plan compares.
#[derive(Debug)]
pub(crate) struct TimeUse<'a> {
    pub(crate) column: &'a Column,
    /// Times that a filter compares it with.
    bounds: Vec<i128>,
    /// Whether rows are sorted by it first.
    pub(crate) is_leading: bool,
    /// Whether the answer depends on all of its values.
    is_whole: bool,
    /// Every row of the answer is from this time on, and up to that one.
    low: Option<i128>,
    high: Option<i128>,
}

/// The part of the order that a page shows, by the times of the leading column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageSpan {
    /// No rows were asked for.
    Nothing,
    /// Between these times. `None` is an end of the order.
    Between(Option<i128>, Option<i128>),
    /// As far as the missing values, or not bounded by times.
    Everything,
}

/// The part of the order that a page shows, given the place of the row it ends with and whether there are more.
pub(crate) fn page_span(plan: &Plan, end: Option<&[Value]>, has_more: bool) -> PageSpan {
    let (place, backward) = match &plan.page {
        Page::Forward { after, .. } => (after.as_deref(), false),
        Page::Backward { before, .. } => (before.as_deref(), true),
        Page::Offset { .. } | Page::Numbered { .. } => (None, false),
    };
    let leading = plan.sort.first();
    let nulls_first = leading.is_some_and(|key| key.nulls_first) != backward;
    let descending = leading.is_some_and(|key| key.descending) != backward;
    let start = place.map(|place| place.first().and_then(time_of));
    let end = end.and_then(|place| place.first()).and_then(time_of);
    match (start, end) {
        // The page began among the missing values, or before them.
        (None | Some(None), _) if nulls_first => PageSpan::Everything,
        (Some(None), _) | (_, None) => PageSpan::Everything,
        _ if !has_more => PageSpan::Everything,
        (start, end) if descending => PageSpan::Between(end, start.flatten()),
        (start, end) => PageSpan::Between(start.flatten(), end),
    }
}

/// A time from a cursor or a caller.
pub(crate) fn time_of(value: &Value) -> Option<i128> {
    time_style::nanosecond(Stored::Text(value.as_str()?.as_bytes()))
}

/// The time columns that a plan compares, as far as an index could help with them.
pub(crate) fn time_uses<'a>(scope: &Scope<'a>, plan: &Plan) -> Vec<TimeUse<'a>> {
    let mut uses = Vec::new();
    if scope.dialect != Dialect::Sqlite {
        return uses;
    }
    if let Some(filter) = &plan.filter {
        add_tests(scope, filter, &mut uses);
        clip(scope, filter, &mut uses);
    }
    if plan.items {
        let leads = |position: usize| position == 0 && !plan.is_ranked();
        for (position, key) in plan.sort.iter().enumerate() {
            add_sort(scope, &key.path, leads(position), &mut uses);
        }
        for (position, name) in scope.served.collection.key.iter().enumerate() {
            add_sort(scope, &Path::from_name(name.clone()), leads(plan.sort.len() + position), &mut uses);
        }
        if scope.served.table.key == Key::None {
            for field in &scope.served.collection.fields {
                add_sort(scope, &Path::from_name(field.name.clone()), false, &mut uses);
            }
        }
    }
    for aggregate in &plan.aggregates {
        let compared = aggregate.functions.iter().filter_map(|function| match function {
            Function::Min(path, _) | Function::Max(path, _) => Some(path),
            _ => None,
        });
        for path in aggregate.group_by.iter().map(|(path, _)| path).chain(compared) {
            add_sort(scope, path, false, &mut uses);
        }
    }
    uses
}

/// The column behind a path, if it holds times that an index may be on.
fn time_column<'a>(scope: &Scope<'a>, path: &Path) -> Option<&'a Column> {
    if path.computed || !path.inside.is_empty() {
        return None;
    }
    let column = scope.served.table.column(&path.name)?;
    (column.may_have_index && matches!(column.store, Store::Sqlite(SqliteStore::Time(_)))).then_some(column)
}

fn entry<'u, 'a>(uses: &'u mut Vec<TimeUse<'a>>, column: &'a Column) -> Option<&'u mut TimeUse<'a>> {
    let known = uses.iter().position(|one| one.column.name == column.name);
    let position = known.unwrap_or_else(|| {
        let (is_leading, is_whole) = (false, false);
        uses.push(TimeUse { column, bounds: Vec::new(), is_leading, is_whole, low: None, high: None });
        uses.len() - 1
    });
    uses.get_mut(position)
}

fn add_sort<'a>(scope: &Scope<'a>, path: &Path, is_leading: bool, uses: &mut Vec<TimeUse<'a>>) {
    let Some(one) = time_column(scope, path).and_then(|column| entry(uses, column)) else { return };
    // A column that is sorted by twice is sorted by the first time.
    if is_leading {
        one.is_leading = true;
    } else if !one.is_leading {
        one.is_whole = true;
    }
}

fn values_of(test: &Test) -> &[Value] {
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
            let values = values_of(test);
            if values.is_empty() {
                return;
            }
            let Some(one) = time_column(scope, path).and_then(|column| entry(uses, column)) else { return };
            one.bounds.extend(values.iter().filter_map(time_of));
            one.is_whole |= one.bounds.len() > MAX_BOUNDS;
        }
    }
}

/// Notes within which times every row of the answer is.
fn clip(scope: &Scope<'_>, filter: &Filter, uses: &mut [TimeUse<'_>]) {
    match filter {
        Filter::And(parts) => parts.iter().for_each(|part| clip(scope, part, uses)),
        Filter::Test { path, test, .. } => {
            let times = || values_of(test).iter().filter_map(time_of);
            let (low, high) = match test {
                Test::Gt(_) | Test::Gte(_) => (times().min(), None),
                Test::Lt(_) | Test::Lte(_) => (None, times().max()),
                Test::Eq(_) | Test::In(_) => (times().min(), times().max()),
                _ => return,
            };
            let Some(column) = time_column(scope, path) else { return };
            let Some(one) = uses.iter_mut().find(|one| one.column.name == column.name) else { return };
            one.low = one.low.max(low);
            one.high = [one.high, high].into_iter().flatten().min();
        }
        Filter::Or(_) | Filter::Not(_) => {}
    }
}

/// Values of text from one on, and before another.
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

    /// What is left of it once another one is known; nothing if that covers it.
    pub(crate) fn without(mut self, known: &Self) -> Option<Self> {
        let from_start = match (&known.low, &self.low) {
            (None, _) => true,
            (Some(known), Some(low)) => known <= low,
            (Some(_), None) => false,
        };
        let to_end = match (&known.high, &self.high) {
            (None, _) => true,
            (Some(known), Some(high)) => known >= high,
            (Some(_), None) => false,
        };
        // Where one ends before the other begins, nothing of it is known.
        let starts_within = self.low.is_none() || known.high.is_none() || known.high > self.low;
        let ends_within = self.high.is_none() || known.low.is_none() || known.low < self.high;
        match (from_start && starts_within, to_end && ends_within) {
            (true, true) => return None,
            (true, false) => self.low.clone_from(&known.high),
            (false, true) => self.high.clone_from(&known.low),
            (false, false) => {}
        }
        Some(self)
    }
}

impl TextRange {
    /// Whether they overlap, or one begins where the other ends.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        let reaches = |high: &Option<String>, low: &Option<String>| high.is_none() || low.is_none() || high >= low;
        reaches(&self.high, &other.low) && reaches(&other.high, &self.low)
    }

    /// Makes it cover another one that it touches.
    pub(crate) fn extend(&mut self, other: Self) {
        self.low = self.low.take().min(other.low);
        self.high = match (self.high.take(), other.high) {
            (Some(one), Some(other)) => Some(one.max(other)),
            _ => None,
        };
    }
}

/// What has to be looked at to know that a column is in one format, as far as an answer depends on it.
#[derive(Debug)]
pub(crate) struct TimeCheck {
    pub(crate) style: TimeStyle,
    /// Reads the column of all rows that the answer may depend on.
    pub(crate) base: Statement,
    column: crate::statement::Name,
    pub(crate) ranges: Vec<TextRange>,
}

impl TimeUse<'_> {
    /// The check of an answer that shows this part of the order.
    pub(crate) fn check(&self, scope: &Scope<'_>, plan: &Plan, style: TimeStyle, span: PageSpan) -> TimeCheck {
        let mut base = Statement::new(Dialect::Sqlite);
        base.push("SELECT ");
        scope.column(&mut base, self.column);
        base.push(" FROM ").name(&scope.served.table.quoted).push(" AS t WHERE ");
        scope.column(&mut base, self.column);
        base.push(" IS NOT NULL");
        // What the filter says of other columns narrows down what matters, and lets a wider index serve.
        for part in plan.filter.iter().flat_map(conjuncts).filter(|part| !has_times(scope, part)) {
            base.push(" AND ");
            filter::condition(scope, &mut base, part);
        }
        TimeCheck { style, base, column: self.column.quoted.clone(), ranges: self.ranges(span) }
    }

    /// The text that matters, if the column holds text.
    fn ranges(&self, span: PageSpan) -> Vec<TextRange> {
        let around_bounds = self.bounds.iter().map(|bound| (Some(*bound), Some(*bound)));
        let mut spans: Vec<(Option<i128>, Option<i128>)> = around_bounds.filter(|_| !self.is_whole).collect();
        match span {
            _ if self.is_whole => spans.push((self.low, self.high)),
            PageSpan::Everything if self.is_leading => spans.push((self.low, self.high)),
            PageSpan::Between(from, to) if self.is_leading => {
                let high = [to, self.high].into_iter().flatten().min();
                spans.push((from.max(self.low), high));
            }
            _ => {}
        }
        let is_everything = |(low, high): &(Option<i128>, Option<i128>)| low.is_none() && high.is_none();
        if spans.iter().any(is_everything) {
            return vec![TextRange::ALL];
        }
        // Numbers, signs and bytes; then whatever is no digit.
        let mut ranges = vec![TextRange::new(None, "/~".to_owned()), TextRange::new(":".to_owned(), None)];
        let mut add = |range: TextRange| {
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        };
        for (low, high) in spans {
            let (low, high) = (low.map(|time| day(time, -SLACK_DAYS)), high.map(|time| day(time, SLACK_DAYS + 1)));
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
}

/// The day so many days after that of a time.
fn day(time: i128, days: i128) -> String {
    const DAY: i128 = 86_400_000_000_000;
    let least = i128::from(MIN_SECOND) * 1_000_000_000;
    let most = i128::from(MAX_SECOND) * 1_000_000_000;
    let mut text = time_style::canonical((time + days * DAY).clamp(least, most));
    text.truncate(10);
    text
}

fn year(day: &str) -> Option<i32> {
    day.get(..4)?.parse().ok()
}

/// Conditions that all hold for every row of the answer.
fn conjuncts(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// Whether a condition compares times in a style that is not checked yet.
fn has_times(scope: &Scope<'_>, filter: &Filter) -> bool {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(|part| has_times(scope, part)),
        Filter::Not(inner) => has_times(scope, inner),
        Filter::Test { path, of, .. } => {
            *of == FieldType::Time && matches!(scope.thing(path), Thing::Column(_) | Thing::Computed(_))
        }
    }
}

impl TimeCheck {
    /// Reads the values in a range of text.
    pub(crate) fn in_range(&self, range: &TextRange) -> Statement {
        let mut statement = self.base.clone();
        for (operator, bound) in [(" >= ", &range.low), (" < ", &range.high)] {
            if let Some(bound) = bound {
                statement.push(" AND t.").name(&self.column).push(operator).bind(Bind::Text(bound.clone()));
            }
        }
        statement
    }

    /// Reads the values that cannot be in a column of numbers. Text is greater than every number.
    pub(crate) fn no_numbers(&self, unit: time_style::Unit) -> Vec<Statement> {
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

    /// Reads some values, to learn the format.
    pub(crate) fn sample(&self) -> Statement {
        let mut statement = self.base.clone();
        statement.push(" LIMIT ").count(100);
        statement
    }
}
