//! What somebody would write who needs these four questions answered and nothing else: prepared statements over the
//! drivers that the engine uses too, and rows written to JSON as they come.

mod postgres;
mod sqlite;

use anyhow::bail;

/// How many orders a page has.
pub(crate) const PAGE: usize = 25;

/// Where the data is.
pub(crate) enum Target<'a> {
    Sqlite(&'a str),
    Postgres(&'a str),
}

impl<'a> Target<'a> {
    pub(crate) fn read(text: &'a str) -> anyhow::Result<Self> {
        match text.strip_prefix("sqlite:") {
            Some(path) => Ok(Target::Sqlite(path)),
            None if text.starts_with("postgres://") => Ok(Target::Postgres(text)),
            None => bail!("'{text}' is neither sqlite:PATH nor postgres://…"),
        }
    }
}

/// A column of times, and a time that some rows are before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeColumn {
    pub(crate) name: &'static str,
    /// The bound as the column keeps it, in SQL.
    before: &'static str,
}

/// The same bound as a caller writes it.
pub(crate) const BEFORE: &str = "2024-06-15T00:00:00Z";

impl Target<'_> {
    /// The columns of times that visits are sorted by.
    pub(crate) fn time_columns(&self) -> &'static [TimeColumn] {
        match self {
            Target::Sqlite(_) => &[
                TimeColumn { name: "t_at", before: "'2024-06-15T00:00:00'" },
                TimeColumn { name: "python_at", before: "'2024-06-15T00:00:00'" },
                TimeColumn { name: "aware_at", before: "'2024-06-15T00:00:00+00:00'" },
                TimeColumn { name: "day_at", before: "'2024-06-15'" },
                TimeColumn { name: "seconds_at", before: "1718409600" },
                TimeColumn { name: "sparse_at", before: "'2024-06-15 00:00:00'" },
            ],
            Target::Postgres(_) => &[
                TimeColumn { name: "zoned_at", before: "'2024-06-15T00:00:00Z'" },
                TimeColumn { name: "sparse_at", before: "'2024-06-15T00:00:00'" },
            ],
        }
    }
}

impl TimeColumn {
    /// The latest visits of all, or before a time, missing times last. `before` is how the statement names the time.
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

/// A page of orders.
#[derive(serde::Serialize)]
struct Page<T> {
    orders: Vec<T>,
    has_next_page: bool,
}

/// How many orders have a status.
#[derive(serde::Serialize)]
struct Group {
    status: String,
    count: i64,
}

/// Where a page begins: after the order with this time and id.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    created_at: String,
    id: i64,
}

impl Place {
    pub(crate) fn new(created_at: &str, id: i64) -> Self {
        Self { created_at: created_at.to_owned(), id }
    }
}

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum Question {
    /// Paid orders, the latest first.
    List(Option<Place>),
    /// How many orders there are of each status.
    CountByStatus,
    /// One order.
    Get(i64),
    /// One order, without its version.
    GetBare(i64),
    /// The latest visits by a column of times, perhaps only those before a time.
    Latest(TimeColumn, bool),
}

pub(crate) enum ByHand {
    Sqlite(sqlite::ByHand),
    Postgres(Box<postgres::ByHand>),
}

impl ByHand {
    pub(crate) async fn open(target: &str) -> anyhow::Result<Self> {
        Ok(match Target::read(target)? {
            Target::Sqlite(path) => ByHand::Sqlite(sqlite::ByHand::open(path)?),
            Target::Postgres(url) => ByHand::Postgres(Box::new(postgres::ByHand::open(url).await?)),
        })
    }

    pub(crate) async fn ask(&self, question: &Question) -> anyhow::Result<String> {
        match self {
            ByHand::Sqlite(database) => database.ask(question.clone()).await,
            ByHand::Postgres(database) => match question {
                Question::List(after) => database.list(after.as_ref()).await,
                Question::CountByStatus => database.count_by_status().await,
                Question::Get(id) => database.get(*id).await,
                Question::GetBare(id) => database.get_bare(*id).await,
                Question::Latest(column, is_bounded) => database.latest(&column.sql(*is_bounded, column.before)).await,
            },
        }
    }
}
