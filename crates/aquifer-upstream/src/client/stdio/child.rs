//! The process of an upstream: its environment, its standard error, and its end.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use aquifer_discovery::redact;
use aquifer_system::{INHERITED_VARIABLES, ProcessGroup, Receiver, Sender, pipes};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::client::stdio::ancestry;
use crate::error::Outage;
use crate::sanitize::Sanitizer;

/// Number of lines of standard error kept to explain a failed start.
const MAX_TAIL_LINES: usize = 8;

/// Longer lines are truncated. The log shows much less, but a secret at the cut must still be recognized as a whole.
const MAX_LINE_LEN: usize = 16_000;

/// Maximum number of lines hidden for one private key, so that a key without an end marker does not hide everything.
const MAX_KEY_LINES: usize = 200;

/// How long a killed process may take to exit.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);

/// A child process and its process group. Dropping it kills the whole group.
pub(crate) struct Child {
    process: tokio::process::Child,
    group: ProcessGroup,
    stderr_tail: Arc<Mutex<VecDeque<String>>>,
    /// Reads standard error until the last process that holds the pipe has exited.
    stderr_reader: Option<JoinHandle<()>>,
}

/// Our ends of the pipes.
pub(crate) struct Pipes {
    pub(crate) input: Sender,
    pub(crate) output: Receiver,
}

impl Child {
    /// Starts a program in its own process group.
    pub(crate) fn start(
        command: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: Option<&Path>,
        name: &Arc<str>,
        sanitizer: &Sanitizer,
    ) -> Result<(Self, Pipes), Outage> {
        const REASON: &str = "it cannot be started";
        let ancestry =
            ancestry::of_child(command, args, env, cwd).map_err(|recursion| Outage::new(REASON, recursion))?;
        let mut program = Command::new(command);
        program.args(args).env_clear();
        for variable in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(variable) {
                program.env(variable, value);
            }
        }
        program.envs(env.iter().map(|(name, value)| (name, value)));
        program.env(ancestry::VARIABLE, ancestry);
        if let Some(folder) = cwd {
            program.current_dir(folder);
        }
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program.kill_on_drop(true);
        ProcessGroup::prepare(&mut program);
        let mut process = program.spawn().map_err(|error| spawn_outage(REASON, command, cwd, &error))?;
        let group = ProcessGroup::new(&process);
        let (input, output, errors) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let stderr_tail = Arc::<Mutex<VecDeque<String>>>::default();
        let mut child = Self { process, group, stderr_tail: stderr_tail.clone(), stderr_reader: None };
        let (Some(input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(Outage::new(REASON, "its pipes are not available"));
        };
        let (input, output) = pipes(input, output).map_err(|cause| Outage::new(REASON, cause))?;
        // Ends at the latest when the process group is killed.
        child.stderr_reader = Some(tokio::spawn(read_stderr(errors, name.clone(), sanitizer.clone(), stderr_tail)));
        Ok((child, Pipes { input, output }))
    }

    /// Waits until the process exits by itself.
    pub(crate) async fn wait(&mut self) {
        // A process that cannot be waited for does not exist.
        let _ = self.process.wait().await;
    }

    /// Kills the whole group and returns the exit status.
    pub(crate) async fn kill_and_wait(mut self) -> Option<ExitStatus> {
        self.kill();
        tokio::time::timeout(REAP_TIMEOUT, self.process.wait()).await.ok()?.ok()
    }

    /// Waits until standard error has been read completely, at most for the timeout: a grandchild may keep the pipe
    /// open.
    pub(crate) async fn drain_stderr(&mut self, timeout: Duration) {
        if let Some(stderr_reader) = self.stderr_reader.take() {
            let _ = tokio::time::timeout(timeout, stderr_reader).await;
        }
    }

    /// The last lines of standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        let lines = self.stderr_tail.lock();
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    fn kill(&mut self) {
        self.group.kill(&mut self.process);
    }
}

