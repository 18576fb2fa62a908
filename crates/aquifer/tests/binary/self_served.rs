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
        assert!(printed.contains("in an endless loop"), "{printed}");
    }
}

/// A server may give people a shell, from which they use the same configuration. The message has to be true there, too.
#[test]
fn a_shell_that_a_server_has_started_is_told_how_to_go_on() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_aquifer");
    let config = folder.path("aquifer.toml");
    let report = folder.path("report.json");
    // The server, which makes a report as a person in its shell would.
    let script = folder.file(
        "server.sh",
        &format!("{program} doctor --json --config {config} > {report}.draft\nmv {report}.draft {report}\nexec {program} serve tasks:\n"),
    );
    folder.file(
        "aquifer.toml",
        &format!("[state]\ndir = \"state\"\n[[source]]\nname = \"host\"\ncommand = \"sh\"\nargs = [{script:?}]\n"),
    );

    let (code, printed) = introspect(&folder, &config);

    assert_eq!(code, Some(0), "{printed}");
    let report = std::fs::read_to_string(report).unwrap();
    for words in ["was itself started by the same command", "unset AQUIFER_ANCESTRY", "another shell"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert!(!report.contains("Run it by hand"), "{report}");
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
    // The operations of the innermost one, and not the tools that they are called through.
    assert!(printed.contains("create_task") && !printed.contains("mcp_aql"), "{printed}");
}
