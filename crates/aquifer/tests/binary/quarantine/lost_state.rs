//! State files that were damaged, emptied or removed.

use super::*;

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
