//! Builds the binaries that are packed: static, stripped, and the same on every machine with the same compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::platform::{Linkage, Platform};
use super::release::Release;
use crate::install::{Requirement, ensure as ensure_installed};
use crate::step::{self, announce, cargo, output, root, run, target};
use crate::zig;

const MUSL: Requirement = Requirement {
    name: "musl-gcc, which compiles C for static binaries",
    is_met: || output("musl-gcc", &["--version"]).is_some(),
    packages: &["musl-tools"],
    hint: "your system's packages; on Alpine Linux, gcc itself",
};

/// The programs that build C code and link for a platform.
struct Toolchain {
    platform: Platform,
    compiler: PathBuf,
    /// Instead of the one that rustc chooses.
    linker: Option<PathBuf>,
    /// Further environment variables.
    variables: Vec<(String, PathBuf)>,
}

impl Toolchain {
    fn native() -> Result<Self> {
        ensure_installed(&[MUSL])?;
        // It compiles, but does not link: it makes dynamic executables of what should be static ones.
        let compiler = PathBuf::from("musl-gcc");
        Ok(Self { platform: Platform::host()?, compiler, linker: None, variables: Vec::new() })
    }

    /// Zig compiles C for ARM64, and the linker of the Rust toolchain links. Debian has no compiler for musl on other
    /// processors.
    fn arm64() -> Result<Self> {
        let platform = Platform::LinuxArm64;
        let variables = zig::environment(platform.triple(), "aarch64-linux-musl")?;
        Ok(Self { platform, compiler: zig::compiler(), linker: Some("rust-lld".into()), variables })
    }
}

/// Builds for all platforms that this machine can build for, and reports those that are left out.
pub(crate) fn release_binaries(release: &Release) -> Result<Vec<PathBuf>> {
    let native = Toolchain::native()?;
    let mut binaries = vec![build(release, &native)?];
    if native.platform == Platform::LinuxX64 {
        match Toolchain::arm64() {
            Ok(toolchain) => binaries.push(build(release, &toolchain)?),
            Err(problem) => {
                announce(&format!("LEFT OUT: packages for ARM64, because there is no compiler: {problem:#}"))
            }
        }
    } else {
        announce("LEFT OUT: packages for x86-64; make them on such a machine");
    }
    Ok(binaries)
}

fn build(release: &Release, toolchain: &Toolchain) -> Result<PathBuf> {
    let triple = toolchain.platform.triple();
    let installed = output("rustup", &["target", "list", "--installed"]);
    if installed.is_some_and(|installed| !installed.lines().any(|line| line == triple)) {
        announce(&format!("add the target {triple} to the compiler"));
        let mut rustup = Command::new("rustup");
        run(rustup.args(["target", "add", triple]), "Check that static.rust-lang.org can be reached.")?;
    }
    announce(&format!("build for {triple} (this takes a while)"));
    let mut build = cargo(&["rustc", "--locked", "--release", "--target", triple]);
    // Cargo ignores `strip` of the profile for a package with an `opt-level` of its own.
    build.args(["--package", "aquifer", "--bin", "aquifer", "--", "-C", "strip=symbols"]);
    let name = triple.replace('-', "_");
    let of_cargo = |setting: &str| format!("CARGO_TARGET_{}_{setting}", name.to_uppercase());
    build.env(format!("CC_{name}"), &toolchain.compiler).env(format!("CFLAGS_{name}"), file_prefix_maps()?);
    build.env(of_cargo("RUSTFLAGS"), path_prefix_maps()?);
    build.envs(toolchain.linker.as_ref().map(|linker| (of_cargo("LINKER"), linker)));
    build.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("AQUIFER_COMMIT", &release.commit);
    // It would replace the flags above.
    build.env_remove("RUSTFLAGS").envs(toolchain.variables.iter().cloned());
    run(&mut build, "The build must succeed before anything can be packed.")?;
    let binary = binary(toolchain.platform);
    let (platform, linkage) = Platform::of_binary(&fs::read(&binary).context("there is no binary")?)?;
    ensure!(
        (platform, linkage) == (toolchain.platform, Linkage::Static),
        "{} is {platform:?}, {linkage:?}; it should be {:?} and static",
        binary.display(),
        toolchain.platform
    );
    Ok(binary)
}

/// The binary for a platform, once it is built.
pub(crate) fn binary(platform: Platform) -> PathBuf {
    target().join(platform.triple()).join("release/aquifer")
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
    step::build_aquifer()?;
    stripped(&step::aquifer(), work)
}

/// A copy of a binary without symbols.
pub(crate) fn stripped(binary: &Path, work: &Path) -> Result<PathBuf> {
    ensure!(binary.is_file(), "there is no file {}", binary.display());
    let copy = work.join("aquifer");
    let mut strip = Command::new("strip");
    run(strip.arg("-o").arg(&copy).arg(binary), "Install binutils.")?;
    Ok(copy)
}
