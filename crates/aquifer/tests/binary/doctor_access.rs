//! What `aquifer doctor` advises about files and directories that this user cannot use.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use serde_json::Value;

use crate::doctor::{Machine, only_problem};
use crate::support::{Folder, aquifer, text};

/// The user `nobody`, who owns nothing.
const NOBODY: u32 = 65_534;

/// A folder in which somebody else has files.
struct Shared {
    folder: Folder,
    is_root: bool,
    /// A directory of root into which the user of the doctor cannot look.
    closed: String,
}

impl Shared {
    /// `None` if there is no such directory here.
    fn new() -> Option<Self> {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("home")).unwrap();
        let is_root = std::fs::metadata(folder.path("home")).unwrap().uid() == 0;
        if !is_root {
            let is_closed =
                std::fs::metadata("/root/x").is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            return is_closed.then(|| Self { folder, is_root, closed: "/root".to_owned() });
        }
        let closed = folder.path("their files");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        chown(folder.path("home"), Some(NOBODY), Some(NOBODY)).unwrap();
        Some(Self { folder, is_root, closed })
    }

    /// The only problem that the doctor finds, with its message and its advice. `None` if the user cannot start it.
    fn problem(&self, config: &str) -> Option<Value> {
        let config = self.folder.file("aquifer.toml", config);
        self.examine(&["--config", &config])
    }

    fn examine(&self, arguments: &[&str]) -> Option<Value> {
        let mut command = aquifer();
        command.args(["doctor", "--json"]).args(arguments).current_dir(self.folder.path(""));
        command.env("HOME", self.folder.path("home")).env_remove("XDG_STATE_HOME").stdin(Stdio::null());
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = match command.output() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
            output => output.unwrap(),
        };
        let sections: Vec<Value> =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let findings: Vec<Value> =
            sections.iter().flat_map(|section| section["findings"].as_array().unwrap()).cloned().collect();
        Some(serde_json::from_str(&only_problem(&findings)).unwrap())
    }
}

#[test]
fn the_directory_of_another_user_is_left_alone() {
    let Some(shared) = Shared::new() else { return };
    let closed = shared.closed.clone();
    let link = shared.folder.path("home/link");
    symlink(format!("{closed}/x"), &link).unwrap();
    let source = |path: &str| {
        format!("[state]\ndir = \"home/state\"\n[[source]]\nname = \"shop\"\ntarget = \"sqlite:{path}\"\n")
    };
    for (config, alternative) in [
        (format!("[state]\ndir = \"{closed}/deeply/x\"\n"), "state.dir"),
        (format!("[state]\ndir = {link:?}\n"), "state.dir"),
        (source(&format!("{closed}/shop.db")), "another file"),
        (source(&link), "another file"),
    ] {
        let Some(problem) = shared.problem(&config) else { return };
        let advice = problem["advice"].as_str().unwrap();
        assert!(advice.starts_with(&format!("{closed} belongs to root")), "{config}: {problem}");
        assert!(advice.contains(alternative) && !advice.contains("chown"), "{config}: {problem}");
    }
}

/// Only root can give files to others, so nobody else can seed these.
#[test]
fn files_of_root_are_not_given_away() {
    let Some(shared) = Shared::new().filter(|shared| shared.is_root) else { return };
    let state = shared.folder.path("their files");
    let Some(problem) = shared.problem("[state]\ndir = \"their files\"\n") else { return };
    let advice = problem["advice"].as_str().unwrap();
    assert!(advice.contains(&format!("sudo chown $(id -un) '{state}'.")) && !advice.contains("-R"), "{problem}");

    // A directory in which this user cannot create one.
    let problem = shared.problem("[state]\ndir = \"new/state\"\n").unwrap();
    let advice = problem["advice"].as_str().unwrap();
    let above = shared.folder.path("");
    assert!(advice.starts_with(&format!("{} belongs to root", above.trim_end_matches('/'))), "{problem}");

    let config = shared.folder.file("aquifer.toml", "[state]\ndir = \"home/state\"\n");
    std::fs::set_permissions(&config, Permissions::from_mode(0o600)).unwrap();
    let problem = shared.examine(&["--config", &config]).unwrap();
    let advice = problem["advice"].as_str().unwrap();
    assert!(advice.starts_with(&format!("{config} belongs to root")) && advice.contains("--config"), "{problem}");

    std::fs::set_permissions(&config, Permissions::from_mode(0o646)).unwrap();
    let problem = shared.examine(&[]).unwrap();
    assert!(problem["advice"].as_str().unwrap().contains("run: sudo chmod go-w aquifer.toml"), "{problem}");
}

#[test]
fn a_path_that_is_not_a_directory_needs_no_permission() {
    let machine = Machine::new();
    machine.folder.file("file", "");
    for path in ["file", "file/state"] {
        machine.edit(&machine.line("dir ="), &format!("dir = {path:?}"));
        let problem = only_problem(&machine.examine().0);
        assert!(problem.contains("not a directory. Correct it, or choose"), "{path}: {problem}");
        assert!(!problem.contains("chmod") && !problem.contains("chown"), "{path}: {problem}");
    }
}

#[test]
fn commands_are_quoted_for_a_shell() {
    let machine = Machine::new();
    std::fs::rename(machine.path("state"), machine.path("my state")).unwrap();
    machine.set_mode("my state", 0o755);
    machine.edit("dir = \"state\"", "dir = \"my state\"");
    let problem = only_problem(&machine.examine().0);
    assert!(problem.contains(&format!("chmod 700 '{}'", machine.path("my state"))), "{problem}");

    machine.set_mode("my state", 0o700);
    std::fs::rename(machine.path("aquifer.env"), machine.path("my.env $(x)")).unwrap();
    machine.edit("aquifer.env", "my.env $(x)");
    machine.set_mode("my.env $(x)", 0o644);
    let problem = only_problem(&machine.examine().0);
    assert!(problem.contains(&format!("chmod 600 '{}'", machine.path("my.env $(x)"))), "{problem}");
}
