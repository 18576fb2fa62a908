//! `aquifer doctor` changes nothing, whatever it finds, and its report holds no secrets.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;

use crate::doctor::{Machine, only_problem};
use crate::support::{alter, aquifer, text};

/// Every file and directory with its mode, and every file with the time of its last change and its content.
type Tree = BTreeMap<String, (u32, Option<(i64, i64, Vec<u8>)>)>;

fn read_tree(folder: &Path) -> Tree {
    let metadata = folder.symlink_metadata().unwrap();
    let content = || (metadata.mtime(), metadata.mtime_nsec(), std::fs::read(folder).unwrap());
    let facts = (metadata.mode(), metadata.is_file().then(content));
    let mut tree = Tree::from([(folder.display().to_string(), facts)]);
    if metadata.is_dir() {
        tree.extend(std::fs::read_dir(folder).unwrap().flat_map(|entry| read_tree(&entry.unwrap().path())));
    }
    // By these, processes that have an SQLite file open take turns. The log is empty if nothing was written.
    let is_empty =
        |content: &Option<(i64, i64, Vec<u8>)>| content.as_ref().is_some_and(|(_, _, bytes)| bytes.is_empty());
    tree.retain(|path, (_, content)| !(path.ends_with("-shm") || path.ends_with("-wal") && is_empty(content)));
    tree
}

/// The time that a state file holds is old, so whoever may write there writes the current time.
fn grow_old(machine: &Machine) {
    let old = "UPDATE records SET value = CAST('1700000000000' AS BLOB), version = 1700000000000";
    alter(&machine.path("state/state.sqlite"), &format!("{old} WHERE key = 'clock/high_water'"));
}

/// As the first release has left it.
fn age_state(machine: &Machine) {
    std::fs::remove_file(machine.path("state/version")).unwrap();
    std::fs::rename(machine.path("state/catalogs"), machine.path("state/catalogues")).unwrap();
}

/// Asks the MCP server for its tools, so that there is a cached catalog.
fn cache_catalog(machine: &Machine) {
    let output = aquifer().args(["introspect", "--config", &machine.path("aquifer.toml")]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read_dir(machine.path("state/catalogs")).unwrap().count() > 0);
}

#[test]
fn nothing_is_changed() {
    let setups: [fn(&Machine); 7] = [
        |_| {},
        age_state,
        |machine| std::fs::remove_dir_all(machine.path("state/catalogs")).unwrap(),
        |machine| machine.set_mode("state", 0o755),
        |machine| {
            ["version", "cursor.key", "state.sqlite"]
                .map(|name| format!("state/{name}"))
                .iter()
                .for_each(|file| machine.set_mode(file, 0o644))
        },
        |machine| machine.edit("dir = \"state\"", "dir = \"state\"\nstore = \"sqlite:elsewhere/state.sqlite\""),
        // The server does not answer, and its cached catalog is used to check the rules.
        |machine| {
            let line = machine.line("command");
            machine.edit(&line, "command = \"false\"");
        },
    ];
    for (number, seed) in setups.iter().enumerate() {
        let machine = Machine::new();
        cache_catalog(&machine);
        grow_old(&machine);
        seed(&machine);
        machine.edit("[state]", "[[gate.rule]]\neffect = \"deny\"\ntable = \"books\"\n[state]");
        let folder = machine.path("");
        let before = read_tree(Path::new(&folder));

        let (findings, _) = machine.examine();

        let after = read_tree(Path::new(&folder));
        let changed: Vec<&String> =
            before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
        assert!(changed.is_empty(), "{number}: {changed:#?} {findings:#?}");
    }
}

#[test]
fn older_state_is_reported_with_its_version() {
    let machine = Machine::new();
    cache_catalog(&machine);
    age_state(&machine);
    let (findings, has_problems) = machine.examine();
    assert!(!has_problems, "{findings:#?}");
    let is_told = |finding: &Value| finding["message"].as_str().unwrap().contains("state version 1, which the next");
    assert!(findings.iter().any(is_told), "{findings:#?}");
}

#[test]
fn the_arguments_of_a_server_are_shown_without_secrets() {
    for command in [
        "command = \"sh\"\nargs = [\"-c\", \"exit 3\", \"--token=hush-hush\", \"--api-key\", \"hush-hush\"]\n#",
        "command = \"sh -c exit --token=hush-hush\"\n#",
        "command = \"no-such-program --token=hush-hush\"\n#",
    ] {
        let machine = Machine::new();
        let line = machine.line("command");
        machine.edit(&line, command);
        let line = machine.line("args = [\"/");
        machine.edit(&line, "");
        let problem = only_problem(&machine.examine().0);
        assert!(problem.contains("--token=[redacted]") && !problem.contains("hush-hush"), "{problem}");
    }
}

/// The server warns of this when it starts.
#[test]
fn an_address_that_others_can_reach_is_noted() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let machine = Machine::new();
        let line = machine.line("address");
        machine.edit(&line, &format!("address = {address:?}"));
        let (findings, has_problems) = machine.examine();
        assert!(!has_problems, "{findings:#?}");
        let found = findings.iter().find(|finding| finding["topic"] == "network").unwrap();
        assert_eq!(found["status"], "note", "{found}");
        assert!(found["message"].as_str().unwrap().contains("not authenticated"), "{found}");
    }
}
