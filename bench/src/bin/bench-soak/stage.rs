//! A gateway with faulty upstreams and a healthy one, in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use aquifer_bench::http::Address;
use aquifer_bench::process::Server;
use serde_json::json;

use crate::ask::{Asker, is_success};
use crate::faults::{Fault, Kind};
use crate::patient::{Patient, Served};
use crate::tally::Held;
use crate::{Plan, marked};

/// How long a gateway may take until an upstream answers.
const FIRST_ANSWER: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    folder: Folder,
    pub(crate) address: Address,
    configuration: Mutex<Configuration>,
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

    fn file(&self, name: &str) -> PathBuf {
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

impl Stage {
    /// A gateway with as many faulty upstreams as the fault wants.
    pub(crate) fn up(plan: &Plan, fault: &Fault) -> anyhow::Result<(Self, Vec<Patient>)> {
        let folder = Folder::new(fault.name)?;
        let mut ill: Vec<Ill> = Vec::new();
        let mut served = Vec::new();
        for place in 1..=fault.side_by_side {
            let name = format!("ill{place}");
            let server = match fault.kind {
                Kind::Elsewhere => Some(Served::start(&plan.script)?),
                Kind::Plain | Kind::Talkative | Kind::Exits => None,
            };
            ill.push(Ill { place: server.as_ref().map(Served::url), name });
            served.push(server);
        }
        let configuration =
            Configuration { script: plan.script.clone(), kind: fault.kind, timeout: fault.timeout, ill };
        configuration.write(&folder)?;
        let path = folder.file("aquifer.toml").display().to_string();
        let words = ["serve", "--config", &path, "--http", "127.0.0.1:0", "--mode", "single"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let (server, url) = Server::on_http(&plan.aquifer.display().to_string(), &words)?;
        let address = Address::read(&url)?;
        let patient = |(one, served): (&Ill, Option<Served>)| {
            anyhow::Ok(Patient {
                name: one.name.clone(),
                address: address.clone(),
                asker: Asker::open(&address)?,
                script: plan.script.clone(),
                variant: one.variant(&folder),
                broken: one.broken(&folder),
                served,
            })
        };
        let patients = configuration.ill.iter().zip(served).map(patient).collect::<anyhow::Result<Vec<_>>>()?;
        wait_for_all(&address, &configuration)?;
        let stage = Self { address, configuration: Mutex::new(configuration), folder, server };
        Ok((stage, patients))
    }

    /// Has the gateway find the faulty upstreams where they are now.
    pub(crate) fn tell_places(&self, patients: &[&mut Patient]) -> anyhow::Result<()> {
        let mut configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &mut configuration.ill {
            let now = patients.iter().find(|patient| patient.name == one.name);
            if let Some(served) = now.and_then(|patient| patient.served.as_ref()) {
                one.place = Some(served.url());
            }
        }
        configuration.write(&self.folder)
    }

    /// What the gateway holds at this moment.
    pub(crate) fn held(&self) -> anyhow::Result<Held> {
        let own = self.server.id();
        let entries = |folder: &str| anyhow::Ok(fs::read_dir(format!("/proc/{own}/{folder}"))?.count());
        Ok(Held {
            processes: marked::count(&self.folder.mark(), Some(own)),
            descriptors: entries("fd")?,
            threads: entries("task")?,
            resident_kb: self.server.resident_kb()?,
        })
    }

    /// Ends the gateway. Tells how many of its processes are still there some seconds later.
    pub(crate) fn end(self) -> anyhow::Result<usize> {
        self.server.end()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = marked::count(&self.folder.mark(), None);
            if left == 0 || Instant::now() > deadline {
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn wait_for_all(address: &Address, configuration: &Configuration) -> anyhow::Result<()> {
    let mut asker = Asker::open(address)?;
    let names = configuration.ill.iter().map(|one| one.name.as_str()).chain(["well"]);
    for operation in names.map(|name| format!("{name}_echo")) {
        let deadline = Instant::now() + FIRST_ANSWER;
        while !is_success(&asker.ask(&operation, &json!({}))?) {
            ensure!(Instant::now() < deadline, "{operation} is never answered");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// What the gateway is told.
struct Configuration {
    script: PathBuf,
    kind: Kind,
    timeout: u32,
    ill: Vec<Ill>,
}

/// A faulty upstream as the configuration names it.
struct Ill {
    name: String,
    /// Where it is, if the gateway does not start it.
    place: Option<String>,
}

impl Ill {
    fn variant(&self, folder: &Folder) -> PathBuf {
        folder.file(&format!("variant-{}", self.name))
    }

    fn broken(&self, folder: &Folder) -> PathBuf {
        folder.file(&format!("broken-{}", self.name))
    }
}

impl Configuration {
    /// Written beside and put in place: who watches the file never sees half of it.
    fn write(&self, folder: &Folder) -> anyhow::Result<()> {
        // Nobody is there to confirm what the upstreams are made to do.
        let unguarded = "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";
        let mut text = format!("{unguarded}\n[state]\ndir = {}\n", json!(folder.file("state")));
        for one in &self.ill {
            let reached = match &one.place {
                Some(url) => format!("url = {}\n", json!(url)),
                None => self.started(&one.variant(folder), &self.flags(one, folder)),
            };
            let (name, timeout) = (&one.name, self.timeout);
            text += &format!("\n[[source]]\nname = \"{name}\"\ntimeout_seconds = {timeout}\n{reached}");
        }
        let well = self.started(&folder.file("variant-well"), &[]);
        text += &format!("\n[[source]]\nname = \"well\"\ntimeout_seconds = 60\n{well}");
        let beside = folder.file("aquifer.toml.new");
        fs::write(&beside, text)?;
        fs::rename(beside, folder.file("aquifer.toml")).context("cannot write the configuration")
    }

    fn flags(&self, one: &Ill, folder: &Folder) -> Vec<String> {
        match self.kind {
            Kind::Plain | Kind::Elsewhere => Vec::new(),
            Kind::Talkative => vec!["--banner".to_owned()],
            Kind::Exits => vec!["--exit-while".to_owned(), one.broken(folder).display().to_string()],
        }
    }

    fn started(&self, variant: &Path, flags: &[String]) -> String {
        // JSON's strings are TOML's, too.
        let mark = variant.display().to_string();
        let mut args = vec![self.script.display().to_string(), "--variant-file".to_owned(), mark];
        args.extend(flags.iter().cloned());
        format!("command = \"python3\"\nargs = {}\n", json!(args))
    }
}
