//! Zig, from PyPI, compiles C for other systems. It has the headers of their C libraries, so neither a cross compiler nor
//! an SDK is needed.

use std::path::PathBuf;

use anyhow::Result;

use crate::install;
use crate::step::{root, target};

/// The C compiler.
pub(crate) fn compiler() -> PathBuf {
    folder().join("cc.sh")
}

/// Installs Zig. Returns the environment variables with which build scripts compile C for a target of Rust, which has
/// another name in Zig.
pub(crate) fn environment(triple: &str, zig_target: &str) -> Result<Vec<(String, PathBuf)>> {
    install::check_interpreters()?;
    let python = install::python(&folder().join("requirements.txt"), &target().join("dist/zig"))?;
    let name = triple.replace('-', "_");
    let mut variables = vec![
        ("PYTHON_WITH_ZIG".to_owned(), python),
        ("ZIG_TARGET".to_owned(), zig_target.into()),
        (format!("CC_{name}"), compiler()),
        (format!("AR_{name}"), folder().join("ar.sh")),
    ];
    if triple.contains("-apple-") {
        // Build scripts ask Xcode for it otherwise. The compiler ignores it.
        variables.push(("SDKROOT".to_owned(), folder()));
    }
    Ok(variables)
}

fn folder() -> PathBuf {
    root().join("packaging/build")
}
