//! The marked blocks of docs/performance.md and docs/tokens.md.

use anyhow::{Context, Result};

use crate::step::{output, root};

/// Where a table stands: between these two lines.
pub(super) struct Block {
    page: &'static str,
    begin: &'static str,
    end: &'static str,
    /// What writes it.
    command: &'static str,
}

pub(super) const ALL: Block = Block {
    page: "docs/performance.md",
    begin: "<!-- bench: begin -->\n",
    end: "<!-- bench: end -->",
    command: "cargo xtask bench --update-docs",
};
pub(super) const GATEWAY: Block = Block {
    page: "docs/performance.md",
    begin: "<!-- bench gateway: begin -->\n",
    end: "<!-- bench gateway: end -->",
    command: "cargo xtask bench gateway --update-docs",
};
/// Tokens are the same on every machine: nothing is said of this one.
pub(super) const TOKENS: Block = Block {
    page: "docs/tokens.md",
    begin: "<!-- bench tokens: begin -->\n",
    end: "<!-- bench tokens: end -->",
    command: "cargo xtask bench tokens --update-docs",
};

/// Puts a table into the documentation.
pub(super) fn update(table: &str, block: &Block) -> Result<()> {
    let path = root().join(block.page);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let circumstances = if block.page == TOKENS.page { String::new() } else { format!(" {}", circumstances()) };
    let text = format!("Made by `{}`{circumstances}.\n\n{table}", block.command);
    let page = replaced(&page, block, &text).with_context(|| {
        format!("{} has no block between '{}' and '{}'", path.display(), block.begin.trim_end(), block.end)
    })?;
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

fn replaced(page: &str, block: &Block, text: &str) -> Option<String> {
    let Block { begin, end, .. } = block;
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_is_replaced() {
        let page = |first: &str, second: &str| {
            format!("a\n{}{first}{}\nb\n{}{second}{}\nc\n", ALL.begin, ALL.end, GATEWAY.begin, GATEWAY.end)
        };
        let before = page("old\n", "older\n");
        assert_eq!(replaced(&before, &ALL, "new\n"), Some(page("new\n", "older\n")));
        assert_eq!(replaced(&before, &GATEWAY, "new\n"), Some(page("old\n", "new\n")));
        assert_eq!(replaced("a page without one", &ALL, "new\n"), None);
    }
}
