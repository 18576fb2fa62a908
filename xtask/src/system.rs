//! What the machine must have. As root with apt it is installed; anybody else is told what is missing.

use std::process::Command;

use anyhow::{Result, bail};

use crate::step::{announce, output, run};

/// Something the machine must have.
pub(crate) struct Need {
    /// Its name, as people know it.
    pub(crate) name: &'static str,
    /// Whether it is there.
    pub(crate) met: fn() -> bool,
    /// The Debian and Ubuntu packages that bring it.
    pub(crate) packages: &'static [&'static str],
    /// How to get it elsewhere.
    pub(crate) elsewhere: &'static str,
}

/// Makes sure that every need is met.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let missing = unmet(needs);
    if missing.is_empty() {
        return Ok(());
    }
    if may_install() {
        install(&missing)?;
    }
    let missing = unmet(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let mut message = String::from("the tests need what this machine does not have:\n");
    for need in &missing {
        message += &format!("  - {}: {}\n", need.name, need.elsewhere);
    }
    message += &format!("On Debian or Ubuntu: sudo apt-get install {}", packages(&missing).join(" "));
    bail!(message);
}

fn unmet(needs: &[Need]) -> Vec<&Need> {
    needs.iter().filter(|need| !(need.met)()).collect()
}

fn packages(needs: &[&Need]) -> Vec<&'static str> {
    needs.iter().flat_map(|need| need.packages.iter().copied()).collect()
}

pub(crate) fn is_root() -> bool {
    output("id", &["-u"]).as_deref() == Some("0")
}

fn may_install() -> bool {
    is_root() && output("apt-get", &["--version"]).is_some()
}

fn install(missing: &[&Need]) -> Result<()> {
    let packages = packages(missing);
    announce(&format!("install {}", packages.join(" ")));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update", "-q"]), "Check that the package sources can be reached.")?;
    let mut install = apt(&["install", "-q", "-y", "--no-install-recommends"]);
    run(install.args(&packages), "Install them by hand and start again.")
}
