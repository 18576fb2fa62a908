//! A gateway with a faulty and a healthy upstream, in a folder of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use aquifer_bench::http::Address;
use aquifer_bench::process::Server;
use serde_json::json;

use crate::ask::Asker;
use crate::tally::Held;
use crate::{Plan, marked};

/// How long a gateway may take until both its upstreams answer.
const FIRST_ANSWER: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) folder: Folder,
    pub(crate) address: Address,
    script: PathBuf,
    server: Server,
}

/// A folder that goes with the stage. Its path is in the arguments of all that is started for it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("aquifer-soak-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn mark(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How the faulty upstream is reached.
pub(crate) enum Ill {
    Started(Vec<String>),
    At(String),
}

impl Stage {
    pub(crate) fn up(
        plan: &Plan,
        name: &str,
        ill: impl FnOnce(&Folder) -> anyhow::Result<Ill>,
    ) -> anyhow::Result<Self> {
        let folder = Folder::new(name)?;
        let ill = ill(&folder)?;
        write_configuration(&folder, &plan.script, &ill)?;
        let configuration = folder.file("aquifer.toml").display().to_string();
        let words = ["serve", "--config", &configuration, "--http", "127.0.0.1:0", "--mode", "single"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let (server, url) = Server::on_http(&plan.aquifer.display().to_string(), &words)?;
        let stage = Self { address: Address::read(&url)?, script: plan.script.clone(), folder, server };
        stage.wait_for_both()?;
        Ok(stage)
    }

    fn wait_for_both(&self) -> anyhow::Result<()> {
        let mut asker = Asker::open(&self.address)?;
        for operation in ["ill_echo", "well_echo"] {
            let deadline = Instant::now() + FIRST_ANSWER;
            while !asker.succeeds(operation, &json!({}))? {
                ensure!(Instant::now() < deadline, "{operation} is never answered");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Has the gateway find the faulty upstream at another place.
    pub(crate) fn move_to(&self, url: &str) -> anyhow::Result<()> {
        write_configuration(&self.folder, &self.script, &Ill::At(url.to_owned()))
    }

    /// What the gateway holds at this moment. Servers that `but` lists are not its own.
    pub(crate) fn held(&self, but: &[u32]) -> anyhow::Result<Held> {
        let own = self.server.id();
        let entries = |folder: &str| anyhow::Ok(fs::read_dir(format!("/proc/{own}/{folder}"))?.count());
        let others: Vec<u32> = but.iter().copied().chain([own]).collect();
        Ok(Held {
            processes: marked::count(&self.folder.mark(), &others),
            descriptors: entries("fd")?,
            threads: entries("task")?,
            resident_kb: self.server.resident_kb()?,
        })
    }

    /// Ends the gateway. Tells how many of its processes are still there some seconds later.
    pub(crate) fn end(self, but: &[u32]) -> anyhow::Result<usize> {
        self.server.end()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = marked::count(&self.folder.mark(), but);
            if left == 0 || Instant::now() > deadline {
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Written beside and put in place: who watches the file never sees half of it.
fn write_configuration(folder: &Folder, script: &Path, ill: &Ill) -> anyhow::Result<()> {
    // Short where a hanging upstream is waited for in every round; the others may have a busy machine.
    let patience = if folder.mark().ends_with("-hanging") { 2 } else { 30 };
    let ill = match ill {
        Ill::Started(flags) => started(folder, script, flags),
        Ill::At(url) => format!("url = {}\n", json!(url)),
    };
    let text = format!(
        "[state]\ndir = {}\n\n[[source]]\nname = \"ill\"\ntimeout_seconds = {patience}\n{ill}\n\
         [[source]]\nname = \"well\"\ntimeout_seconds = 60\n{}",
        json!(folder.file("state")),
        started(folder, script, &[]),
    );
    let beside = folder.file("aquifer.toml.new");
    fs::write(&beside, text)?;
    fs::rename(beside, folder.file("aquifer.toml")).context("cannot write the configuration")
}

fn started(folder: &Folder, script: &Path, flags: &[String]) -> String {
    // JSON's strings are TOML's, too.
    let mark = folder.file("variant").display().to_string();
    let mut args = vec![script.display().to_string(), "--variant-file".to_owned(), mark];
    args.extend(flags.iter().cloned());
    format!("command = \"python3\"\nargs = {}\n", json!(args))
}

/// The scripted server over HTTP, started by us.
pub(crate) struct Served {
    process: Child,
    pub(crate) port: u16,
}

impl Served {
    pub(crate) fn start(script: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new("python3").arg(script).args(["--http", "0"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no stdout")?).read_line(&mut line)?;
        Ok(Self { port: line.trim().parse().context("the server did not say its port")?, process })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
