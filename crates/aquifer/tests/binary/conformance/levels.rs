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
    assert_eq!(summary["skipped"], 1, "the one that needs a model: {}", problems(report));
}

const STDIO: [&str; 2] = ["semantic over stdio", "single over stdio"];
const HTTP: [&str; 2] = ["semantic over http", "single over http"];

#[test]
fn r_con_1_the_demo_is_level_2_over_stdio() {
    let folder = Folder::new();
    granted(&Server { name: "demo", folder: &folder, words: &["demo"] }.over_stdio(), STDIO);
}

#[test]
fn r_con_1_the_demo_is_level_2_over_http() {
    let folder = Folder::new();
    granted(&Server { name: "demo", folder: &folder, words: &["demo"] }.over_http(), HTTP);
}

#[test]
fn r_con_1_a_sqlite_file_is_level_2_over_stdio() {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    granted(&Server { name: "sqlite", folder: &folder, words: &["serve", "library.db"] }.over_stdio(), STDIO);
}

#[test]
fn r_con_1_a_sqlite_file_is_level_2_over_http() {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    granted(&Server { name: "sqlite", folder: &folder, words: &["serve", "library.db"] }.over_http(), HTTP);
}

/// Where the database is stands in a file: it changes with every run, and has a password in it.
#[cfg(feature = "postgres")]
mod postgres {
    use super::{HTTP, STDIO, granted};
    use crate::conformance::Server;
    use crate::postgres::{Database, LIBRARY};
    use crate::support::Folder;

    fn library(over: impl Fn(&Server<'_>) -> serde_json::Value) -> serde_json::Value {
        let (folder, database) = (Folder::new(), Database::with(LIBRARY));
        folder.file("library.toml", &format!("[[source]]\nname = \"library\"\ntarget = \"{}\"\n", database.url));
        over(&Server { name: "postgres", folder: &folder, words: &["serve", "--config", "library.toml"] })
    }

    #[test]
    fn r_con_1_a_postgres_database_is_level_2_over_stdio() {
        granted(&library(Server::over_stdio), STDIO);
    }

    #[test]
    fn r_con_1_a_postgres_database_is_level_2_over_http() {
        granted(&library(Server::over_http), HTTP);
    }
}
