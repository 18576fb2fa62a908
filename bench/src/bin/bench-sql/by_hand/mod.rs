//! Hand-written code for exactly these queries: prepared statements on the same drivers as the engine, with rows
//! written to JSON as they arrive.

pub(crate) mod paths;
mod postgres;
mod postgres_paths;
mod sqlite;
mod sqlite_paths;

use anyhow::bail;

use paths::PathQuery;

/// Number of orders per page.
pub(crate) const PAGE: usize = 25;

/// The database.
pub(crate) enum Target<'a> {
    Sqlite(&'a str),
    Postgres(&'a str),
}

/// A column that contains times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeColumn {
    pub(crate) name: &'static str,
    /// The format of the times.
    pub(crate) title: &'static str,
    /// A bound that some rows are before, in the column's format.
    before: &'static str,
}

/// The same bound in the format of a caller.
pub(crate) const BEFORE: &str = "2024-06-15T00:00:00Z";

impl<'a> Target<'a> {
    pub(crate) fn read(text: &'a str) -> anyhow::Result<Self> {
        match text.strip_prefix("sqlite:") {
            Some(path) => Ok(Target::Sqlite(path)),
            None if text.starts_with("postgres://") => Ok(Target::Postgres(text)),
            None => bail!("'{text}' is neither sqlite:PATH nor postgres://…"),
        }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self {
            Target::Sqlite(_) => "SQLite",
            Target::Postgres(_) => "PostgreSQL",
        }
    }

    /// The time columns that visits are sorted by.
    pub(crate) fn time_columns(&self) -> &'static [TimeColumn] {
        const fn column(name: &'static str, title: &'static str, before: &'static str) -> TimeColumn {
            TimeColumn { name, title, before }
        }
        const SQLITE: [TimeColumn; 6] = [
            column("t_at", "`2026-01-31T12:00:00`", "2024-06-15T00:00:00"),
            column("python_at", "Python's fractions", "2024-06-15T00:00:00"),
            column("aware_at", "with an offset", "2024-06-15T00:00:00+00:00"),
            column("day_at", "plain dates", "2024-06-15"),
            column("seconds_at", "Unix seconds", "1718409600"),
            column("sparse_at", "some missing", "2024-06-15 00:00:00"),
        ];
        const POSTGRES: [TimeColumn; 2] = [
            column("zoned_at", "`timestamptz`", "'2024-06-15T00:00:00Z'"),
            column("sparse_at", "some missing", "'2024-06-15T00:00:00'"),
        ];
        match self {
            Target::Sqlite(_) => &SQLITE,
            Target::Postgres(_) => &POSTGRES,
        }
    }
}

impl TimeColumn {
    /// Selects the latest visits of all, or before a time, with missing times last. `before` is the placeholder for the
    /// time.
    fn sql(self, is_bounded: bool, before: &str) -> String {
        let name = self.name;
        let condition = if is_bounded { format!("{name} < {before}") } else { format!("{name} IS NOT NULL") };
        format!("SELECT id, {name} FROM visits WHERE {condition} ORDER BY {name} DESC, id DESC LIMIT 26")
    }
}

/// A visit and one of its times.
#[derive(serde::Serialize)]
struct Visit<T> {
    id: i64,
    at: T,
}

/// A page of orders or visits.
#[derive(serde::Serialize)]
struct Page<T> {
    orders: Vec<T>,
    has_next_page: bool,
}

impl<T: serde::Serialize> Page<T> {
    /// Writes the page as JSON. `rows` has one extra row if there are more.
    fn write(mut rows: Vec<T>) -> anyhow::Result<String> {
        let has_next_page = rows.len() > PAGE;
        rows.truncate(PAGE);
        Ok(serde_json::to_string(&Self { orders: rows, has_next_page })?)
    }
}

/// The number of orders with a status.
#[derive(serde::Serialize)]
struct Group {
    status: String,
    count: i64,
}

/// The start of a page: after the row with this sort value and id, like our cursor.
#[derive(Debug, Clone)]
pub(crate) struct PageStart {
    pub(crate) value: String,
    pub(crate) id: i64,
    pub(crate) cursor: String,
}

/// A query.
#[derive(Debug, Clone)]
pub(crate) enum Query {
    /// Paid orders, latest first.
    List(Option<PageStart>),
    /// The number of orders per status.
    CountByStatus,
    /// One order.
    Get(i64),
    /// One order, without its version.
    GetBare(i64),
    /// The latest visits by a time column, optionally only those before a time.
    Latest(TimeColumn, bool),
    /// A query that follows references.
    Path(PathQuery),
}

pub(crate) enum HandWrittenQueries {
    Sqlite(sqlite::HandWrittenQueries),
    Postgres(Box<postgres::HandWrittenQueries>),
}

impl HandWrittenQueries {
    pub(crate) async fn open(target: &str) -> anyhow::Result<Self> {
        Ok(match Target::read(target)? {
            Target::Sqlite(path) => HandWrittenQueries::Sqlite(sqlite::HandWrittenQueries::open(path)?),
            Target::Postgres(url) => {
                HandWrittenQueries::Postgres(Box::new(postgres::HandWrittenQueries::open(url).await?))
            }
        })
    }

    pub(crate) async fn run(&self, query: &Query) -> anyhow::Result<String> {
        match self {
            HandWrittenQueries::Sqlite(database) => database.run(query.clone()).await,
            HandWrittenQueries::Postgres(database) => database.run(query).await,
        }
    }
}
