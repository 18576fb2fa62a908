//! What `cargo xtask test --long` does after the tests: checks that take too long for every push.

use anyhow::Result;

use crate::agentdojo;
use crate::check_dependencies;
use crate::dist;
use crate::fuzz;
use crate::slim_build;
use crate::soak;
use crate::step::announce;
use crate::tau2;

/// Environment variables that make tests more thorough: cases of each property where a test does not say how many it
/// needs, all settings of attacks, and the assertions of debug builds.
pub(super) const SETTINGS: [(&str, &str); 3] =
    [("PROPTEST_CASES", "2048"), ("AQUIFER_TEST_LONG", "1"), ("CARGO_PROFILE_TEST_DEBUG_ASSERTIONS", "true")];

/// Rounds of each fault of upstreams, and minutes at most.
const SOAK: [&str; 5] = ["--debug", "--rounds", "50", "--minutes", "10"];

pub(super) fn run() -> Result<()> {
    slim_build::check_all()?;
    check_dependencies::run(&[])?;
    if cfg!(target_os = "linux") {
        dist::run(&["--check", "--quick"].map(str::to_owned))?;
        soak::run(&SOAK.map(str::to_owned))?;
    } else {
        announce("NOT CHECKED: packages are made, and faults are tried, on Linux");
    }
    tau2::run(&[])?;
    agentdojo::run(&[])?;
    if fuzz::is_available() {
        fuzz::run(&[])?;
    } else {
        announce("NOT CHECKED: fuzzing needs a nightly toolchain. Install one with: rustup toolchain install nightly");
    }
    announce("the long run passed");
    Ok(())
}
