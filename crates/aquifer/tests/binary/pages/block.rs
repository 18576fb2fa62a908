//! The fenced blocks of a page, and what is done with each.

/// Before a block that nobody tries, followed by the reason.
const NOT_RUN: &str = "<!-- not run: ";

/// From here on, commands and requests need a server of this kind.
const NEEDS: &str = "<!-- needs: ";

/// A fenced block of a page.
#[derive(Debug)]
pub(crate) struct Block<'p> {
    pub(crate) language: &'p str,
    /// The word after the language: a file name, or `fails`.
    pub(super) word: Option<&'p str>,
    pub(crate) text: String,
    /// Why nobody tries it.
    pub(super) reason: Option<&'p str>,
    /// The kind of server that it needs.
    pub(super) needs: Option<&'p str>,
}

/// What is done with a block.
#[derive(Debug, PartialEq)]
pub(super) enum Treatment<'p> {
    /// The commands are run, and print what is shown.
    Commands(LastCommand),
    /// The text is sent to a tool.
    Request,
    /// The latest request is answered like this.
    Answer,
    /// The program that was started last prints this.
    Output,
    /// The text becomes a file, which other blocks use.
    File(&'p str),
    /// Nothing, for a reason that the page states.
    Nothing,
}

/// How the last command of a block ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LastCommand {
    Succeeds,
    Fails,
}

impl<'p> Block<'p> {
    /// What is done with it. An error says that nobody would try it.
    pub(super) fn treatment(&self) -> Result<Treatment<'p>, String> {
        if let Some(reason) = self.reason {
            let is_told = reason.split_whitespace().count() >= 3;
            return is_told.then_some(Treatment::Nothing).ok_or(format!("'{reason}' is not a reason"));
        }
        match (self.language, self.word) {
            ("console", None) => Ok(Treatment::Commands(LastCommand::Succeeds)),
            ("console", Some("fails")) => Ok(Treatment::Commands(LastCommand::Fails)),
            ("jsonc", None) => Ok(Treatment::Request),
            ("json", None) => Ok(Treatment::Answer),
            ("text", None) => Ok(Treatment::Output),
            ("toml" | "json" | "yaml" | "text" | "python", Some(name)) if name.contains('.') => {
                Ok(Treatment::File(name))
            }
            (language, word) => Err(format!(
                "nobody tries a block in '{language}' with {word:?}. Name its file after the language, or write the reason \
                 before it: {NOT_RUN}REASON -->"
            )),
        }
    }
}

/// The fenced blocks of a page.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut before, mut needs) = (Vec::new(), "", None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(service) = marked(line, NEEDS) {
            needs = Some(service);
        }
        if let Some(information) = line.strip_prefix("```") {
            let (language, word) = match information.split_once(' ') {
                Some((language, word)) => (language, Some(word)),
                None => (information, None),
            };
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block { language, word, text: text.join("\n"), reason: marked(before, NOT_RUN), needs });
        } else {
            let is_code = line.starts_with("    ") || line.trim_start().starts_with("```") || line.starts_with("~~~");
            assert!(!is_code, "nobody would see this code: {line}");
        }
        before = line;
    }
    blocks
}

/// The text of a comment that begins like this.
fn marked<'p>(line: &'p str, start: &str) -> Option<&'p str> {
    line.strip_prefix(start)?.strip_suffix("-->").map(str::trim)
}

/// The commands of a block in `console`, each with what it prints.
pub(crate) fn commands(block: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, String::new())),
            (None, Some((_, shown))) => {
                shown.push_str(line);
                shown.push('\n');
            }
            (None, None) => panic!("nobody typed anything before {line}"),
        }
    }
    commands
}

#[test]
fn every_block_is_tried_or_says_why_not() {
    let page = "```toml a.toml\nb = 1\n```\n<!-- not run: it takes a day -->\n```sh\nsleep 86400\n```\n```sh\nls\n```\n\
                <!-- not run: later -->\n```sql\nDROP\n```\n<!-- needs: redis -->\n```console fails\n$ a\nb\n$ c\n```\n\
                ```toml\nb = 1\n```\n";
    let blocks = blocks(page);
    let treatments: Vec<_> = blocks.iter().map(Block::treatment).collect();
    assert_eq!(treatments[0], Ok(Treatment::File("a.toml")));
    assert_eq!(treatments[1], Ok(Treatment::Nothing));
    assert!(treatments[2].is_err() && treatments[3].is_err() && treatments[5].is_err(), "{treatments:?}");
    assert_eq!(treatments[4], Ok(Treatment::Commands(LastCommand::Fails)));
    assert_eq!((blocks[3].needs, blocks[4].needs), (None, Some("redis")));
    assert_eq!(commands(&blocks[4].text), [("a", "b\n".to_owned()), ("c", String::new())]);
}
