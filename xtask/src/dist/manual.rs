//! Manual pages, from docs/commands.md. That page is written from the definitions of the command line, and a test
//! compares the two, so the manual pages show the same as `--help`.

use anyhow::{Context, Result};

use super::calendar;
use super::release::Release;

/// A part of the Markdown page.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    /// Its level and text.
    Heading(usize, String),
    Paragraph(String),
    Code(Vec<String>),
    /// Two columns, without the titles.
    Table(Vec<(String, String)>),
}

/// The manual pages by their file names: one for the program, one for each command.
pub(crate) fn pages(commands: &str, release: &Release) -> Result<Vec<(String, String)>> {
    let blocks = parse(commands);
    let starts_page = |block: &Block| matches!(block, Block::Heading(2, text) if text.starts_with("aquifer "));
    let first = blocks.iter().position(starts_page).context("docs/commands.md describes no command")?;
    let (general, commands) = blocks.split_at(first);
    let mut pages = vec![("aquifer.1".to_owned(), program_page(general, release))];
    for command in commands.chunk_by(|_, next| !starts_page(next)) {
        let [Block::Heading(_, name), Block::Paragraph(about), Block::Code(usage), rest @ ..] = command else {
            anyhow::bail!("docs/commands.md has a command without description or usage");
        };
        let name = name.replace(' ', "-");
        let mut page = head(&name, about.trim_end_matches('.'), release);
        page += &synopsis(usage);
        page += ".SH OPTIONS\n";
        page += &body(rest);
        page += ".SH SEE ALSO\n.BR aquifer (1)\n";
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}

fn program_page(general: &[Block], release: &Release) -> String {
    let mut page = head("aquifer", "MCP servers, HTTP APIs and databases behind MCP-AQL", release);
    page += &synopsis(&["aquifer COMMAND [OPTIONS]".to_owned()]);
    page += ".SH COMMANDS\n";
    let shown = general.iter().position(|block| matches!(block, Block::Table(_))).unwrap_or_default();
    page += &body(general.get(shown..).unwrap_or_default());
    page += ".SH FILES\n.TP\n.I aquifer.toml\nThe configuration, in the current directory unless it is named.\n";
    page += ".TP\n.I ~/.local/state/aquifer\nThe state directory: audit log, approvals, logins.\n";
    page += ".SH SEE ALSO\nEvery command has a page of its own, for example\n.BR aquifer-serve (1).\n";
    page
}

fn head(name: &str, about: &str, release: &Release) -> String {
    let (title, day) = (name.to_uppercase(), calendar::day(release.time));
    format!(
        ".TH \"{title}\" 1 \"{day}\" \"aquifer {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
        release.version,
        inline(name),
        inline(about)
    )
}

fn synopsis(usage: &[String]) -> String {
    let lines: String = usage.iter().map(|line| format!("{}\n.br\n", inline(line))).collect();
    format!(".SH SYNOPSIS\n{}", lines.trim_end_matches(".br\n"))
}

fn body(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Heading(_, text) => out += &format!(".SH {}\n", inline(&text.to_uppercase())),
            Block::Paragraph(text) => out += &format!(".PP\n{}\n", inline(text)),
            Block::Code(lines) => {
                let lines: String = lines.iter().map(|line| format!("{}\n", literal(line))).collect();
                out += &format!(".PP\n.RS 4\n.nf\n{lines}.fi\n.RE\n");
            }
            Block::Table(rows) => {
                for (name, meaning) in rows {
                    out += &format!(".TP\n{}\n{}\n", inline(name), inline(meaning));
                }
            }
        }
    }
    out
}

fn parse(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            blocks.push(Block::Code(
                lines.by_ref().take_while(|line| !line.starts_with("```")).map(str::to_owned).collect(),
            ));
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#');
            blocks.push(Block::Heading(line.len() - text.len(), text.trim().to_owned()));
        } else if line.starts_with('|') {
            let mut rows = Vec::new();
            // This line has the titles, and the next one is the rule below them.
            lines.next();
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.extend(cells(row));
            }
            blocks.push(Block::Table(rows));
        } else if !line.is_empty() && !line.starts_with("<!--") {
            blocks.push(Block::Paragraph(line.to_owned()));
        }
    }
    blocks
}

/// The two cells of a row. `\|` is no border.
fn cells(row: &str) -> Option<(String, String)> {
    let hidden = row.replace("\\|", "\u{0}");
    let mut cells = hidden.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
    Some((cells.next()?, cells.next()?))
}

/// Text with code in bold. Of links, only the text is shown.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        let is_code = index % 2 == 1;
        let part = if is_code { part.to_owned() } else { without_links(part) };
        out += &if is_code { format!("\\fB{}\\fR", escape(&part)) } else { escape(&part) };
    }
    guard(out)
}

fn literal(line: &str) -> String {
    guard(escape(line))
}

/// Markdown without link addresses and without the backslashes before punctuation. A link around code is split at its
/// quotes, so the brackets can be in different parts.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        match before.rsplit_once('[') {
            Some((before, text)) => out.extend([before, text]),
            None => out += before,
        }
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out += rest;
    let out = if out.ends_with('[') { out.trim_end_matches('[').to_owned() } else { out };
    let mut plain = String::new();
    let mut characters = out.chars().peekable();
    while let Some(character) = characters.next() {
        let is_escape = character == '\\' && characters.peek().is_some_and(char::is_ascii_punctuation);
        if !is_escape {
            plain.push(character);
        } else if let Some(escaped) = characters.next() {
            plain.push(escaped);
        }
    }
    plain
}

/// Escapes what the formatter would change: backslashes, and hyphens that must stay hyphens in options.
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('…', "...").replace('→', "\\(->")
}

/// A line that begins with a dot or a quote would be a request to the formatter.
fn guard(line: String) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::root;

    #[test]
    fn every_command_has_a_page() -> Result<()> {
        let release = Release::for_tests();
        let commands = std::fs::read_to_string(root().join("docs/commands.md"))?;
        let pages = pages(&commands, &release)?;
        let expected = commands.lines().filter(|line| line.starts_with("## aquifer ")).count();
        assert_eq!(pages.len(), expected + 1);
        let page = |name: &str| pages.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str());
        let serve = page("aquifer-serve.1").context("no page of serve")?;
        assert!(serve.starts_with(".TH \"AQUIFER-SERVE\" 1 \"2023-11-14\" \"aquifer 0.0.0\""), "{serve}");
        assert!(serve.contains("\naquifer\\-serve \\- Serve sources as MCP\\-AQL, on stdio or HTTP\n"), "{serve}");
        assert!(serve.contains(".TP\n\\fB\\-\\-http ADDR\\fR\n"), "{serve}");
        let program = page("aquifer.1").context("no page of the program")?;
        assert!(program.contains(".TP\n\\fBaquifer demo\\fR\nServe sample data"), "{program}");
        Ok(())
    }

    #[test]
    fn text_is_never_a_request_to_the_formatter() {
        assert_eq!(inline("./x \\< `a\\b` [c](d)"), "\\&./x < \\fBa\\eb\\fR c");
        assert_eq!(literal("'quoted' -x"), "\\&'quoted' \\-x");
    }
}
