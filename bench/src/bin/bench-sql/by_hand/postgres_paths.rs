//! The parcel queries in PostgreSQL.

use std::time::SystemTime;

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::paths::{CITY, COUNTRY, Customer, EmbeddedParcel, HEAVY, Parcel, PathQuery, sql, write_groups, write_page};
use super::postgres::HandWrittenQueries;

const MONTH_GROUPS: &str = "\
    SELECT date_trunc('month', sent_at AT TIME ZONE 'UTC') AS month, count(*), sum(weight) FROM parcels \
    GROUP BY month ORDER BY month";
const EMBEDDED: &str = "\
    SELECT c.id, c.name, p.id, p.weight FROM (SELECT id, name FROM customers ORDER BY id LIMIT 51) AS c \
    LEFT JOIN LATERAL (SELECT id, weight FROM parcels WHERE customer_id = c.id ORDER BY id LIMIT 5) AS p ON TRUE \
    ORDER BY c.id, p.id";

impl HandWrittenQueries {
    pub(super) async fn run_path(&self, query: &PathQuery) -> anyhow::Result<String> {
        match query {
            PathQuery::LatestOfCity(None) => self.parcels(sql::LATEST_OF_CITY, &[&CITY]).await,
            PathQuery::LatestOfCity(Some(place)) => {
                let sent_at = SystemTime::from(place.value.parse::<Timestamp>()?);
                self.parcels(sql::LATEST_OF_CITY_AFTER, &[&CITY, &sent_at, &place.id]).await
            }
            PathQuery::ByCity(None) => self.parcels(sql::BY_CITY, &[&COUNTRY]).await,
            PathQuery::ByCity(Some(place)) => {
                self.parcels(sql::BY_CITY_AFTER, &[&COUNTRY, &place.value, &place.id]).await
            }
            PathQuery::CountryGroups => {
                let rows = self.query_prepared(sql::COUNTRY_GROUPS, &[]).await?;
                let group = |row: &Row| anyhow::Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
                write_groups(rows.iter().map(group).collect::<anyhow::Result<_>>()?)
            }
            PathQuery::MonthGroups => {
                let rows = self.query_prepared(MONTH_GROUPS, &[]).await?;
                let group = |row: &Row| {
                    let month = Timestamp::try_from(row.try_get::<_, SystemTime>(0)?)?;
                    anyhow::Ok((Some(month.strftime("%Y-%m").to_string()), row.try_get(1)?, row.try_get(2)?))
                };
                write_groups(rows.iter().map(group).collect::<anyhow::Result<_>>()?)
            }
            PathQuery::Embedded => self.embedded().await,
            PathQuery::Some => {
                // The parameter has the type of the column, a 32-bit integer.
                let rows = self.query_prepared(sql::SOME, &[&i32::try_from(HEAVY)?]).await?;
                let customer =
                    |row: &Row| anyhow::Ok(Customer { id: row.try_get(0)?, name: row.try_get(1)?, parcels: None });
                write_page(rows.iter().map(customer).collect::<anyhow::Result<_>>()?)
            }
        }
    }

    async fn parcels(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> anyhow::Result<String> {
        let rows = self.query_prepared(sql, values).await?;
        let parcel = |row: &Row| {
            let sent_at = Timestamp::try_from(row.try_get::<_, SystemTime>(2)?)?;
            let weight: i32 = row.try_get(1)?;
            anyhow::Ok(Parcel::new(row.try_get(0)?, weight.into(), sent_at, row.try_get(3)?, row.try_get(4)?))
        };
        write_page(rows.iter().map(parcel).collect::<anyhow::Result<_>>()?)
    }

    async fn embedded(&self) -> anyhow::Result<String> {
        let rows = self.query_prepared(EMBEDDED, &[]).await?;
        let mut customers: Vec<Customer> = Vec::new();
        for row in &rows {
            let id: i64 = row.try_get(0)?;
            if customers.last().is_none_or(|customer| customer.id != id) {
                customers.push(Customer { id, name: row.try_get(1)?, parcels: Some(Vec::new()) });
            }
            let parcel: Option<i64> = row.try_get(2)?;
            if let (Some(id), Some(parcels)) = (parcel, customers.last_mut().and_then(|last| last.parcels.as_mut())) {
                let weight: i32 = row.try_get(3)?;
                parcels.push(EmbeddedParcel { id, weight: weight.into() });
            }
        }
        write_page(customers)
    }
}
