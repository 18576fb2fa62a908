//! The folder from which a container image is built: the container file, the binaries and the configuration.

use anyhow::Result;

use super::{Parts, text};
use crate::dist::archive::Tree;

/// The files of the folder, for all platforms.
pub(crate) fn context(all: &[Parts]) -> Result<Tree> {
    let mut tree = Tree::default();
    for file in ["Containerfile", "compose.yaml", "aquifer.toml", "shop.toml", "shop.sql"] {
        tree.add_file(file, 0o644, text(&format!("packaging/container/{file}"))?.into_bytes())?;
    }
    tree.add_file("secrets.sh", 0o755, text("packaging/container/secrets.sh")?.into_bytes())?;
    for parts in all {
        tree.add_file(&format!("{}/aquifer", parts.platform.debian()), 0o755, parts.binary.clone())?;
    }
    Ok(tree)
}
