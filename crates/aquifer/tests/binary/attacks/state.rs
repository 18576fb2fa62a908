//! Rules that are changed while they are served, clocks that are set back, and the state that is kept (items 8, 17 and 19).

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Round, World, destroying, in_every_setting, reading, with_every_client};
use crate::support::{Server, Transport, stateless_body, token};

const ROWS: &str = "CREATE TABLE rows (id INTEGER PRIMARY KEY, a TEXT);
    INSERT INTO rows VALUES (1, 'x'), (2, 'x'), (3, 'x'), (4, 'x'), (5, 'x'), (6, 'x');";

#[test]
fn r_saf_2_a_changed_rule_holds_at_once_and_after_a_restart() {
    let script = json!({ "tools": [destroying("delete_account"), reading("get_account")], "stream": true });
    let deny = "[[gate.rule]]\neffect = \"deny\"\nsource = \"bank\"\ntool = \"get_account\"\n\
                [[gate.rate_limit]]\nname = \"few\"\nlimit = 1\nwindow = \"day\"\nsource = \"bank\"\n\
                [gate.strength]\ndestructive = \"approval\"\n";
    in_every_setting(
        &Transport::BOTH,
        |setting| World::with_upstream(setting, &script, "", ""),
        |world, round| {
            if round == Round::First {
                world.data("read", "get_account", json!({}));
                let asked = world.call("delete", "delete_account", json!({ "id": "1" }));
                assert!(asked["error"]["details"]["approval_id"].is_null(), "{asked}");
                let token = token(&asked).unwrap().to_owned();
                world.rewrite(deny);
                // A token of the weaker policy does not do any more.
                let params = json!({ "id": "1", "confirmation_token": token });
                let answer = world.call("delete", "delete_account", params);
                assert_ne!(answer["success"], true, "{answer}");
            }
            let answer = world.call("read", "get_account", json!({}));
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
            let answer = world.call("delete", "delete_account", json!({ "id": "1" }));
            let error = &answer["error"];
            assert!(error["code"] == "RATE_LIMIT_EXCEEDED" || error["details"]["approval_id"].is_string(), "{answer}");
            assert_eq!((world.executed("get_account").len(), world.executed("delete_account").len()), (1, 0));
        },
    );
}

/// As a process does whose clock is ahead: seen from there, ours was set back.
fn set_ahead(world: &World) {
    const TWENTY_MINUTES: i64 = 20 * 60 * 1000;
    let file = rusqlite::Connection::open(world.folder.path("state/state.sqlite")).unwrap();
    file.busy_timeout(crate::support::TIMEOUT).unwrap();
    let key = "clock/high_water";
    let time: i64 = file.query_row("SELECT version FROM records WHERE key = ?1", [key], |row| row.get(0)).unwrap();
    let later = time + TWENTY_MINUTES;
    let change = "UPDATE records SET value = ?1, version = ?2 WHERE key = ?3";
    assert_eq!(file.execute(change, rusqlite::params![later.to_string().into_bytes(), later, key]).unwrap(), 1);
}

#[test]
fn r_saf_3_a_clock_that_was_set_back_revives_nothing() {
    let keys = "[gate.strength]\ndestructive = \"token\"\n\
                [[gate.rate_limit]]\nname = \"few\"\nlimit = 2\nwindow = \"month\"\ncategory = \"READ\"\nsource = \"bank\"\n";
    let mut old = String::new();
    with_every_client(
        |setting| World::with_database(setting, ROWS, "", keys),
        |world, round| {
            let (first, second) = if round == Round::First { (1, 2) } else { (3, 4) };
            let get = json!({ "id": 5 });
            assert_eq!(world.call("read", "get_row", get.clone())["success"], true, "one in each run");
            if round == Round::Restarted {
                let params = json!({ "id": 1, "confirmation_token": old });
                assert_ne!(world.call("delete", "delete_row", params)["success"], true);
            }
            let asked = world.call("delete", "delete_row", json!({ "id": first }));
            old = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
            set_ahead(world);
            let late = world.call("delete", "delete_row", json!({ "id": first, "confirmation_token": old }));
            assert_eq!(late["error"]["code"], "TOKEN_EXPIRED", "{late}");
            // Time goes on.
            let (done, _) = world.confirmed("delete", "delete_row", json!({ "id": second }));
            assert_eq!(done["success"], true, "{done}");
            if round == Round::Restarted {
                let answer = world.call("read", "get_row", get);
                assert_eq!(answer["error"]["code"], "RATE_LIMIT_EXCEEDED", "{answer}");
            }
            let left = if round == Round::First { "5" } else { "4" };
            assert_eq!(world.query("SELECT CAST(count(*) AS TEXT) FROM rows"), left);
        },
    );
}

/// Everything below a directory, and the directory itself.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn r_saf_6_everything_in_the_state_directory_is_private() {
    let script = json!({ "tools": [destroying("delete_account"), reading("get_account")] });
    in_every_setting(
        &Transport::BOTH,
        |setting| World::with_upstream(setting, &script, "", ""),
        |world, _| {
            let (done, _) = world.confirmed("delete", "delete_account", json!({ "id": "1" }));
            assert_eq!(done["success"], true, "{done}");
            check_modes(&below(Path::new(&world.folder.path("state"))));
            world.stop();
            // Somebody opens it up while nothing runs.
            let state = world.folder.path("state");
            let open = |directory: u32, file: u32| {
                for path in below(Path::new(&state)) {
                    let mode = if path.is_dir() { directory } else { file };
                    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                }
            };
            open(0o755, 0o644);
            world.start();
            // Whatever is in a directory of it is out of reach again.
            let is_near = |path: &PathBuf| path.is_dir() || path.parent() == Some(Path::new(&state));
            check_modes(&below(Path::new(&state)).into_iter().filter(is_near).collect::<Vec<_>>());
            world.stop();
            open(0o700, 0o600);
        },
    );
}

fn check_modes(paths: &[PathBuf]) {
    assert!(paths.len() > 4, "{paths:?}");
    for path in paths {
        // Files of the store come and go.
        let Ok(found) = std::fs::symlink_metadata(path) else { continue };
        let wanted = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, wanted, "{}", path.display());
    }
}

/// Only HTTP has hosts.
#[test]
fn hosts_that_are_malformed_or_foreign_are_refused() {
    with_every_client(
        |setting| World::with_database(setting, ROWS, "", ""),
        |world, _| {
            let Server::Http(served) = world.server() else { return };
            let (body, _) = stateless_body("tools/list", json!({}));
            let body = body.to_string();
            let status = |hosts: &[&str]| {
                let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
                headers.extend(hosts.iter().map(|host| ("host", *host)));
                served.post(&headers, body.as_bytes()).status
            };
            let own = served.authority.clone();
            for host in [
                "127.0.0.1:80@evil.com",
                "evil.com",
                "127.0.0.1.evil.com",
                "localhost@evil.com",
                "localhost:",
                "local host",
                "127.0.0.1:80:80",
                "[::1",
                "",
                "127.0.0.1/evil.com",
                "evil.com#127.0.0.1",
                "127.0.0.1,evil.com",
            ] {
                assert!([400, 403].contains(&status(&[host])), "{host}: {}", status(&[host]));
            }
            assert_eq!((status(&[&own, "evil.com"]), status(&["evil.com", &own])), (400, 400));
            assert_eq!(status(&[&own]), 200);
        },
    );
}
