//! `cargo xtask bench [PART…] [--update-docs]`: builds and installs the measured programs, and runs `aquifer-bench` to
//! measure them.
//!
//! Times and memory are noisy, so servers take turns in short blocks and the tables show ratios. Instruction counts are
//! not noisy: they show the effect of a change. Nothing here fails because it is slow.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::dist;
use crate::install;
use crate::postgres;
use crate::step::{announce, build, output, root, run as run_step, target};

const PARTS: [&str; 11] =
    ["stdio", "http", "count", "memory", "explorer", "sql", "peers", "gateway", "rest", "descriptions", "tokens"];

/// Measured only by name, because it needs packages.
const PACKAGED: &str = "packaged";

pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench [PART...] [--update-docs|--quick]

Parts (all but the last by default):
  stdio     round trips over stdio, compared with a bare echo server on the same SDK
  http      the same over HTTP
  count     instruction counts: the engine, catalogs of 10 to 10,000 operations, a call in the server (needs valgrind)
  memory    idle memory and start-up time
  explorer  the explorer: what a browser loads, first paint, memory, calls beside it (needs valgrind, Node.js and Chromium)
  sql       databases through the engine, compared with the same SQL by hand; memory with large pages (needs PostgreSQL and valgrind)
  peers     databases over HTTP, compared with PostGraphile and Datasette (needs PostgreSQL, Node.js and Python)
  gateway   upstreams through the gateway, compared with the bare upstream, mcp-compressor, FastMCP and mcp-proxy; tokens
            (needs Node.js and Python)
  rest      HTTP APIs through the engine, compared with the bare HTTP client; GitHub's description, compared with FastMCP and
            openapi-mcp-generator (needs Node.js and Python)
  descriptions  a survey of descriptions from npm: what is read, what is left out and why, time, memory (needs Node.js)
  tokens    token costs of captured servers and the sample shop (needs nothing, not even a network)
  packaged  the static binary of the packages, compared with a release build (needs cargo xtask dist)

  --update-docs   write the figures to bench/figures, and the tables into the pages of docs
  --quick         repeat everything only a few times, with a debug build, to test the programs; the figures are meaningless";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (options, mut parts): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    if !matches!(options.as_slice(), [] | ["--update-docs" | "--quick"]) {
        bail!("unknown option '{}'.\n\n{USAGE}", options.join(" "));
    }
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part) && **part != PACKAGED) {
        bail!("unknown part '{unknown}'.\n\n{USAGE}");
    }
    if parts.is_empty() {
        parts.extend(PARTS);
    }
    let needs = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(part));
    if needs(&["count", "explorer", "sql"]) && output("valgrind", &["--version"]).is_none() {
        bail!(
            "instruction counts need valgrind: install it, or measure the rest: cargo xtask bench stdio http memory peers"
        );
    }
    let (pins, home) = (root().join("bench/peers"), target().join("bench-peers"));
    let python = |peer: &str| {
        install::python(&pins.join(format!("requirements{peer}.txt")), &home.join(format!("python{peer}")))
    };
    let mut node = None;
    if needs(&["explorer", "peers", "gateway", "rest", "descriptions"]) {
        install::check_interpreters()?;
        node = Some(install::node()?);
    }
    if needs(&["peers"]) {
        install::npm(&pins, &home.join("npm"))?;
        python("")?;
    }
    if needs(&["gateway"]) {
        install::npm(&pins.join("captured"), &home.join("captured"))?;
        ["-compressor", "-fastmcp", "-mcp-proxy"].into_iter().try_for_each(|peer| python(peer).map(drop))?;
    }
    if needs(&["rest", "descriptions"]) {
        install::npm(&pins.join("descriptions"), &home.join("descriptions"))?;
    }
    if needs(&["rest"]) {
        install::npm(&pins.join("generator"), &home.join("generator"))?;
        python("-fastmcp")?;
    }
    if needs(&["descriptions"]) {
        install::npm(&root().join("tests/descriptions"), &target().join("descriptions/npm"))?;
    }
    // Tokens are the same in every build.
    let is_release = parts != ["tokens"] && options != ["--quick"];
    let mut bench = build(is_release)?.bench("aquifer-bench");
    if needs(&["explorer"]) {
        bench.envs(install::browser()?);
    }
    if needs(&[PACKAGED]) {
        bench.env("AQUIFER_BENCH_PACKAGED", packaged(is_release)?);
    }
    let postgres = needs(&["sql", "peers"]).then(postgres::provide).transpose()?;
    bench.envs(postgres.as_ref().and_then(|server| server.environment()));
    bench.env("AQUIFER_BENCH_HOME", target()).envs(node.map(|node| ("AQUIFER_BENCH_NODE", node)));
    announce(&format!("measure {}", parts.join(", ")));
    run_step(bench.args(options).args(parts), "The problems are listed above.")
}

/// The binary of the packages. A quick test takes the debug build.
fn packaged(is_release: bool) -> Result<PathBuf> {
    if is_release { dist::host_binary() } else { Ok(target().join("debug/aquifer")) }
}
