//! The tables that are queried: a million orders, and documents of 10 KB each. Every run creates the same rows.

use anyhow::Context;
use tokio_postgres::{Client, Config, NoTls};

use crate::by_hand::Target;

/// Creates the database and its tables. A PostgreSQL database of the same name is replaced.
pub(crate) async fn fill(target: &str) -> anyhow::Result<()> {
    match Target::read(target)? {
        Target::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path)?;
            connection.execute_batch(include_str!("fill-sqlite.sql")).context("cannot create the tables")
        }
        Target::Postgres(url) => {
            drop_database(target).await?;
            let name = Config::get_dbname(&url.parse()?).context("the URL contains no database name")?.to_owned();
            connect(maintenance(url)?).await?.batch_execute(&format!("CREATE DATABASE \"{name}\"")).await?;
            let client = connect(url.parse()?).await?;
            // One at a time, because some of them cannot run in a transaction, which a batch would be.
            for statement in include_str!("fill-postgres.sql").split_inclusive(";\n") {
                client.batch_execute(statement).await.context("cannot create the tables")?;
            }
            // So that the server does not write to disk during the measurement. This is optional, because it may be
            // forbidden.
            let _ = client.batch_execute("CHECKPOINT").await;
            Ok(())
        }
    }
}

/// Drops a PostgreSQL database.
pub(crate) async fn drop_database(target: &str) -> anyhow::Result<()> {
    let Target::Postgres(url) = Target::read(target)? else { return Ok(()) };
    let name = Config::get_dbname(&url.parse()?).context("the URL contains no database name")?.to_owned();
    let client = connect(maintenance(url)?).await?;
    Ok(client.batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)")).await?)
}

/// The maintenance database, which every server has.
fn maintenance(url: &str) -> anyhow::Result<Config> {
    let mut config: Config = url.parse()?;
    config.dbname("postgres");
    Ok(config)
}

async fn connect(config: Config) -> anyhow::Result<Client> {
    let (client, connection) = config.connect(NoTls).await.context("cannot connect to PostgreSQL")?;
    // The task ends with the client.
    tokio::spawn(connection);
    Ok(client)
}
