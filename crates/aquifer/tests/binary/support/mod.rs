//! A running server to talk to, over pipes or HTTP, and something for it to serve. Processes end with the value that
//! holds them, and so do files.

mod either;
mod folder;
mod http_server;
mod http_session;
mod mcp;
mod other_user;
mod piped;
pub(crate) mod shop;
mod stderr_reader;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use either::{Server, Transport};
pub(crate) use folder::{Folder, alter};
pub(crate) use http_server::{Answer, HttpServer, read_answer, send_to, stateless_body, try_call};
pub(crate) use http_session::{HttpSession, call_message};
pub(crate) use mcp::{server, tools};
pub(crate) use other_user::{NOBODY, OtherUser};
pub(crate) use piped::StdioServer;

/// Nothing here takes this long; it bounds a test that would otherwise hang.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(240);

pub(crate) fn aquifer() -> Command {
    aquifer_at(env!("CARGO_BIN_EXE_aquifer").as_ref())
}

/// The same for a copy of the program.
pub(crate) fn aquifer_at(program: &Path) -> Command {
    let mut command = Command::new(program);
    for variable in ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX", "AQUIFER_LOG"] {
        command.env_remove(variable);
    }
    // What outlives a process must not end up with the person who runs the tests.
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    // Who confirms is the subject of a few tests only, which start it with `with_people`.
    command.env(MODEL_CONFIRMS, "1");
    command
}

/// Lets callers confirm their own calls with a token.
const MODEL_CONFIRMS: &str = "AQUIFER_MODEL_CONFIRMS";

/// The same with the default: a person confirms.
pub(crate) fn with_people(mut command: Command) -> Command {
    command.env_remove(MODEL_CONFIRMS);
    command
}

/// The same with a memory of its own: what MCP servers offered before is not known.
pub(crate) fn forgetful(folder: &Folder) -> Command {
    let mut command = aquifer();
    command.env("XDG_STATE_HOME", folder.path("state"));
    command
}

/// Runs a command as people write it into a shell.
pub(crate) fn shell(command: &str) -> Output {
    let ours = Path::new(env!("CARGO_BIN_EXE_aquifer")).parent().unwrap();
    let path = std::env::join_paths([ours, Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")]);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path.unwrap());
    shell.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    shell.stdin(Stdio::null()).output().unwrap()
}

/// The same in a folder that is home and workplace, whose own programs come first.
pub(crate) fn shell_in(folder: &Folder, command: &str) -> Output {
    shell_command(folder, command).stdin(Stdio::null()).output().unwrap()
}

/// The same, not started yet.
pub(crate) fn shell_command(folder: &Folder, command: &str) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_aquifer")).parent().unwrap();
    let home = folder.path("");
    let path = format!("{home}:{}:{}", ours.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path).env("HOME", &home).env_remove("XDG_CONFIG_HOME").current_dir(&home);
    shell.env("XDG_STATE_HOME", folder.path("state"));
    shell
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    aquifer().args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asks until there is something, or far too long.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "timed out: {what}");
        // Whoever is waited for needs the processor, too.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The token in an answer that asks for confirmation.
pub(crate) fn token(answer: &Value) -> Option<&str> {
    let error = &answer["error"];
    (error["code"] == "CONFIRMATION_REQUIRED").then(|| error["details"]["confirmation_token"].as_str())?
}

/// Runs `aquifer call` until it is done: a second time with the token, where it has to be confirmed.
pub(crate) fn confirmed(params: &Value, mut call: impl FnMut(&str) -> Output) -> Output {
    let first = call(&params.to_string());
    let answer: Value = serde_json::from_slice(&first.stdout).unwrap_or_default();
    let Some(token) = token(&answer) else { return first };
    let mut params = params.clone();
    params["confirmation_token"] = token.into();
    call(&params.to_string())
}

/// A configuration whose operator lets everything pass unasked, for tests of something else.
pub(crate) fn unguarded(folder: &Folder) -> String {
    let rule = "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";
    let texts = "[gate.destinations]\nfrom_text = \"allow\"\n";
    folder.file("unguarded.toml", &format!("{rule}\n{texts}"))
}

/// The envelope in the answer to a tool call, after checking that both its forms agree (R-RES-3).
pub(crate) fn envelope(answer: &Value) -> Value {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
    let parsed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(parsed, result["structuredContent"], "text and structured content are the same");
    assert_eq!(text, serde_json::to_string(&parsed).unwrap(), "the text is compact");
    parsed
}

/// The memory that a process has for itself, in kilobytes. What it maps from its own file is not it.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The processor time that a process has used, in clock ticks.
pub(crate) fn processor_time(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    // User and system time are fields 14 and 15, and the state after the name is field 3.
    fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// How many threads of a process are running, or would if there were a processor for them.
pub(crate) fn running_threads(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    // Threads come and go.
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat")).ok());
    stats.filter(|stat| stat.rsplit_once(") ").unwrap().1.starts_with('R')).count()
}

/// The processes that a server has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-eo", "pid,ppid"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let pair = |line: &str| {
        let mut words = line.split_whitespace().map(|word| word.parse().ok());
        Some((words.next()??, words.next()??))
    };
    listed.lines().filter_map(pair).filter(|(_, parent): &(u32, u32)| *parent == pid).map(|(child, _)| child).collect()
}

/// Asks a process to stop.
pub(crate) fn terminate(pid: u32) {
    signal("-TERM", pid);
}

pub(crate) fn signal(which: &str, pid: u32) {
    assert!(Command::new("kill").args([which, &pid.to_string()]).status().unwrap().success());
}
