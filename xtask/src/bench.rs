//! `cargo xtask bench`: measures, and prints ratios.

use anyhow::{Result, bail};

pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    bail!("there are no benches yet")
}
