//! The level of each of our sources. If one is lost, the server is wrong or the check is: neither is mended here.

use serde_json::Value;

use super::{Server, problems};
use crate::sqlite::LIBRARY;
use crate::support::Folder;

/// Level 2, without a warning.
fn granted(report: &Value, surfaces: [&str; 2]) {
    assert_eq!(report["conformanceLevel"], 2, "{}", problems(report));
    assert_eq!(report["exit_code"], 0, "{}", problems(report));
    assert_eq!(report["surfaces"], serde_json::json!(surfaces));
    let summary = &report["summary"];
    assert_eq!((&summary["failed"], &summary["warned"]), (&0.into(), &0.into()));
    assert_eq!(report["claimedConformance"], "level-2", "claimed and granted differ");
    assert_eq!(summary["skipped"], 1, "the one that needs a model: {}", problems(report));
}

const STDIO: [&str; 2] = ["semantic over stdio", "single over stdio"];
const HTTP: [&str; 2] = ["semantic over http", "single over http"];

fn demo() -> Server {
    Server { name: "demo", folder: Folder::new(), words: &["demo"] }
}

#[test]
fn r_con_1_the_demo_is_level_2_over_stdio() {
    granted(&demo().over_stdio(), STDIO);
}

#[test]
fn r_con_1_the_demo_is_level_2_over_http() {
    granted(&demo().over_http(), HTTP);
}

fn sqlite() -> Server {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    Server { name: "sqlite", folder, words: &["serve", "library.db"] }
}

#[test]
fn r_con_1_a_sqlite_file_is_level_2_over_stdio() {
    granted(&sqlite().over_stdio(), STDIO);
}

#[test]
fn r_con_1_a_sqlite_file_is_level_2_over_http() {
    granted(&sqlite().over_http(), HTTP);
}

/// What is in the way of a level, by the names of the checks.
fn blockers(report: &Value) -> Vec<&str> {
    let sections = report["categories"].as_array().unwrap().iter().filter(|one| one["name"] != "Semantic Evaluation");
    let tests = sections.flat_map(|section| section["tests"].as_array().unwrap());
    let blocking = tests.filter(|test| ["FAIL", "SKIP"].contains(&test["result"].as_str().unwrap()));
    let blocking = blocking.filter(|test| test["notApplicable"] != true);
    blocking.map(|test| test["id"].as_str().unwrap()).collect()
}

/// Level 1, as the gateway says of itself where an upstream has an UPDATE: that keeps the parameters it has, without an
/// `input` (R-REQ-6), so there is no level 2. An upstream's refusals come without a code, so
/// that something is not there is for people to read, in its own words, as `UPSTREAM_ERROR`: a warning.
fn behind_the_gateway(report: &Value, surfaces: [&str; 2]) {
    assert_eq!(blockers(report), ["updates.input"], "{}", problems(report));
    assert_eq!((&report["conformanceLevel"], &report["exit_code"]), (&1.into(), &2.into()));
    assert_eq!(report["summary"]["warned"], 1, "{}", problems(report));
    assert_eq!(report["surfaces"], serde_json::json!(surfaces));
}

fn gateway() -> Server {
    let folder = Folder::new();
    folder.file("notes_server.py", include_str!("../support/notes_server.py"));
    folder.file("notes.toml", "[[source]]\nname = \"notes\"\ncommand = \"python3\"\nargs = [\"notes_server.py\"]\n");
    Server { name: "gateway", folder, words: &["serve", "--config", "notes.toml"] }
}

#[test]
fn r_con_1_r_req_6_an_mcp_server_behind_the_gateway_is_level_1_over_stdio() {
    behind_the_gateway(&gateway().over_stdio(), STDIO);
}

#[test]
fn r_con_1_r_req_6_an_mcp_server_behind_the_gateway_is_level_1_over_http() {
    behind_the_gateway(&gateway().over_http(), HTTP);
}

/// Where the database is stands in a file: it changes with every run, and has a password in it.
mod postgres {
    use super::{HTTP, STDIO, granted};
    use crate::conformance::Server;
    use crate::postgres::{Database, LIBRARY};
    use crate::support::Folder;

    fn library(database: &Database) -> Server {
        let folder = Folder::new();
        folder.file("library.toml", &format!("[[source]]\nname = \"library\"\ntarget = \"{}\"\n", database.url));
        Server { name: "postgres", folder, words: &["serve", "--config", "library.toml"] }
    }

    #[test]
    fn r_con_1_a_postgres_database_is_level_2_over_stdio() {
        let database = Database::with(LIBRARY);
        granted(&library(&database).over_stdio(), STDIO);
    }

    #[test]
    fn r_con_1_a_postgres_database_is_level_2_over_http() {
        let database = Database::with(LIBRARY);
        granted(&library(&database).over_http(), HTTP);
    }
}
