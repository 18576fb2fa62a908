//! The explorer in a real browser, served by the built binary. What each flow does and checks is in `tests/browser`.
//!
//! `cargo xtask test` installs Chromium and the packages that drive it, and says in the environment where they are.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod hostile;
#[path = "../clients/process.rs"]
mod process;
mod server;
mod shared;
mod sources;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use process::Process;
use server::{Configured, Demo, Server};

/// A database in which a person can write and delete.
const NOTES: &str = "
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO notes (text) VALUES ('one'), ('two'), ('three');";

/// Deleting needs an approval.
const APPROVALS: &str = "[gate.strength]\ndestructive = \"approval\"\n";

/// The program that runs JavaScript.
fn node() -> OsString {
    std::env::var_os("AQUIFER_TEST_NODE").expect("AQUIFER_TEST_NODE is set by: cargo xtask test")
}

/// Starts a flow with these arguments.
fn flow(name: &str, arguments: &[&str]) -> Process {
    let mut command = Command::new(node());
    command.arg(scripts().join(format!("{name}.mjs"))).args(arguments).stdin(Stdio::piped());
    Process::start(command)
}

/// Waits until a flow holds.
fn hold(page: &mut Process) {
    page.line("the page holds", |line| (line == "holding").then_some(()));
}

/// Ends the server of a flow that holds, and starts it again on the same port when the flow has noticed. `between` is done
/// while no server runs.
fn restart<'c>(
    page: &mut Process,
    configured: &'c Configured,
    server: Server<'c>,
    between: impl FnOnce(),
) -> Server<'c> {
    let port = server.port();
    hold(page);
    drop(server);
    between();
    page.release();
    hold(page);
    let again = configured.start(port);
    page.release();
    again
}

/// The folder of the flows.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser")
}

/// Runs a program in Node.js that prints what is wrong.
fn check(arguments: &[OsString]) {
    let output = Command::new(node()).args(arguments).current_dir(scripts()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn modules_have_the_types_that_they_say() {
    let packages = PathBuf::from(std::env::var_os("AQUIFER_TEST_BROWSER").expect("it is set by: cargo xtask test"));
    check(&[packages.join("node_modules/typescript/bin/tsc").into(), "-p".into(), ".".into()]);
}

#[test]
fn modules_without_a_document_pass_their_tests() {
    let mut arguments: Vec<OsString> = ["--import", "./units/pages.mjs", "--test"].map(OsString::from).into();
    let files = std::fs::read_dir(scripts().join("units")).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<OsString> =
        files.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).map(OsString::from).collect();
    assert!(tests.len() >= 3, "{tests:?}");
    arguments.extend(tests);
    check(&arguments);
}

/// Runs a flow on a demo of its own.
fn run_on_demo(name: &str) {
    let demo = Demo::start();
    flow(name, &[&demo.link]).passes();
}

#[test]
fn a_link_logs_in_once_and_everything_can_be_browsed() {
    run_on_demo("browse");
}

#[test]
fn operations_are_tried_in_a_form() {
    run_on_demo("try");
}

#[test]
fn calls_of_agents_are_approved_and_denied() {
    run_on_demo("approvals");
}

#[test]
fn audit_live_settings_and_schema_show_what_happens() {
    let demo = Demo::start_with(&["--model-confirms"]);
    flow("records", &[&demo.link]).passes();
}

#[test]
fn hostile_content_is_shown_as_text() {
    let configured = Configured::new("hostile", &hostile::sql(), APPROVALS);
    let server = configured.start(0);
    flow("hostile", &[&server.link()]).passes();
}

#[test]
fn requests_that_are_not_of_the_page_are_refused() {
    run_on_demo("security");
}

#[test]
fn a_program_on_another_port_of_the_host_gets_no_session() {
    run_on_demo("ports");
}

#[test]
fn a_keyboard_a_narrow_screen_and_a_lost_connection_are_enough() {
    let demo = Demo::start();
    flow("keyboard", &[&demo.link]).passes();
    drop(demo);
    let configured = Configured::new("connection", NOTES, "");
    let server = configured.start(0);
    let mut page = flow("connection", &[&server.link()]);
    let _again = restart(&mut page, &configured, server, || ());
    page.passes();
}

#[test]
fn every_page_is_accessible() {
    run_on_demo("accessibility");
}

#[test]
fn the_documentation_is_read_searched_and_accessible() {
    run_on_demo("docs");
}
