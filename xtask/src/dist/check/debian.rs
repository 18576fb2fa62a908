//! The Debian package, in a minimal Debian of its own: installed, configured, upgraded, removed and purged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::agent::Agent;
use super::listing::Listing;
use super::process::{Environment, bounded, measured, run, word};
use super::{Measurement, Subject};
use crate::dist::home;
use crate::dist::package::Kind;
use crate::install::{Requirement, ensure as ensure_installed};
use crate::step::{announce, output};

const MMDEBSTRAP: Requirement = Requirement {
    name: "mmdebstrap, which creates a minimal Debian",
    is_met: || output("mmdebstrap", &["--version"]).is_some(),
    packages: &["mmdebstrap"],
    hint: "available on Debian and Ubuntu",
};
const CONFIGURATION: &str = "etc/aquifer/aquifer.toml";
/// The records of dpkg itself.
const IGNORED: [&str; 3] = ["/var/lib/dpkg", "/var/log", "/var/cache"];

pub(super) fn check(subject: &Subject, agent: &Agent) -> Result<Measurement> {
    ensure_installed(&[MMDEBSTRAP])?;
    let environment = Environment::new(subject.work("debian"))?;
    let root = environment.path("root");
    fs::create_dir(&root)?;
    run(bounded("tar", &environment)
        .args(["-x", "--numeric-owner", "-f"])
        .arg(minimal_system(&environment)?)
        .arg("-C")
        .arg(&root))?;
    let file = subject.host_package(Kind::Debian)?;
    run(bounded("dpkg-deb", &environment).arg("--info").arg(&file))?;
    fs::copy(&file, root.join("tmp/aquifer.deb"))?;
    let inside = |program: &str, arguments: &[&str]| {
        let mut command = bounded("chroot", &environment);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("TMPDIR", "/tmp");
        command.env("XDG_STATE_HOME", "/tmp/state").env("DEBIAN_FRONTEND", "noninteractive");
        command.arg(&root).arg(program).args(arguments);
        command
    };
    let before = Listing::read(&root, &IGNORED)?;
    let (_, install) = measured(|| run(&mut inside("dpkg", &["--install", "/tmp/aquifer.deb"])))?;
    run(&mut inside("dpkg", &["--verify", "aquifer"]))?;

    let aquifer = ["chroot".to_owned(), word(&root), "/usr/bin/env".to_owned(), "-i".to_owned()];
    let aquifer = super::process::words(&aquifer, ["HOME=/tmp", "/usr/bin/aquifer"]);
    let answer = agent.query(&aquifer, &environment, &root.join("tmp/shop.db"), "/tmp/shop.db")?;
    agent.use_demo(&aquifer, &environment, &subject.parts.release)?;
    run(&mut inside("aquifer", &["validate", "--offline", &format!("/{CONFIGURATION}")]))?;

    // An upgrade keeps the changed configuration.
    let configuration = root.join(CONFIGURATION);
    let changed = fs::read_to_string(&configuration)? + "\n# changed by the administrator\n";
    fs::write(&configuration, &changed)?;
    run(&mut inside("dpkg", &["--install", "--force-confold", "/tmp/aquifer.deb"]))?;
    ensure!(fs::read_to_string(&configuration)? == changed, "an upgrade replaces the changed configuration");
    // What the service leaves behind when it ran.
    fs::create_dir_all(root.join("var/lib/private/aquifer/audit"))?;
    std::os::unix::fs::symlink("private/aquifer", root.join("var/lib/aquifer"))?;
    fs::write(root.join("etc/aquifer/aquifer.env"), "SECRET=x\n")?;
    run(&mut inside("dpkg", &["--remove", "aquifer"]))?;
    ensure!(configuration.exists(), "removing deletes the configuration");
    ensure!(!root.join("usr/bin/aquifer").exists(), "removing keeps the binary");
    run(&mut inside("dpkg", &["--purge", "aquifer"]))?;

    fs::remove_dir(root.join("var/lib/private")).context("the state directory of the service is left")?;
    fs::remove_dir_all(root.join("tmp/.local"))?;
    let now = Listing::read(&root, &IGNORED)?;
    before.expect_same(&now)?;
    fs::remove_dir_all(&root)?;
    Ok(Measurement { kind: Kind::Debian, install, answer })
}

/// A minimal Debian in an archive, created once.
fn minimal_system(environment: &Environment) -> Result<PathBuf> {
    let suite = suite();
    let archive = home().join(format!("debian-{suite}.tar"));
    if archive.exists() {
        return Ok(archive);
    }
    announce(&format!("create a minimal Debian {suite} (once)"));
    let unfinished = archive.with_extension("part.tar");
    let mut create = bounded("mmdebstrap", environment);
    // Without a proxy of the environment, nothing could be downloaded on some machines.
    for name in ["http_proxy", "https_proxy", "no_proxy"] {
        create.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    create.args(["--variant=essential", &suite]).arg(&unfinished);
    if Path::new("/etc/apt/sources.list.d/debian.sources").exists() && suite == codename().unwrap_or_default() {
        create.arg("/etc/apt/sources.list.d/debian.sources");
    }
    run(&mut create).context("a minimal Debian cannot be created; check that its package sources can be reached")?;
    fs::rename(&unfinished, &archive)?;
    Ok(archive)
}

/// The release of this Debian, because a debug binary needs its C library; elsewhere, a current one.
fn suite() -> String {
    codename().unwrap_or_else(|| "bookworm".to_owned())
}

fn codename() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    (value("ID")? == "debian")
        .then(|| value("VERSION_CODENAME").map(|name| name.trim_matches('"').to_owned()))
        .flatten()
}
