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

const HEADLINE: (&str, &str) = ("<!-- bench headline: begin -->\n", "<!-- bench headline: end -->");

/// The figures that open docs/performance.md: the beginning of a row, and what it is compared to.
const HEADLINE_ROWS: [(&str, &str); 10] = [
    ("stdio: round trip, p50", "bare echo server"),
    ("HTTP: round trip, p50", "bare echo server"),
    ("gateway, stdio: round trip, p50", "bare echo server"),
    ("gateway, stdio: round trip, p50", "fastmcp"),
    ("gateway, ten upstreams: start to first answer", "fastmcp"),
    ("gateway, ten upstreams: idle memory", "fastmcp"),
    ("GitLab, 201 tools: tokens to connect, find and call", "mcp-compressor"),
    ("SQLite: list 25 of 1,000,000, p50", "SQL by hand"),
    ("PostgreSQL: list 25 of 1,000,000, p50", "SQL by hand"),
    ("PostgreSQL, 16 clients: lists of 25 a second", "postgraphile"),
];

/// Copies the figures that most readers look for to the top of docs/performance.md.
pub(super) fn update_headline() -> Result<()> {
    let path = root().join(ALL.page);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (before, rest) = page.split_once(HEADLINE.0).context("docs/performance.md has no place for the headline")?;
    let (_, after) = rest.split_once(HEADLINE.1).context("the headline of docs/performance.md has no end")?;
    let page = format!("{before}{}{}{}{after}", HEADLINE.0, headline(&page)?, HEADLINE.1);
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn headline(page: &str) -> Result<String> {
    let mut table = "| | Aquifer | compared to | ratio |\n|---|---|---|---|\n".to_owned();
    for (what, compared) in HEADLINE_ROWS {
        let rows = page.lines().filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            Some((cells.next()?, cells.next()?, cells.next()?, cells.next()?))
        });
        let found = rows.rev().find(|row| row.0 == what && row.2.starts_with(compared));
        let (what, ours, other, ratio) = found.with_context(|| format!("no row '{what}' compared to {compared}"))?;
        table.push_str(&format!("| {what} | {ours} | {other} | {ratio} |\n"));
    }
    Ok(table)
}

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
    fn the_headline_is_what_the_tables_have() -> Result<()> {
        let page = std::fs::read_to_string(root().join(ALL.page))?;
        let shown = page.split_once(HEADLINE.0).and_then(|(_, rest)| rest.split_once(HEADLINE.1));
        let shown = shown.context("no headline")?.0;
        assert_eq!(shown, headline(&page)?);
        assert!(headline("a page without rows").is_err());
        Ok(())
    }

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
