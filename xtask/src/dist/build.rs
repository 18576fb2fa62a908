//! Builds the binaries that are packed: static, stripped, and the same on every machine with the same compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::platform::Platform;
use super::release::Release;
use crate::install::{Requirement, ensure as ensure_installed};
use crate::step::{announce, cargo, output, root, run, target};
use crate::test::ALL_TESTS;

const MUSL: Requirement = Requirement {
    name: "musl-gcc, which compiles C for static binaries",
    is_met: || output("musl-gcc", &["--version"]).is_some(),
    packages: &["musl-tools"],
    hint: "your system's packages; on Alpine Linux, gcc itself",
};

/// Compilers that produce static binaries for the other processor. Debian has none of them.
const ARM64_COMPILERS: [&str; 2] = ["aarch64-linux-musl-gcc", "aarch64-unknown-linux-musl-gcc"];

/// Builds for all platforms that this machine can build for, and reports those that are left out.
pub(crate) fn release_binaries(release: &Release) -> Result<Vec<PathBuf>> {
    ensure_installed(&[MUSL])?;
    let host = Platform::host()?;
    let mut binaries = vec![build(release, host, "musl-gcc")?];
    if host == Platform::LinuxX64 {
        match ARM64_COMPILERS.iter().find(|name| output(name, &["--version"]).is_some()) {
            Some(compiler) => binaries.push(build(release, Platform::LinuxArm64, compiler)?),
            None => announce(&format!(
                "LEFT OUT: packages for ARM64. They need one of these compilers on the path: {}",
                ARM64_COMPILERS.join(", ")
            )),
        }
    }
    Ok(binaries)
}

fn build(release: &Release, platform: Platform, compiler: &str) -> Result<PathBuf> {
    let triple = platform.triple();
    let installed = output("rustup", &["target", "list", "--installed"]);
    if installed.is_some_and(|installed| !installed.lines().any(|line| line == triple)) {
        announce(&format!("add the target {triple} to the compiler"));
        let mut rustup = Command::new("rustup");
        run(rustup.args(["target", "add", triple]), "Check that static.rust-lang.org can be reached.")?;
    }
    announce(&format!("build for {triple} with the dist profile (this takes a while)"));
    let mut build = cargo(&["build", "--locked", "--profile", "dist", "--target", triple, "--package", "aquifer"]);
    let variable = |prefix: &str| format!("{prefix}_{}", triple.replace('-', "_"));
    build.env(variable("CC"), compiler).env(variable("CFLAGS"), file_prefix_maps()?);
    build.env(format!("{}_LINKER", variable("CARGO_TARGET").to_uppercase()), compiler);
    build.env(format!("{}_RUSTFLAGS", variable("CARGO_TARGET").to_uppercase()), path_prefix_maps()?);
    build.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("AQUIFER_COMMIT", &release.commit);
    run(&mut build, "The build must succeed before anything can be packed.")?;
    Ok(target().join(triple).join("dist/aquifer"))
}

/// The paths of this machine, and what replaces them in the binary.
fn prefixes() -> Result<[(PathBuf, &'static str); 2]> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("there is no home directory")?;
    Ok([(home, "/cargo"), (root(), "/aquifer")])
}

fn path_prefix_maps() -> Result<String> {
    let flags = prefixes()?.map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    Ok(flags.join(" "))
}

fn file_prefix_maps() -> Result<String> {
    let flags = prefixes()?.map(|(path, name)| format!("-ffile-prefix-map={}={name}", path.display()));
    Ok(flags.join(" "))
}

/// The debug binary of this machine, without symbols so that it packs quickly.
pub(crate) fn debug_binary(work: &Path) -> Result<PathBuf> {
    announce("QUICK: pack the debug binary of this machine, to test the packages; hand none of them out");
    // The same build as for the tests, so that nothing is built twice.
    let mut build = cargo(&["build", "--bin", "aquifer"]);
    run(build.args(ALL_TESTS), "The build must succeed before anything can be packed.")?;
    stripped(&target().join("debug/aquifer"), work)
}

/// A copy of a binary without symbols.
pub(crate) fn stripped(binary: &Path, work: &Path) -> Result<PathBuf> {
    ensure!(binary.is_file(), "there is no file {}", binary.display());
    let copy = work.join("aquifer");
    let mut strip = Command::new("strip");
    run(strip.arg("-o").arg(&copy).arg(binary), "Install binutils.")?;
    Ok(copy)
}
