//! SQLite by hand: one connection, statements prepared once, on a blocking thread.

use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, OpenFlags, Row, params, params_from_iter};

use super::{Group, Page, PageStart, Query, TimeColumn, Visit, sqlite_paths};

const LIST: &str = "\
    SELECT id, customer_id, status, total, currency, note, created_at, updated_at FROM orders \
    WHERE status = ?1 ORDER BY created_at DESC, id DESC LIMIT 26";
const LIST_AFTER: &str = "\
    SELECT id, customer_id, status, total, currency, note, created_at, updated_at FROM orders \
    WHERE status = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT 26";
const COUNT: &str = "SELECT status, count(*) FROM orders GROUP BY status";
const GET: &str = "\
    SELECT id, customer_id, status, total, currency, note, created_at, updated_at FROM orders WHERE id = ?1";

pub(crate) struct HandWrittenQueries(Arc<Mutex<Connection>>);

#[derive(serde::Serialize)]
struct Order {
    id: i64,
    customer_id: i64,
    status: String,
    total: f64,
    currency: String,
    note: Option<String>,
    created_at: String,
    updated_at: String,
}

impl Order {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            customer_id: row.get(1)?,
            status: row.get(2)?,
            total: row.get(3)?,
            currency: row.get(4)?,
            note: row.get(5)?,
            created_at: row.get(6)?,
            updated_at: row.get(7)?,
        })
    }
}

impl HandWrittenQueries {
    pub(crate) fn open(path: &str) -> anyhow::Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    pub(crate) async fn run(&self, query: Query) -> anyhow::Result<String> {
        let connection = self.0.clone();
        let answered = tokio::task::spawn_blocking(move || {
            let connection = connection.lock().map_err(|_| anyhow!("somebody panicked with the connection"))?;
            match query {
                Query::List(after) => list(&connection, after),
                Query::CountByStatus => count_by_status(&connection),
                // SQLite has no built-in function for the version, so this query never includes it.
                Query::Get(id) | Query::GetBare(id) => get(&connection, id),
                Query::Latest(column, is_bounded) => latest(&connection, column, is_bounded),
                Query::Path(query) => sqlite_paths::run(&connection, query),
            }
        });
        answered.await?
    }
}

fn list(connection: &Connection, after: Option<PageStart>) -> anyhow::Result<String> {
    let rows: Vec<Order> = match after {
        None => connection.prepare_cached(LIST)?.query_map(["paid"], Order::read)?.collect::<Result<_, _>>()?,
        Some(PageStart { value, id, .. }) => connection
            .prepare_cached(LIST_AFTER)?
            .query_map(params!["paid", value, id], Order::read)?
            .collect::<Result<_, _>>()?,
    };
    Page::write(rows)
}

fn count_by_status(connection: &Connection) -> anyhow::Result<String> {
    let group = |row: &Row<'_>| Ok(Group { status: row.get(0)?, count: row.get(1)? });
    let groups: Vec<Group> = connection.prepare_cached(COUNT)?.query_map([], group)?.collect::<Result<_, _>>()?;
    Ok(serde_json::to_string(&groups)?)
}

/// The time is a bound parameter, as in real applications.
fn latest(connection: &Connection, column: TimeColumn, is_bounded: bool) -> anyhow::Result<String> {
    let visit = |row: &Row<'_>| {
        let at = match row.get_ref(1)? {
            ValueRef::Integer(seconds) => seconds.into(),
            other => serde_json::Value::from(other.as_str()?),
        };
        Ok(Visit { id: row.get(0)?, at })
    };
    let before = match column.before.parse::<i64>() {
        Ok(seconds) => SqlValue::Integer(seconds),
        Err(_) => SqlValue::Text(column.before.to_owned()),
    };
    let mut statement = connection.prepare_cached(&column.sql(is_bounded, "?1"))?;
    let rows = statement.query_map(params_from_iter(is_bounded.then_some(before)), visit)?;
    Page::write(rows.collect::<Result<Vec<_>, _>>()?)
}

fn get(connection: &Connection, id: i64) -> anyhow::Result<String> {
    let order = connection.prepare_cached(GET)?.query_row([id], Order::read)?;
    Ok(serde_json::to_string(&order)?)
}
