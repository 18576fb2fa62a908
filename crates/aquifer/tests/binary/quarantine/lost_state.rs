//! State files that were damaged, emptied or removed.

use super::*;
use crate::support::alter;

/// What is lost with the state does not make a changed definition new, neither for a server that runs nor after a restart.
#[test]
fn r_dis_7a_damaged_and_lost_state_does_not_lift_quarantine() {
    type Damage = fn(&Folder);
    let store = |folder: &Folder| folder.path("state/state.sqlite");
    let remove: Damage = |folder| {
        for ending in ["", "-wal", "-shm", "-lock"] {
            let _ = std::fs::remove_file(folder.path(&format!("state/state.sqlite{ending}")));
        }
    };
    let emptied: Damage = |folder| std::fs::write(folder.path("state/state.sqlite"), "").unwrap();
    let forget: Damage = |folder| {
        for entry in std::fs::read_dir(folder.path("state/catalogs")).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(".accepted.json") {
                std::fs::write(path, "").unwrap();
            }
        }
    };
    for (what, damages) in [("emptied", vec![emptied]), ("removed", vec![remove]), ("both", vec![remove, forget])] {
        let fixture = Fixture::new(&tools("Get a user."), "");
        let mut piped = fixture.serve();
        assert_eq!(piped.data("read", "get_user", json!({}))["tool"], "get_user");
        damages.iter().for_each(|damage| damage(&fixture.folder));
        fixture.list(&tools(&format!("Get a user. {POISON}")));
        until(&format!("the change is noticed: {what}"), || is_quarantined(&mut piped, "get_user").then_some(()));
        drop(piped);
        for _ in ["after a restart", "once more"] {
            let mut piped = fixture.serve();
            until("the tools are known", || piped.operations().contains(&"get_user".to_owned()).then_some(()));
            let refused = piped.error("read", "get_user", json!({}));
            assert_eq!(refused["code"], "PERMISSION_DENIED", "{what}: {refused}");
            assert!(is_quarantined(&mut piped, "get_user"), "{what}");
        }
        if what == "emptied" {
            let looked = fixture.run(&["review", "people"]);
            let said = text(&looked.stderr);
            assert!(said.contains("was emptied or shortened. Restore it from a backup."), "{said}");
            // Whoever removes it to start again still has to accept what changed.
            std::fs::remove_file(store(&fixture.folder)).unwrap();
        }
        let looked = text(&fixture.run(&["review", "people"]).stdout);
        let command = looked.lines().find_map(|line| line.trim().strip_prefix("To accept it: ")).unwrap_or_default();
        let accept =
            command.split(' ').find(|word| word.starts_with("get_user@")).unwrap_or_else(|| panic!("{looked}"));
        let accepted = fixture.run(&["review", "people", "--accept", accept]);
        let said = text(&accepted.stderr);
        assert!(said.contains("'get_user' was accepted"), "{what}: {}{said}", text(&accepted.stdout));
        let mut piped = fixture.serve();
        until("the acceptance counts", || (!is_quarantined(&mut piped, "get_user")).then_some(()));
    }
}

/// As two processes see it that share the state, on either transport, with damage while they run and between two runs.
#[test]
fn r_dis_7a_an_emptied_or_shortened_state_file_lifts_no_quarantine() {
    const PAGE: u64 = 4_096;
    for transport in Transport::BOTH {
        for (length, is_running) in [(0, true), (0, false), (PAGE, true), (PAGE, false)] {
            let fixture = Fixture::new(&tools("Get a user."), "");
            let start = || {
                let mut command = forgetful(&fixture.folder);
                Server::spawn(transport, command.args(["serve", "--config", &fixture.config]))
            };
            let call = |server: &mut Server| server.call("mcp_aql_read", json!({ "operation": "get_user" }));
            let is_quarantined = |server: &mut Server| {
                let params = json!({ "query": "operations", "name": "get_user" });
                let answer = server.call("mcp_aql_read", json!({ "operation": "introspect", "params": params }));
                let words = answer["data"]["operation"]["description"].as_str();
                words.is_some_and(|words| words.starts_with("Quarantined"))
            };
            let check = |server: &mut Server| {
                until("the tools are known", || is_quarantined(server).then_some(()));
                let refused = call(server);
                let case = format!("{transport:?}, {length} bytes, running: {is_running}");
                assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{case}: {refused}");
            };
            let mut servers = vec![start(), start()];
            for server in &mut servers {
                until("the tools are known", || (call(server)["success"] == true).then_some(()));
            }
            fixture.list(&tools(&format!("Get a user. {POISON}")));
            servers.iter_mut().for_each(check);
            if !is_running {
                servers.drain(..).for_each(Server::stop);
            }
            let store = fixture.folder.path("state/state.sqlite");
            // Nothing is left in the file beside it.
            alter(&store, "PRAGMA wal_checkpoint(TRUNCATE)");
            let file = std::fs::OpenOptions::new().write(true).open(&store).unwrap();
            assert!(file.metadata().unwrap().len() > PAGE);
            file.set_len(length).unwrap();
            servers.iter_mut().for_each(check);
            // Each is started beside one that was there before.
            for _ in 0..3 {
                servers.push(start());
                servers.iter_mut().for_each(check);
                if servers.len() > 1 {
                    servers.remove(0).stop();
                }
            }
        }
    }
}
