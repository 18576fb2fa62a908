//! A configuration that starts Aquifer with the same configuration.

use std::process::Command;

use super::support::{Folder, text};

/// Lists the operations of a configuration, in a folder of its own.
fn introspect(folder: &Folder, config: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_aquifer"))
        .args(["introspect", "--config", config])
        .env("XDG_STATE_HOME", folder.path("state"))
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_configuration_that_starts_itself_fails_instead_of_starting_processes_without_end() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_aquifer");
    let config = folder.path("aquifer.toml");
    let served = format!("{program} serve --config {config}");
    // The command itself, and a shell that hides it.
    for source in [
        format!("command = {program:?}\nargs = [\"serve\", \"--config\", {config:?}]\n"),
        format!("command = \"sh\"\nargs = [\"-c\", {served:?}]\n"),
    ] {
        folder.file("aquifer.toml", &format!("[state]\ndir = \"state\"\n[[source]]\nname = \"itself\"\n{source}"));

        let (code, printed) = introspect(&folder, &config);

        assert_ne!(code, Some(0), "{printed}");
        assert!(printed.contains("start the same command again"), "{printed}");
    }
}

#[test]
fn a_gateway_behind_a_gateway_works() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_aquifer");
    let inner = folder.file(
        "inner.toml",
        &format!(
            "[state]\ndir = \"inner\"\n[[source]]\nname = \"tasks\"\ncommand = {program:?}\nargs = [\"serve\", \"tasks:\"]\n"
        ),
    );
    let outer = folder.file(
        "outer.toml",
        &format!(
            "[state]\ndir = \"outer\"\n[[source]]\nname = \"inner\"\ncommand = {program:?}\n\
             args = [\"serve\", \"--config\", {inner:?}]\n"
        ),
    );

    let (code, printed) = introspect(&folder, &outer);

    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("mcp_aql"), "{printed}");
}
