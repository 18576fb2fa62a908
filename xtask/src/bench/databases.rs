//! The same million orders in SQLite and in PostgreSQL. The SQLite file is kept for the next run.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::programs::{Programs, printed};
use crate::install::once;
use crate::postgres::Postgres;
use crate::step::{announce, root, target};

/// A database of ours on the server, which may be a developer's.
const NAME: &str = "aquifer_bench";

/// A kind of database, by the name it has in the table, and where one is, as sources are written.
pub(super) struct Database {
    pub(super) title: &'static str,
    pub(super) target: String,
    /// Columns of times in `visits`, and how they are written.
    pub(super) time_columns: &'static [(&'static str, &'static str)],
}

const SQLITE_TIMES: &[(&str, &str)] = &[
    ("t_at", "`2026-01-31T12:00:00`"),
    ("python_at", "Python's fractions"),
    ("aware_at", "with an offset"),
    ("day_at", "plain dates"),
    ("seconds_at", "Unix seconds"),
    ("sparse_at", "some missing"),
];
const POSTGRES_TIMES: &[(&str, &str)] = &[("zoned_at", "`timestamptz`"), ("sparse_at", "some missing")];

pub(super) struct Databases {
    pub(super) postgres: Database,
    pub(super) sqlite: Database,
    drop: Command,
    _server: Postgres,
}

impl Databases {
    pub(super) fn make(programs: &Programs) -> Result<Self> {
        let bench = programs.program("bench-sql");
        let home = target().join("bench-data");
        let sqlite = format!("sqlite:{}", home.join("shop.db").display());
        let rows = root().join("bench/src/bin/bench-sql/fill-sqlite.sql");
        let rows = fs::read_to_string(&rows).with_context(|| format!("cannot read {}", rows.display()))?;
        once(&home, &rows, || printed(Command::new(&bench).args(["fill", &sqlite])).map(drop))?;

        let server = Postgres::provide()?;
        let url = match server.environment() {
            Some((_, url)) => url.to_owned(),
            None => std::env::var("AQUIFER_TEST_POSTGRES")?,
        };
        let postgres = beside(&url, NAME).with_context(|| "the URL of PostgreSQL names no database")?;
        announce("fill PostgreSQL");
        printed(Command::new(&bench).args(["fill", &postgres]))?;
        let mut drop = Command::new(&bench);
        drop.args(["drop", &postgres]);
        Ok(Self {
            postgres: Database { title: "PostgreSQL", target: postgres, time_columns: POSTGRES_TIMES },
            sqlite: Database { title: "SQLite", target: sqlite, time_columns: SQLITE_TIMES },
            drop,
            _server: server,
        })
    }

    pub(super) fn all(&self) -> [&Database; 2] {
        [&self.postgres, &self.sqlite]
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        if let Err(problem) = printed(&mut self.drop) {
            eprintln!("The database '{NAME}' is still there: {problem:#}");
        }
    }
}

/// The URL of another database on the same server.
fn beside(url: &str, name: &str) -> Option<String> {
    let (address, options) = url.split_once('?').map_or((url, ""), |(address, options)| (address, options));
    let (server, _) = address.rsplit_once('/').filter(|(server, _)| server.contains("://"))?;
    let mark = if options.is_empty() { "" } else { "?" };
    Some(format!("{server}/{name}{mark}{options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_of_the_same_server() {
        for (url, other) in [
            ("postgres://u:p@h:1/shop", Some("postgres://u:p@h:1/x")),
            ("postgres://h/shop?a=b/c", Some("postgres://h/x?a=b/c")),
            ("nonsense", None),
        ] {
            assert_eq!(beside(url, "x").as_deref(), other, "{url}");
        }
    }
}