/// Explains why a program cannot be started, in the words of a shell. The system reports the same error for a missing
/// program, folder or interpreter.
fn spawn_outage(reason: &'static str, command: &str, cwd: Option<&Path>, error: &std::io::Error) -> Outage {
    let shown = redact::command(command);
    if error.kind() != ErrorKind::NotFound {
        return Outage::new(reason, format!("{shown}: {error}"));
    }
    if let Some(folder) = cwd.filter(|folder| !folder.is_dir()) {
        return Outage::new(reason, format!("its folder {} does not exist", folder.display()));
    }
    let program = cwd.map_or_else(|| command.into(), |folder| folder.join(command));
    match command.contains(std::path::is_separator) {
        false => Outage::command_not_found(reason, &shown),
        true if program.exists() => Outage::new(reason, format!("{shown}: its interpreter does not exist")),
        true => Outage::new(reason, format!("{shown}: no such file")),
    }
}

impl Drop for Child {
    /// The system reuses process ids only after a full cycle, so the id of an empty group does not denote a new group.
    fn drop(&mut self) {
        self.kill();
    }
}

/// Logs standard error line by line, truncated and sanitized.
async fn read_stderr(
    mut errors: impl AsyncRead + Unpin,
    name: Arc<str>,
    sanitizer: Sanitizer,
    stderr_tail: Arc<Mutex<VecDeque<String>>>,
) {
    let mut chunk = vec![0; 4096];
    let mut line: Vec<u8> = Vec::new();
    let mut key_filter = PrivateKeyFilter::default();
    loop {
        let read = match errors.read(&mut chunk).await {
            Ok(0) | Err(_) => 0,
            Ok(read) => read,
        };
        for byte in chunk.iter().take(read) {
            match byte {
                b'\n' => log_line(&mut line, &mut key_filter, &name, &sanitizer, &stderr_tail),
                byte if line.len() < MAX_LINE_LEN => line.push(*byte),
                _ => {}
            }
        }
        if read == 0 {
            log_line(&mut line, &mut key_filter, &name, &sanitizer, &stderr_tail);
            return;
        }
    }
}

fn log_line(
    line: &mut Vec<u8>,
    key_filter: &mut PrivateKeyFilter,
    name: &str,
    sanitizer: &Sanitizer,
    stderr_tail: &Mutex<VecDeque<String>>,
) {
    let is_key = key_filter.is_key_line(line);
    let text = sanitizer.for_log(&String::from_utf8_lossy(line));
    line.clear();
    if is_key || text.trim().is_empty() {
        return;
    }
    tracing::debug!(target: "aquifer_upstream::stderr", source = name, "{text}");
    let mut tail = stderr_tail.lock();
    if tail.len() == MAX_TAIL_LINES {
        tail.pop_front();
    }
    tail.push_back(text);
}

/// Detects the lines of a private key. A single such line looks like any other base64.
#[derive(Default)]
struct PrivateKeyFilter {
    /// Lines that may still belong to the current key.
    lines_left: usize,
}

impl PrivateKeyFilter {
    /// Whether this line belongs to a key that began on an earlier line.
    fn is_key_line(&mut self, line: &[u8]) -> bool {
        let contains = |marker: &str| line.windows(marker.len()).any(|window| window == marker.as_bytes());
        let is_inside = self.lines_left > 0;
        self.lines_left = match (contains("-----END "), contains("-----BEGIN ") && contains("PRIVATE KEY")) {
            (true, _) => 0,
            (false, true) => MAX_KEY_LINES,
            (false, false) => self.lines_left.saturating_sub(1),
        };
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_private_key_are_hidden() {
        let mut key_filter = PrivateKeyFilter::default();
        let begin = ["-----BEGIN", " PRIVATE KEY-----"].concat();
        for (line, is_inside) in [
            ("starting", false),
            (&*begin, false),
            ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", true),
            ("", true),
            ("-----END PRIVATE KEY-----", true),
            ("started", false),
        ] {
            assert_eq!(key_filter.is_key_line(line.as_bytes()), is_inside, "{line}");
        }
        key_filter.is_key_line(begin.as_bytes());
        let hidden = (0..1_000).filter(|_| key_filter.is_key_line(b"no end")).count();
        assert_eq!(hidden, MAX_KEY_LINES);
    }
}
