//! The archive for everybody else: unpacked into `/usr/local` or `~/.local`, everything is where programs look for it.

use anyhow::Result;

use super::{Kind, Package, Parts, text};
use crate::dist::archive::{gzip, tar};

pub(super) fn pack(parts: &Parts) -> Result<Package> {
    let mut tree = parts.usr(false)?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        tree.add_file(&format!("share/doc/aquifer/{file}"), 0o644, text(file)?.into_bytes())?;
    }
    for file in ["aquifer.service", "aquifer.toml"] {
        let bytes = text(&format!("packaging/debian/{file}"))?.into_bytes();
        tree.add_file(&format!("share/doc/aquifer/examples/{file}"), 0o644, bytes)?;
    }
    let name = format!("aquifer-{}-{}-linux", parts.release.version, parts.platform.python());
    let (installed_size, tree) = (tree.size(), tree.below(&name)?);
    let bytes = gzip(&tar(&tree, parts.format())?, parts.format())?;
    Ok(Package { kind: Kind::Tarball, file: format!("{name}.tar.gz"), bytes, installed_size })
}
