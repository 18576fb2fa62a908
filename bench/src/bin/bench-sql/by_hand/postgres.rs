//! PostgreSQL by hand: one connection, statements prepared once, values read in binary.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::{Group, PAGE, Page, PageStart, Query, Visit};

const LIST: &str = "\
    SELECT id, customer_id, status, total::text, currency, note, created_at, updated_at FROM orders \
    WHERE status = $1 ORDER BY created_at DESC, id DESC LIMIT 26";
const LIST_AFTER: &str = "\
    SELECT id, customer_id, status, total::text, currency, note, created_at, updated_at FROM orders \
    WHERE status = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT 26";
const COUNT: &str = "SELECT status, count(*) FROM orders GROUP BY status";
/// Our answer contains the row's version, so the hand-written query has to fetch it as well.
const GET: &str = "\
    SELECT id, customer_id, status, total::text, currency, note, created_at, updated_at, \
    to_hex(hash_record_extended(row(id, customer_id, status::text COLLATE \"C\", total, currency::text COLLATE \"C\", \
    note::text COLLATE \"C\", created_at, updated_at), 0)) FROM orders WHERE id = $1";
const GET_BARE: &str = "\
    SELECT id, customer_id, status, total::text, currency, note, created_at, updated_at FROM orders WHERE id = $1";

pub(crate) struct HandWrittenQueries {
    client: Client,
    list: Statement,
    list_after: Statement,
    count: Statement,
    get: Statement,
    get_bare: Statement,
    others: Mutex<HashMap<String, Statement>>,
}

#[derive(serde::Serialize)]
struct Order<'a> {
    id: i64,
    customer_id: i32,
    status: &'a str,
    total: &'a str,
    currency: &'a str,
    note: Option<&'a str>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

impl<'a> Order<'a> {
    fn read(row: &'a Row) -> anyhow::Result<Self> {
        let time = |index| anyhow::Ok(Timestamp::try_from(row.try_get::<_, SystemTime>(index)?)?);
        Ok(Self {
            id: row.try_get(0)?,
            customer_id: row.try_get(1)?,
            status: row.try_get(2)?,
            total: row.try_get(3)?,
            currency: row.try_get(4)?,
            note: row.try_get(5)?,
            created_at: time(6)?,
            updated_at: time(7)?,
            version: if row.len() > 8 { Some(row.try_get(8)?) } else { None },
        })
    }
}

impl HandWrittenQueries {
    pub(crate) async fn open(url: &str) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        // The task ends with the client.
        tokio::spawn(connection);
        Ok(Self {
            list: client.prepare(LIST).await?,
            list_after: client.prepare(LIST_AFTER).await?,
            count: client.prepare(COUNT).await?,
            get: client.prepare(GET).await?,
            get_bare: client.prepare(GET_BARE).await?,
            others: Mutex::default(),
            client,
        })
    }

    pub(crate) async fn run(&self, query: &Query) -> anyhow::Result<String> {
        match query {
            Query::List(after) => self.list(after.as_ref()).await,
            Query::CountByStatus => self.count_by_status().await,
            Query::Get(id) => self.one(&self.get, *id).await,
            Query::GetBare(id) => self.one(&self.get_bare, *id).await,
            Query::Latest(column, is_bounded) => self.latest(&column.sql(*is_bounded, column.before)).await,
            Query::Path(query) => self.run_path(query).await,
        }
    }

    async fn list(&self, after: Option<&PageStart>) -> anyhow::Result<String> {
        let rows = match after {
            None => self.client.query(&self.list, &[&"paid"]).await?,
            Some(place) => {
                let created_at = SystemTime::from(place.value.parse::<Timestamp>()?);
                self.client.query(&self.list_after, &[&"paid", &created_at, &place.id]).await?
            }
        };
        let orders = rows.iter().take(PAGE).map(Order::read).collect::<anyhow::Result<_>>()?;
        Ok(serde_json::to_string(&Page { orders, has_next_page: rows.len() > PAGE })?)
    }

    async fn count_by_status(&self) -> anyhow::Result<String> {
        let rows = self.client.query(&self.count, &[]).await?;
        let group = |row: &Row| anyhow::Ok(Group { status: row.try_get(0)?, count: row.try_get(1)? });
        Ok(serde_json::to_string(&rows.iter().map(group).collect::<anyhow::Result<Vec<_>>>()?)?)
    }

    /// Prepares the statement on first use.
    pub(super) async fn query_prepared(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> anyhow::Result<Vec<Row>> {
        let statements = || self.others.lock().map_err(|_| anyhow!("somebody panicked with the statements"));
        let known = statements()?.get(sql).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let prepared = self.client.prepare(sql).await?;
                statements()?.insert(sql.to_owned(), prepared.clone());
                prepared
            }
        };
        Ok(self.client.query(&statement, values).await?)
    }

    async fn latest(&self, sql: &str) -> anyhow::Result<String> {
        let rows = self.query_prepared(sql, &[]).await?;
        let visit = |row: &Row| {
            let at = Timestamp::try_from(row.try_get::<_, SystemTime>(1)?)?;
            anyhow::Ok(Visit { id: row.try_get(0)?, at })
        };
        Page::write(rows.iter().map(visit).collect::<anyhow::Result<Vec<_>>>()?)
    }

    async fn one(&self, statement: &Statement, id: i64) -> anyhow::Result<String> {
        let row = self.client.query_opt(statement, &[&id]).await?;
        Ok(serde_json::to_string(&Order::read(&row.context("no such order")?)?)?)
    }
}
