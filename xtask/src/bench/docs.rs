//! The marked block of docs/performance.md.

use anyhow::{Context, Result};

use super::table::Table;
use crate::step::{output, root};

const BEGIN: &str = "<!-- bench: begin -->\n";
const END: &str = "<!-- bench: end -->";

/// Puts the table into the documentation.
pub(super) fn update(table: &Table) -> Result<()> {
    let path = root().join("docs/performance.md");
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let block = format!("Made by `cargo xtask bench --update-docs` {}.\n\n{table}", circumstances());
    let page = replaced(&page, &block)
        .with_context(|| format!("{} has no block between '{}' and '{END}'", path.display(), BEGIN.trim_end()))?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// What a reader has to know to compare: the kind of machine, and the compiler.
fn circumstances() -> String {
    let cores = std::thread::available_parallelism().map(|cores| cores.to_string()).unwrap_or_else(|_| "?".to_owned());
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        other => other,
    };
    let compiler = output("rustc", &["--version"]).unwrap_or_default();
    let version: String = compiler.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    format!("on a {cores}-core {system} machine with {version}")
}

fn replaced(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{block}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_is_replaced() {
        let page = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(replaced(&page, "new\n"), Some(format!("a\n{BEGIN}new\n{END}\nb\n")));
        assert_eq!(replaced("a page without one", "new\n"), None);
    }
}
