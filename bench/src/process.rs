//! A server as a child process, with its resource usage. It ends with this program.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// A server process.
pub struct Server(Child);

impl Server {
    /// Starts a server that communicates over stdio, and returns its pipes.
    pub fn start_stdio(command: &[String]) -> anyhow::Result<(Self, ChildStdin, ChildStdout)> {
        let mut server = Self::start(command, Stdio::piped(), Stdio::piped(), Stdio::null())?;
        let write = server.0.stdin.take().context("no stdin")?;
        let read = server.0.stdout.take().context("no stdout")?;
        Ok((server, write, read))
    }

    /// Starts a server that prints its URL to stdout or stderr.
    pub fn start_http(command: &[String]) -> anyhow::Result<(Self, String)> {
        Self::start_until_url(command, |_| true)
    }

    /// Starts a server that prints several URLs, and returns the first one that is `wanted`.
    pub fn start_until_url(command: &[String], wanted: impl Fn(&str) -> bool) -> anyhow::Result<(Self, String)> {
        let (read, write) = std::io::pipe()?;
        let server = Self::start(command, Stdio::null(), write.try_clone()?.into(), write.into())?;
        let mut printed = String::new();
        let mut read = BufReader::new(read);
        loop {
            let begin = printed.len();
            if read.read_line(&mut printed)? == 0 {
                bail!("{} ended without printing its URL:\n{printed}", command.join(" "));
            }
            let line = printed.get(begin..).unwrap_or_default();
            if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://") && wanted(word)) {
                let url = url.to_owned();
                // Keep reading, because the server would block when the pipe is full.
                std::thread::spawn(move || std::io::copy(&mut read, &mut std::io::sink()));
                return Ok((server, url));
            }
        }
    }

    fn start(command: &[String], stdin: Stdio, stdout: Stdio, stderr: Stdio) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("no command")?;
        let mut command = Command::new(program);
        let child = command.args(arguments).stdin(stdin).stdout(stdout).stderr(stderr).spawn();
        child.map(Self).with_context(|| format!("cannot start {program}"))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Stops it and waits until it has ended, because an instruction counter reports at the end of the process.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        // A server whose stdin was closed may already have ended.
        let _ = Command::new("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        while self.0.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "the server does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Resident memory in kilobytes.
    pub fn resident_kb(&self) -> anyhow::Result<f64> {
        self.status_kb("VmRSS")
    }

    /// The part of the resident memory that is not pages of files, in kilobytes. The system can drop and read again the
    /// pages of the program, and how many are resident depends on how it reads ahead.
    pub fn own_kb(&self) -> anyhow::Result<f64> {
        self.status_kb("RssAnon")
    }

    /// The peak resident memory, in kilobytes, since the start or since [`reset_peak`](Self::reset_peak).
    pub fn peak_kb(&self) -> anyhow::Result<f64> {
        self.status_kb("VmHWM")
    }

    /// Resets the peak to the current resident memory.
    pub fn reset_peak(&self) -> anyhow::Result<()> {
        std::fs::write(format!("/proc/{}/clear_refs", self.0.id()), "5").context("cannot reset the peak of memory")
    }

    fn status_kb(&self, name: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.with_context(|| format!("no {name}"))?;
        line.trim().trim_end_matches("kB").trim().parse().with_context(|| format!("{name} is not a number"))
    }

    /// CPU time used so far by all threads, in microseconds.
    pub fn cpu_us(&self) -> anyhow::Result<f64> {
        let mut nanoseconds = 0.0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let path = task?.path().join("schedstat");
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let used = text.split_whitespace().next().context("schedstat is empty")?;
            nanoseconds += used.parse::<f64>()?;
        }
        Ok(nanoseconds / 1000.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
