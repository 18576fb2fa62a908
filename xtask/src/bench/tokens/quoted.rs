//! What others take. It cannot be measured without installing them, so it is quoted: each figure with when and how it was
//! measured, of which version.

use std::fmt::Write as _;

use anyhow::Result;

/// A figure of docs/performance.md, whose command measures it anew.
struct Measured {
    what: &'static str,
    server: &'static str,
    connect: &'static str,
    task: &'static str,
}

/// Measured by `cargo xtask bench gateway` on 2026-11-16, at the versions pinned in bench/peers.
const MEASURED: [Measured; 16] = [
    Measured {
        what: "every tool, as mcp-proxy 0.13.0 (PyPI) passes them on",
        server: "GitHub, 26 tools",
        connect: "3,548",
        task: "",
    },
    Measured { what: "mcp-compressor 0.38.2 (max)", server: "GitHub, 26 tools", connect: "460", task: "794 (6 of 6)" },
    Measured { what: "FastMCP 4.1.2 (search)", server: "GitHub, 26 tools", connect: "171", task: "1,196 (5 of 6)" },
    Measured { what: "Aquifer, single", server: "GitHub, 26 tools", connect: "132", task: "681 (6 of 6)" },
    Measured { what: "every tool", server: "Notion, 24 tools", connect: "17,163", task: "" },
    Measured {
        what: "mcp-compressor 0.38.2 (max)",
        server: "Notion, 24 tools",
        connect: "480",
        task: "1,810 (6 of 6)",
    },
    Measured { what: "FastMCP 4.1.2 (search)", server: "Notion, 24 tools", connect: "171", task: "1,373 (5 of 6)" },
    Measured { what: "Aquifer, single", server: "Notion, 24 tools", connect: "137", task: "628 (6 of 6)" },
    Measured { what: "every tool", server: "GitLab, 201 tools", connect: "50,468", task: "" },
    Measured {
        what: "mcp-compressor 0.38.2 (max)",
        server: "GitLab, 201 tools",
        connect: "2,364",
        task: "2,622 (6 of 6)",
    },
    Measured { what: "FastMCP 4.1.2 (search)", server: "GitLab, 201 tools", connect: "171", task: "2,164 (4 of 6)" },
    Measured { what: "Aquifer, single", server: "GitLab, 201 tools", connect: "132", task: "836 (6 of 6)" },
    Measured { what: "every tool", server: "Azure, 235 tools", connect: "112,766", task: "" },
    Measured {
        what: "mcp-compressor 0.38.2 (max)",
        server: "Azure, 235 tools",
        connect: "3,012",
        task: "3,778 (6 of 6)",
    },
    Measured { what: "FastMCP 4.1.2 (search)", server: "Azure, 235 tools", connect: "171", task: "3,609 (6 of 6)" },
    Measured { what: "Aquifer, single", server: "Azure, 235 tools", connect: "132", task: "1,206 (6 of 6)" },
];

/// Measured by hand in November 2026, before there was a command for it; versions were not written down.
const BY_HAND: [(&str, &str, &str); 4] = [
    ("FastMCP (search, code mode)", "171", "908 to 3,097"),
    ("mcp-compressor, its levels and servers", "464 to 28,266", ""),
    ("mcp-proxy (Rust crate)", "883", ""),
    ("lazy-mcp (GitLab)", "423", "24,392 on a server of 201 tools"),
];

/// Writes the tables.
pub(super) fn all(out: &mut String) -> Result<()> {
    writeln!(out, "### Others, quoted\n")?;
    writeln!(
        out,
        "Not recomputed here: tokens of `o200k_base`, measured on 2026-11-16 by `cargo xtask bench gateway`, which installs the \
         peers at the versions pinned in `bench/peers` ([performance.md](performance.md) has the run). In brackets, how many \
         of six tasks the search found; the median is of those.\n"
    )?;
    writeln!(out, "| server | with | at connect | connect, find and call |")?;
    writeln!(out, "|---|---|---:|---:|")?;
    for Measured { what, server, connect, task } in MEASURED {
        let own = what.starts_with("Aquifer");
        let bold = |text: &str| if own { format!("**{text}**") } else { text.to_owned() };
        writeln!(
            out,
            "| {server} | {what} | {} | {} |",
            bold(connect),
            if task.is_empty() { String::new() } else { bold(task) }
        )?;
    }
    writeln!(
        out,
        "\nMeasured by hand in November 2026, versions not written down; no command of ours makes these again:\n"
    )?;
    writeln!(out, "| with | at connect | to finish one call |")?;
    writeln!(out, "|---|---:|---:|")?;
    for (what, connect, task) in BY_HAND {
        writeln!(out, "| {what} | {connect} | {task} |")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is quoted is what the page says that is quoted from.
    #[test]
    fn quotations_are_true() -> Result<()> {
        let page = std::fs::read_to_string(crate::step::root().join("docs/performance.md"))?;
        for Measured { server, connect, task, .. } in MEASURED {
            let total = task.split(' ').next().unwrap_or_default();
            let has = |what: &str, figure: &str| {
                page.lines()
                    .any(|line| line.starts_with(&format!("| {server}: tokens {what}")) && line.contains(figure))
            };
            assert!(has("at connect", connect), "{server}: {connect} at connect is not what docs/performance.md says");
            let told = total.is_empty() || has("to connect, find and call", total);
            assert!(told, "{server}: {total} is not what docs/performance.md says");
        }
        Ok(())
    }
}
