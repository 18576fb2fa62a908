//! `cargo xtask docs-site [DIR]`: writes the documentation as a folder of files. `cargo xtask commands`: updates the page
//! about commands.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use aquifer_docs::{LinkStyle, Site};

use crate::step::{self, announce, cargo, root};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask docs-site [DIR]

Writes the documentation as HTML files, by default to target/docs-site. They link to each other by relative paths, so they
work on any web server and, except for the search, without one. 'aquifer serve --http' serves the same pages at /docs.";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let folder = match arguments {
        [] => root().join("target/docs-site"),
        [folder] => PathBuf::from(folder),
        _ => bail!("one folder is enough\n\n{USAGE}"),
    };
    let count = write(&folder)?;
    announce(&format!("{count} files in {}; begin with index.html", folder.display()));
    Ok(())
}

fn write(folder: &Path) -> Result<usize> {
    let site = Site::render(LinkStyle::Static);
    for (path, file) in site.files() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        std::fs::write(&path, &file.body).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(site.files().count())
}

/// Writes docs/commands.md. The definitions are in the binary, so one of its tests does it.
pub(crate) fn update_commands() -> Result<()> {
    let mut test = cargo(&["test", "--workspace", "--bin", "aquifer"]);
    // The same build as for the tests, so that nothing is built twice.
    test.arg("cli::reference::").env("AQUIFER_UPDATE_COMMANDS", "1");
    announce("docs/commands.md, from the definitions of the command line");
    step::run(&mut test, "The output above shows why the page cannot be written.")
}
