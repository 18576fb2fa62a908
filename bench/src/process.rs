//! A server started here, and what the operating system knows of it. Ends with us.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// A server.
pub struct Server(Child);

/// Both ends of a server's standard streams.
pub struct Pipes {
    /// Where it reads.
    pub write: ChildStdin,
    /// Where it writes.
    pub read: ChildStdout,
}

impl Server {
    /// Starts a server that speaks on its standard streams.
    pub fn on_pipes(program: &str, arguments: &[String]) -> anyhow::Result<(Self, Pipes)> {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let mut server = Self(child);
        let write = server.0.stdin.take().context("no stdin")?;
        let read = server.0.stdout.take().context("no stdout")?;
        Ok((server, Pipes { write, read }))
    }

    /// Starts a server that says its URL, on stdout or on stderr.
    pub fn on_http(program: &str, arguments: &[String]) -> anyhow::Result<(Self, String)> {
        let (read, write) = std::io::pipe()?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(write.try_clone()?)
            .stderr(write)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let server = Self(child);
        let mut said = String::new();
        let mut read = BufReader::new(read);
        loop {
            let begin = said.len();
            if read.read_line(&mut said)? == 0 {
                bail!("{program} ended without saying its URL:\n{said}");
            }
            let line = said.get(begin..).unwrap_or_default();
            if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://")) {
                let url = url.to_owned();
                // Somebody has to go on reading, or the server would stand still when the pipe is full.
                std::thread::spawn(move || std::io::copy(&mut read, &mut std::io::sink()));
                return Ok((server, url));
            }
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Asks it to end and waits until it has: who counts a server's instructions reports at its end.
    pub fn end(mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        // Where its stdin was closed it ends by itself, and there may be nobody to tell any more.
        let _ = Command::new("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        while self.0.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Resident memory in kilobytes.
    pub fn resident_kb(&self) -> anyhow::Result<f64> {
        self.status_kb("VmRSS")
    }

    /// The most resident memory, in kilobytes, since the start or since [`forget_peak`](Self::forget_peak).
    pub fn peak_kb(&self) -> anyhow::Result<f64> {
        self.status_kb("VmHWM")
    }

    /// Lets the peak begin anew from what is resident now.
    pub fn forget_peak(&self) -> anyhow::Result<()> {
        std::fs::write(format!("/proc/{}/clear_refs", self.0.id()), "5").context("cannot reset the peak of memory")
    }

    fn status_kb(&self, name: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.with_context(|| format!("no {name}"))?;
        line.trim().trim_end_matches("kB").trim().parse().with_context(|| format!("{name} is not a number"))
    }

    /// Processor time used so far by all threads, in microseconds.
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
        // It may have ended by itself already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
