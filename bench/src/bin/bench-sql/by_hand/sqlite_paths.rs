//! The parcel queries in SQLite.

use rusqlite::{Connection, Params, Row, params};

use super::paths::{CITY, COUNTRY, Customer, EmbeddedParcel, HEAVY, Parcel, PathQuery, sql, write_groups, write_page};

/// Times are text in one format that SQLite can parse.
const MONTH_GROUPS: &str = "\
    SELECT strftime('%Y-%m', sent_at) AS month, count(*), sum(weight) FROM parcels GROUP BY month ORDER BY month";
const CUSTOMERS: &str = "SELECT id, name FROM customers ORDER BY id LIMIT 51";
/// SQLite runs in the same process, so one statement per customer is as good as one for all.
const PARCELS_OF_CUSTOMER: &str = "SELECT id, weight FROM parcels WHERE customer_id = ?1 ORDER BY id LIMIT 5";

pub(super) fn run(connection: &Connection, query: PathQuery) -> anyhow::Result<String> {
    match query {
        PathQuery::LatestOfCity(None) => parcels(connection, sql::LATEST_OF_CITY, [CITY]),
        PathQuery::LatestOfCity(Some(place)) => {
            parcels(connection, sql::LATEST_OF_CITY_AFTER, params![CITY, place.value, place.id])
        }
        PathQuery::ByCity(None) => parcels(connection, sql::BY_CITY, [COUNTRY]),
        PathQuery::ByCity(Some(place)) => {
            parcels(connection, sql::BY_CITY_AFTER, params![COUNTRY, place.value, place.id])
        }
        PathQuery::CountryGroups => groups(connection, sql::COUNTRY_GROUPS),
        PathQuery::MonthGroups => groups(connection, MONTH_GROUPS),
        PathQuery::Embedded => embedded(connection),
        PathQuery::Some => customers(connection),
    }
}

fn parcels(connection: &Connection, sql: &str, values: impl Params) -> anyhow::Result<String> {
    let parcel = |row: &Row<'_>| {
        let sent_at: String = row.get(2)?;
        Ok(Parcel::new(row.get(0)?, row.get(1)?, sent_at, row.get(3)?, row.get(4)?))
    };
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, parcel)?;
    write_page(rows.collect::<Result<Vec<_>, _>>()?)
}

fn groups(connection: &Connection, sql: &str) -> anyhow::Result<String> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    write_groups(rows.collect::<Result<Vec<_>, _>>()?)
}

fn embedded(connection: &Connection) -> anyhow::Result<String> {
    let mut of_customer = connection.prepare_cached(PARCELS_OF_CUSTOMER)?;
    let mut statement = connection.prepare_cached(CUSTOMERS)?;
    let rows = statement.query_map([], |row| {
        let id: i64 = row.get(0)?;
        let parcel = |row: &Row<'_>| Ok(EmbeddedParcel { id: row.get(0)?, weight: row.get(1)? });
        let parcels = of_customer.query_map([id], parcel)?.collect::<Result<Vec<_>, _>>()?;
        Ok(Customer { id, name: row.get(1)?, parcels: Some(parcels) })
    })?;
    write_page(rows.collect::<Result<Vec<_>, _>>()?)
}

fn customers(connection: &Connection) -> anyhow::Result<String> {
    let mut statement = connection.prepare_cached(sql::SOME)?;
    let customer = |row: &Row<'_>| Ok(Customer { id: row.get(0)?, name: row.get(1)?, parcels: None });
    let rows = statement.query_map([HEAVY], customer)?;
    write_page(rows.collect::<Result<Vec<_>, _>>()?)
}
