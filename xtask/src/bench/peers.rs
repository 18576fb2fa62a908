//! A list of 25 rows over HTTP with 16 clients: ours over MCP, beside what people put in front of a database today.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::databases::{Database, Databases};
use super::programs::{Figures, Programs};
use super::sql::time;
use super::table::{Aim, Row, Table, thousands};
use crate::install;
use crate::step::{announce, root, target};
use crate::system::ensure;

/// What PostGraphile asks for, and what is installed from npm where the machine's Node.js is older.
const NODE_AT_LEAST: u32 = 22;
const NODE_INSTEAD: &str = "node@22.23.3";

/// The latest paid orders, with all eight columns, and whether there are more.
const OURS: &str = r#"{"operation":"list_orders","params":{"filter":{"status":"paid"},"sort":{"field":"created_at","order":"desc"},"first":25}}"#;
const GRAPHQL: &str = r#"{"query":"{ allOrders(condition: {status: \"paid\"}, orderBy: CREATED_AT_DESC, first: 25) { nodes { rowId customerId status total currency note createdAt updatedAt } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"}"#;
/// Without the number of all rows and the suggested facets, which would cost it most of its speed.
const DATASETTE: &str = "/shop/orders.json?status=paid&_sort_desc=created_at&_size=25&_shape=objects\
                         &_nocount=1&_nofacet=1&_nosuggest=1";

/// The peers, installed.
pub(super) struct Peers {
    node: PathBuf,
    packages: PathBuf,
    python: PathBuf,
}

impl Peers {
    pub(super) fn install() -> Result<Self> {
        announce("check for Node.js and Python");
        ensure(&install::NEEDS)?;
        let (pins, home) = (root().join("bench/peers"), target().join("bench-peers"));
        let packages = home.join("npm");
        install::npm(&pins, &packages)?;
        Ok(Self {
            node: install::node(NODE_AT_LEAST, NODE_INSTEAD, &home.join("node"))?,
            packages,
            python: install::python(&pins.join("requirements.txt"), &home.join("python"))?,
        })
    }

    pub(super) fn measure(&self, programs: &Programs, databases: &Databases, table: &mut Table) -> Result<()> {
        let postgraphile = self.postgraphile(&databases.postgres.target);
        beside(programs, &databases.postgres, "postgraphile", postgraphile, table)?;
        let datasette = self.datasette(&databases.sqlite.target);
        beside(programs, &databases.sqlite, "datasette", datasette, table)
    }

    fn postgraphile(&self, url: &str) -> Vec<String> {
        let program = self.packages.join("node_modules/postgraphile/dist/cli-run.js");
        let mut words = words(&["post", GRAPHQL, "env", "NODE_ENV=production", "GRAPHILE_ENV=production"]);
        words.extend([shown(&self.node), shown(&program)]);
        words.extend(self::words(&["--preset", "postgraphile/presets/amber", "--connection", url]));
        words.extend(self::words(&["--schema", "public", "--host", "127.0.0.1", "--port", "0"]));
        words
    }

    fn datasette(&self, target: &str) -> Vec<String> {
        let file = target.trim_start_matches("sqlite:");
        let mut words = words(&["get", DATASETTE]);
        words.push(shown(&self.python));
        words.extend(self::words(&["-m", "datasette", "serve", file, "--host", "127.0.0.1", "--port", "0"]));
        words
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn beside(programs: &Programs, database: &Database, peer: &str, server: Vec<String>, table: &mut Table) -> Result<()> {
    const TIMES: f64 = 5.0;
    let servers = [programs.mcp(OURS, &database.target), server];
    let figures = programs.load("throughput", &["--clients", "16", "--rows", "25"], &servers)?;
    let mut push = |name: &str, what: &str, ratio: Option<f64>, aim: Aim| {
        let (ours, theirs) = pair(&figures, name)?;
        table.push(Row {
            what: format!("{}, 16 clients: {what}", database.title),
            ours: unit(name, ours),
            compared: format!("{peer}: {}", unit(name, theirs)),
            ratio: Some(ratio.unwrap_or(ours / theirs)),
            aim,
        });
        anyhow::Ok(())
    };
    push("per_second", "lists of 25 a second", Some(figures.get("ratio.1")?), Aim::Least(TIMES))?;
    push("p50_us", "list, p50", None, Aim::None)?;
    push("p99_us", "list, p99", None, Aim::None)?;
    push("cpu_us", "server CPU of a list", None, Aim::None)?;
    push("bytes", "bytes of the HTTP body", None, Aim::Ratio(1.0))?;
    push("shown_bytes", "bytes that a model reads", None, Aim::Ratio(1.0))?;
    push("tokens", "tokens that a model reads", None, Aim::Ratio(1.0))
}

fn pair(figures: &Figures, name: &str) -> Result<(f64, f64)> {
    Ok((figures.get(&format!("0.{name}"))?, figures.get(&format!("1.{name}"))?))
}

fn unit(name: &str, value: f64) -> String {
    match name {
        "p50_us" | "p99_us" | "cpu_us" => time(value),
        _ => thousands(value),
    }
}
