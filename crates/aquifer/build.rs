//! Tells the binary what it was built from, for `aquifer --version`: commit, target, profile and features. Compiles the
//! memory functions of builds for musl.
//!
//! The version cannot fail a build. A source archive has no history; then the commit is "unknown" unless the environment
//! variable `AQUIFER_COMMIT` names it. Debug builds do not ask for the commit: they would be compiled again after each.

#![allow(clippy::print_stdout, reason = "build scripts print for cargo")]

use std::env;
use std::path::Path;
use std::process::Command;

include!("src/system/musl/flags.rs");

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    compile_memory_functions();
    println!("cargo:rerun-if-env-changed=AQUIFER_COMMIT");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let named = Some(variable("AQUIFER_COMMIT")).filter(|named| is_plain(named));
    let commit = named.or_else(|| if variable("PROFILE") == "debug" { None } else { commit_of_checkout() });
    println!("cargo:rustc-env=AQUIFER_BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo:rustc-env=AQUIFER_BUILD_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=AQUIFER_BUILD_PROFILE={}", profile(&variable("OUT_DIR"), &variable("PROFILE")));
    println!("cargo:rustc-env=AQUIFER_BUILD_FEATURES={}", features(&variable("CARGO_CFG_FEATURE")));
}

/// Compiles the functions that replace those of musl, which are slow. They are linked as a whole, so that the linker has
/// them before it looks into the library of musl.
fn compile_memory_functions() {
    const SOURCE: &str = "src/system/musl/memory.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    let is = |name: &str, expected: &str| env::var(name).is_ok_and(|value| value == expected);
    if is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        cc::Build::new()
            .file(SOURCE)
            .opt_level(OPTIMIZATION)
            .flags(FLAGS)
            .flag_if_supported(OPTIONAL_FLAG)
            .link_lib_modifier("+whole-archive")
            .compile("aquifer_memory");
    }
}

/// Whether a value can be printed in one line as it is.
fn is_plain(value: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-.+_".contains(character);
    !value.is_empty() && value.len() <= 100 && value.chars().all(allowed)
}

/// The commit of this checkout. A source archive that was unpacked inside another repository has none.
fn commit_of_checkout() -> Option<String> {
    let own = env::var("CARGO_MANIFEST_DIR").ok()?;
    let root = Path::new(&own).ancestors().nth(2)?.canonicalize().ok()?;
    let top = git(&root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&root, &["rev-parse", "--git-path", file]).filter(|path| root.join(path).exists()) {
            println!("cargo:rerun-if-changed={}", root.join(path).display());
        }
    }
    git(&root, &["rev-parse", "HEAD"]).filter(|commit| is_plain(commit))
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The name of the profile, which cargo tells only as part of a path: `PROFILE/build/PACKAGE/out`. `PROFILE` itself is
/// "debug" or "release" for every profile.
fn profile(out: &str, fallback: &str) -> String {
    let folder = Path::new(out).ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"));
    let name = folder.and_then(Path::parent).and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| is_plain(name)).unwrap_or_else(|| fallback.to_owned())
}

/// The features that matter to users, separated by spaces.
fn features(all: &str) -> String {
    let mut names: Vec<&str> = all.split(',').filter(|name| *name != "default" && !name.starts_with("test-")).collect();
    names.sort_unstable();
    names.join(" ")
}
