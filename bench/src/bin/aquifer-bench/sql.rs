//! Databases: the engine compared with the same SQL by hand, the server's memory with large pages, and a comparison
//! with other programs that serve a database. SQLite and PostgreSQL hold the same million orders.

use std::fs;

use anyhow::Context;
use aquifer_bench::words;
use aquifer_report::Figure;

use crate::count::{database_query, instructions};
use crate::load::{self, Request};
use crate::{Bench, output_of};

/// The name of our database on the server, which may be a developer's.
const NAME: &str = "aquifer_bench";

/// The largest possible page, with rows of 10 KB each.
const MAX_PAGE: &str = r#"{"operation":"list_documents","params":{"first":100,"fields":"full"}}"#;

/// The latest paid orders, with all eight columns and `hasNextPage`.
const LIST: &str = r#"{"operation":"list_orders","params":{"filter":{"status":"paid"},"sort":{"field":"created_at","order":"desc"},"first":25}}"#;
const GRAPHQL: &str = r#"{"query":"{ allOrders(condition: {status: \"paid\"}, orderBy: CREATED_AT_DESC, first: 25) { nodes { rowId customerId status total currency note createdAt updatedAt } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"}"#;
/// Without the total count and the suggested facets, which would cost most of its speed.
const DATASETTE: &str = "/shop/orders.json?status=paid&_sort_desc=created_at&_size=25&_shape=objects\
                         &_nocount=1&_nofacet=1&_nosuggest=1";

/// Both databases, filled. The SQLite file is kept for the next run; the PostgreSQL database is dropped.
pub(crate) struct Databases<'a> {
    bench: &'a Bench,
    postgres: String,
    sqlite: String,
}

impl<'a> Databases<'a> {
    pub(crate) fn fill(bench: &'a Bench) -> anyhow::Result<Self> {
        let url = std::env::var("AQUIFER_TEST_POSTGRES").context("AQUIFER_TEST_POSTGRES is not set")?;
        let postgres = sibling_database(&url, NAME).context("the PostgreSQL URL contains no database name")?;
        let home = bench.home.join("bench-data");
        let sqlite = format!("sqlite:{}", home.join("shop.db").display());
        let databases = Self { bench, postgres, sqlite };
        // An interrupted fill leaves no record, so it is repeated.
        let (record, statements) = (home.join("filled"), include_str!("../bench-sql/fill-sqlite.sql"));
        if !fs::read_to_string(&record).is_ok_and(|filled| filled == statements) {
            let _ = fs::remove_dir_all(&home);
            fs::create_dir_all(&home)?;
            databases.run("fill", &databases.sqlite)?;
            fs::write(&record, statements)?;
        }
        databases.run("fill", &databases.postgres)?;
        Ok(databases)
    }

    fn run(&self, what: &str, target: &str) -> anyhow::Result<String> {
        output_of(&words(&[&self.bench.program("bench-sql"), what, target]))
    }

    fn all(&self) -> [(&'static str, &str); 2] {
        [("PostgreSQL", &self.postgres), ("SQLite", &self.sqlite)]
    }

    fn served(&self, target: &str) -> Vec<String> {
        words(&[&self.bench.program("aquifer"), "serve", target, "--http", "127.0.0.1:0"])
    }

    /// Compares with SQL by hand, and measures memory.
    pub(crate) fn compare(&self) -> anyhow::Result<Vec<Figure>> {
        let mut figures: Vec<Figure> = Vec::new();
        for (_, target) in self.all() {
            let quick = if self.bench.is_quick { words(&["--quick"]) } else { Vec::new() };
            let command = [words(&[&self.bench.program("bench-sql"), "compare", target]), quick].concat();
            figures.extend(serde_json::from_str::<Vec<Figure>>(&output_of(&command)?)?);
        }
        for (title, target) in self.all() {
            for (name, what, calls) in [
                ("list", "list 25 of 1,000,000", 200),
                ("get", "get by key", 200),
                ("path-list", "path in a filter, 50 by an own column", 20),
                ("path-sort", "path in a filter, 50 by a path", 20),
                ("embedded", "50 rows with five related rows each", 20),
            ] {
                let ours = database_query(self.bench, target, "ours", name, calls)?;
                let by_hand = database_query(self.bench, target, "by-hand", name, calls)?;
                figures.push(instructions(format!("{title}: {what}"), ours).compared_with("SQL by hand", by_hand));
            }
        }
        for (title, target) in self.all() {
            let requests = if self.bench.is_quick { 32 } else { 400 };
            figures.extend(load::memory(title, MAX_PAGE, &self.served(target), requests)?);
        }
        Ok(figures)
    }

    /// Compares lists of 25 rows over HTTP with PostGraphile and Datasette.
    pub(crate) fn peers(&self) -> anyhow::Result<Vec<Figure>> {
        let peers = self.bench.home.join("bench-peers");
        let postgraphile = peers.join("npm/node_modules/postgraphile/dist/cli-run.js").display().to_string();
        let mut graphql = words(&["env", "NODE_ENV=production", "GRAPHILE_ENV=production", &self.bench.node]);
        graphql.extend(words(&[&postgraphile, "--preset", "postgraphile/presets/amber", "--connection"]));
        graphql.extend(words(&[&self.postgres, "--schema", "public", "--host", "127.0.0.1", "--port", "0"]));
        let file = self.sqlite.trim_start_matches("sqlite:");
        let datasette = words(&[&self.bench.python(""), "-m", "datasette", "serve", file]);
        let datasette = [datasette, words(&["--host", "127.0.0.1", "--port", "0"])].concat();
        let mut figures = Vec::new();
        for ((title, target), (peer, request, command)) in self.all().into_iter().zip([
            ("postgraphile", Request::Post { body: GRAPHQL }, graphql),
            ("datasette", Request::Get { path: DATASETTE }, datasette),
        ]) {
            let ours = (Request::Mcp { arguments: LIST }, self.served(target));
            let turns = if self.bench.is_quick { (1, 0.5) } else { (3, 3.0) };
            figures.extend(load::throughput(title, peer, [ours, (request, command)], turns)?);
        }
        Ok(figures)
    }
}

impl Drop for Databases<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.run("drop", &self.postgres) {
            eprintln!("The database '{NAME}' is still there: {problem:#}");
        }
    }
}

/// The URL of another database on the same server.
fn sibling_database(url: &str, name: &str) -> Option<String> {
    let (address, options) = url.split_at(url.find('?').unwrap_or(url.len()));
    let (server, _) = address.rsplit_once('/').filter(|(server, _)| server.contains("://"))?;
    Some(format!("{server}/{name}{options}"))
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
            assert_eq!(sibling_database(url, "x").as_deref(), other, "{url}");
        }
    }
}
