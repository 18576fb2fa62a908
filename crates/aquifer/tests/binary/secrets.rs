//! A password in a target never comes out again: not in answers, not in errors, not in the log.

use serde_json::json;

use crate::support::{Folder, StdioServer, aquifer, run, text};

const PASSWORD: &str = "hush-4711";

/// Targets with a password that cannot be served, for as many reasons as there are.
fn targets() -> [String; 9] {
    [
        // Nothing listens on the discard port.
        format!("postgres://clerk:{PASSWORD}@127.0.0.1:9/shop"),
        format!("postgresql://clerk:{PASSWORD}@127.0.0.1:9/shop?sslmode=disable"),
        format!("postgres://clerk:{PASSWORD}@127.0.0.1:9/shop?sslmode=never"),
        format!("postgres://clerk:{PASSWORD}@127.0.0.1:port/shop"),
        format!("postgres://clerk:a/{PASSWORD}@127.0.0.1:9/shop"),
        format!("postgres://127.0.0.1:9/shop?user=clerk&password={PASSWORD}"),
        format!("mysql://clerk:{PASSWORD}@127.0.0.1/shop"),
        format!("postgres:clerk:{PASSWORD}@127.0.0.1/shop"),
        format!("host=127.0.0.1 user=clerk password={PASSWORD}"),
    ]
}

#[test]
fn commands_that_fail_keep_it() {
    let folder = Folder::new();
    for target in targets() {
        let config = folder.file("aquifer.toml", "[[source]]\ntarget = \"${TARGET}\"\n");
        for arguments in [
            &["call", "list_orders", "--source", &target][..],
            &["introspect", "--source", &target],
            &["call", "list_orders", "--source", &target, "--log", "trace"],
            &["call", "list_orders", "--config", &config, "--log", "trace"],
        ] {
            let output = aquifer().args(arguments).env("TARGET", &target).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
            let printed = text(&output.stdout) + &text(&output.stderr);
            // A name is made of plain letters.
            let is_leaked = [PASSWORD, &PASSWORD.replace('-', "_")].iter().any(|secret| printed.contains(secret));
            assert!(!printed.is_empty() && !is_leaked, "{arguments:?}: {printed}");
        }
    }
}

#[test]
fn a_server_whose_database_is_away_keeps_it() {
    let target = format!("postgres://clerk:{PASSWORD}@127.0.0.1:9/shop");
    let mut piped = StdioServer::initialized(&["serve", &target, "--log", "trace"], "2025-06-18");
    piped.says("Source 'shop' is unavailable: no server is listening on its address");
    let error = piped.error("read", "list_tables", json!({}));
    assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE");
    let shown = piped.data("read", "introspect", json!({ "query": "operations", "name": "list_tables" }));
    for text in [error.to_string(), shown.to_string(), piped.last_words()] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn a_configuration_that_is_wrong_elsewhere_keeps_it() {
    let folder = Folder::new();
    let config = folder.file(
        "aquifer.toml",
        &format!("[[source]]\ntarget = \"postgres://clerk:{PASSWORD}@127.0.0.1:9/shop\"\ntimeout_seconds = 0\n"),
    );
    let output = run(&["serve", "--config", &config]);
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output.stderr);
    assert!(printed.contains("timeout_seconds must be at least 1") && !printed.contains(PASSWORD), "{printed}");
}
