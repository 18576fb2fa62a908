//! A gateway with faulty upstreams and a healthy one, in its own folder.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use aquifer_bench::http::Address;
use aquifer_bench::process::Server;
use aquifer_bench::{UNGUARDED, words};
use serde_json::json;

use crate::ask::{Asker, is_success};
use crate::faults::{Fault, Kind, before_long};
use crate::patient::{Patient, Served};
use crate::tally::Held;
use crate::{Plan, marked};

pub(crate) struct Stage<'a> {
    plan: &'a Plan,
    fault: &'a Fault,
    folder: Folder,
    pub(crate) address: Address,
    /// The faulty upstreams, with their URLs if the gateway does not start them.
    places: Mutex<Vec<(String, Option<String>)>>,
    server: Server,
}

/// A temporary folder. Its path is in the arguments of every process started for it.
struct Folder(PathBuf);

impl Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn mark(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the rest stays in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl<'a> Stage<'a> {
    /// Starts a gateway with as many faulty upstreams as the fault needs.
    pub(crate) fn up(plan: &'a Plan, fault: &'a Fault) -> anyhow::Result<(Self, Vec<Patient>)> {
        let path = std::env::temp_dir().join(format!("aquifer-soak-{}-{}", std::process::id(), fault.name));
        fs::create_dir_all(&path)?;
        let folder = Folder(path);
        let (mut places, mut served) = (Vec::new(), Vec::new());
        for place in 1..=fault.side_by_side {
            let server = (fault.kind == Kind::Elsewhere).then(|| Served::start(&plan.script)).transpose()?;
            places.push((format!("ill{place}"), server.as_ref().map(Served::url)));
            served.push(server);
        }
        configure(plan, fault, &folder, &places)?;
        let (program, path) = (plan.aquifer.display().to_string(), folder.file("aquifer.toml").display().to_string());
        let serve = [&program, "serve", "--config", &path, "--http", "127.0.0.1:0", "--mode", "single"];
        let (server, url) = Server::on_http(&words(&serve))?;
        let address = Address::read(&url)?;
        let patient = |((name, _), served): (&(String, _), Option<Served>)| Patient {
            name: name.clone(),
            address: address.clone(),
            asker: Asker::new(&address),
            script: plan.script.clone(),
            variant: folder.file(&format!("variant-{name}")),
            broken: folder.file(&format!("broken-{name}")),
            served,
        };
        let patients = places.iter().zip(served).map(patient).collect();
        let mut asker = Asker::new(&address);
        for name in places.iter().map(|(name, _)| name.as_str()).chain(["well"]) {
            let answered = before_long(|| Ok(is_success(&asker.ask(&format!("{name}_echo"), &json!({}))?)))?;
            ensure!(answered, "{name} is never answered");
        }
        Ok((Self { plan, fault, folder, address, places: Mutex::new(places), server }, patients))
    }

    /// Updates the gateway's configuration with the current URLs of the faulty upstreams.
    pub(crate) fn tell_places(&self, patients: &[&mut Patient]) -> anyhow::Result<()> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, url) in &mut *places {
            let now = patients.iter().find(|patient| patient.name == *name);
            if let Some(served) = now.and_then(|patient| patient.served.as_ref()) {
                *url = Some(served.url());
            }
        }
        configure(self.plan, self.fault, &self.folder, &places)
    }

    /// Measures the gateway's current resources.
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

    /// Stops the gateway. Returns how many of its processes still exist a few seconds later.
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

/// Writes the configuration to a temporary file and renames it, so that a watcher never sees half of it.
fn configure(plan: &Plan, fault: &Fault, folder: &Folder, places: &[(String, Option<String>)]) -> anyhow::Result<()> {
    // JSON strings are valid TOML.
    let started = |name: &str, flags: &[String]| {
        let script = [plan.script.display().to_string(), "--variant-file".to_owned()];
        let variant = folder.file(&format!("variant-{name}")).display().to_string();
        let args: Vec<&String> = script.iter().chain([&variant]).chain(flags).collect();
        format!("command = \"python3\"\nargs = {}\n", json!(args))
    };
    // There is nobody to confirm the upstreams' operations.
    let mut text = format!("{UNGUARDED}\n[state]\ndir = {}\n", json!(folder.file("state")));
    for (name, url) in places {
        let flags = match fault.kind {
            Kind::Plain | Kind::Elsewhere => Vec::new(),
            Kind::Talkative => words(&["--banner"]),
            Kind::Exits => words(&["--exit-while", &folder.file(&format!("broken-{name}")).display().to_string()]),
        };
        let reached = match url {
            Some(url) => format!("url = {}\n", json!(url)),
            None => started(name, &flags),
        };
        text += &format!("\n[[source]]\nname = \"{name}\"\ntimeout_seconds = {}\n{reached}", fault.timeout);
    }
    text += &format!("\n[[source]]\nname = \"well\"\ntimeout_seconds = 60\n{}", started("well", &[]));
    let beside = folder.file("aquifer.toml.new");
    fs::write(&beside, text)?;
    fs::rename(beside, folder.file("aquifer.toml")).context("cannot write the configuration")
}
