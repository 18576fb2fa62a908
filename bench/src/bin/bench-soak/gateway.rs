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

use crate::client::{GatewayClient, is_success};
use crate::faults::{Fault, Kind, wait_until};
use crate::faulty_upstream::{FaultyUpstream, HttpServer};
use crate::results::Resources;
use crate::{Plan, process_scan};

pub(crate) struct Gateway<'a> {
    plan: &'a Plan,
    fault: &'a Fault,
    folder: Folder,
    pub(crate) address: Address,
    /// The faulty upstreams, with their URLs if the gateway does not start them.
    urls: Mutex<Vec<(String, Option<String>)>>,
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

impl<'a> Gateway<'a> {
    /// Starts a gateway with as many faulty upstreams as the fault needs.
    pub(crate) fn start(plan: &'a Plan, fault: &'a Fault) -> anyhow::Result<(Self, Vec<FaultyUpstream>)> {
        let path = std::env::temp_dir().join(format!("aquifer-soak-{}-{}", std::process::id(), fault.name));
        fs::create_dir_all(&path)?;
        let folder = Folder(path);
        let (mut urls, mut http_servers) = (Vec::new(), Vec::new());
        for index in 1..=fault.concurrency {
            let server = (fault.kind == Kind::MovingHttp).then(|| HttpServer::start(&plan.script)).transpose()?;
            urls.push((format!("ill{index}"), server.as_ref().map(HttpServer::url)));
            http_servers.push(server);
        }
        configure(plan, fault, &folder, &urls)?;
        let (program, path) = (plan.aquifer.display().to_string(), folder.file("aquifer.toml").display().to_string());
        let serve = [&program, "serve", "--config", &path, "--http", "127.0.0.1:0", "--mode", "single"];
        let (server, url) = Server::start_http(&words(&serve))?;
        let address = Address::read(&url)?;
        let upstream = |((name, _), http_server): (&(String, _), Option<HttpServer>)| FaultyUpstream {
            name: name.clone(),
            address: address.clone(),
            client: GatewayClient::new(&address),
            script: plan.script.clone(),
            variant: folder.file(&format!("variant-{name}")),
            broken: folder.file(&format!("broken-{name}")),
            http_server,
        };
        let upstreams = urls.iter().zip(http_servers).map(upstream).collect();
        let mut client = GatewayClient::new(&address);
        for name in urls.iter().map(|(name, _)| name.as_str()).chain(["well"]) {
            let answered = wait_until(|| Ok(is_success(&client.call(&format!("{name}_echo"), &json!({}))?)))?;
            ensure!(answered, "{name} never answers");
        }
        Ok((Self { plan, fault, folder, address, urls: Mutex::new(urls), server }, upstreams))
    }

    /// Updates the gateway's configuration with the current URLs of the faulty upstreams.
    pub(crate) fn update_urls(&self, upstreams: &[&mut FaultyUpstream]) -> anyhow::Result<()> {
        let mut urls = self.urls.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, url) in &mut *urls {
            let now = upstreams.iter().find(|upstream| upstream.name == *name);
            if let Some(http_server) = now.and_then(|upstream| upstream.http_server.as_ref()) {
                *url = Some(http_server.url());
            }
        }
        configure(self.plan, self.fault, &self.folder, &urls)
    }

    /// Measures the gateway's current resources.
    pub(crate) fn resources(&self) -> anyhow::Result<Resources> {
        let own = self.server.id();
        let entries = |folder: &str| anyhow::Ok(fs::read_dir(format!("/proc/{own}/{folder}"))?.count());
        Ok(Resources {
            processes: process_scan::count(&self.folder.mark(), Some(own)),
            descriptors: entries("fd")?,
            threads: entries("task")?,
            resident_kb: self.server.resident_kb()?,
        })
    }

    /// Stops the gateway. Returns how many of its processes still exist a few seconds later.
    pub(crate) fn stop(self) -> anyhow::Result<usize> {
        self.server.stop()?;
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = process_scan::count(&self.folder.mark(), None);
            if left == 0 || Instant::now() > deadline {
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Writes the configuration to a temporary file and renames it, so that a watcher never sees half of it.
fn configure(plan: &Plan, fault: &Fault, folder: &Folder, urls: &[(String, Option<String>)]) -> anyhow::Result<()> {
    // JSON strings are valid TOML.
    let started = |name: &str, flags: &[String]| {
        let script = [plan.script.display().to_string(), "--variant-file".to_owned()];
        let variant = folder.file(&format!("variant-{name}")).display().to_string();
        let args: Vec<&String> = script.iter().chain([&variant]).chain(flags).collect();
        format!("command = \"python3\"\nargs = {}\n", json!(args))
    };
    // There is nobody to confirm the upstreams' operations.
    let mut text = format!("{UNGUARDED}\n[state]\ndir = {}\n", json!(folder.file("state")));
    for (name, url) in urls {
        let flags = match fault.kind {
            Kind::Plain | Kind::MovingHttp => Vec::new(),
            Kind::PrintsBanner => words(&["--banner"]),
            Kind::ExitsAtStart => {
                words(&["--exit-while", &folder.file(&format!("broken-{name}")).display().to_string()])
            }
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
