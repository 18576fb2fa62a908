//! Replaces servers in Codex's TOML. Removes whole tables as lines, so that everything else stays exactly as written.

use toml::{Table, Value};

const SECTION: &str = "mcp_servers";

/// Removes the tables of these servers and adds one, or keeps the one that is there. Parses the result to verify it.
/// `None` if the servers are not written as separate tables.
pub(super) fn replace_servers(text: &str, removed: &[&str], name: &str, table: Option<&str>) -> Option<String> {
    let mut expected: Table = toml::from_str(text).ok()?;
    let servers = expected.get_mut(SECTION)?.as_table_mut()?;
    let is_removed = |server: &str| removed.contains(&server) || (table.is_some() && server == name);
    servers.retain(|server, _| !is_removed(server));
    if let Some(table) = table {
        servers.insert(name.to_owned(), entry(table, name)?);
    }
    let (others, _) = split(text, is_removed);
    let edited = joined(&others, table.unwrap_or_default(), line_ending(text));
    (toml::from_str::<Table>(&edited).ok()? == expected).then_some(edited)
}

/// Removes a server's tables, if one is named, and appends those of other servers as they are written in `before`.
pub(super) fn restore_servers(text: &str, removed: Option<&str>, before: &str, added: &[&str]) -> Option<String> {
    let mut expected: Table = toml::from_str(text).ok()?;
    let original: Table = toml::from_str(before).ok()?;
    let servers = expected.get_mut(SECTION)?.as_table_mut()?;
    servers.retain(|server, _| removed.is_none_or(|name| server != name));
    for name in added {
        servers.insert((*name).to_owned(), original.get(SECTION)?.get(*name)?.clone());
    }
    if servers.is_empty() {
        expected.remove(SECTION);
    }
    let (others, _) = split(text, |server| removed == Some(server));
    let (_, tables) = split(before, |server| added.contains(&server));
    let edited = joined(&others, tables.trim_end(), line_ending(text));
    (toml::from_str::<Table>(&edited).ok()? == expected).then_some(edited)
}

/// Splits a text into everything else and the tables of the chosen servers. Comments below a table are about what comes
/// next, unless that is another table of the same server.
fn split(text: &str, is_chosen: impl Fn(&str) -> bool) -> (String, String) {
    let (mut others, mut chosen) = (String::new(), String::new());
    let mut current: Option<String> = None;
    // Blank lines and comments below the current table.
    let mut below = String::new();
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if current.is_some() && (start.is_empty() || start.starts_with('#')) {
            below.push_str(line);
            continue;
        }
        if start.starts_with('[') {
            let next = server_of(line).filter(|server| is_chosen(server));
            let is_about_current = current.is_some() && (next == current || !below.contains('#'));
            if is_about_current { &mut chosen } else { &mut others }.push_str(&std::mem::take(&mut below));
            current = next;
        }
        let part = if current.is_some() { &mut chosen } else { &mut others };
        part.push_str(&std::mem::take(&mut below));
        part.push_str(line);
    }
    if below.contains('#') { &mut others } else { &mut chosen }.push_str(&below);
    (others, chosen)
}

/// Joins two parts of a file, with this line ending in what is added.
fn joined(others: &str, tables: &str, ending: &str) -> String {
    let others = others.trim_end();
    let separator = if others.is_empty() || tables.is_empty() { String::new() } else { ending.repeat(2) };
    let tables: Vec<&str> = tables.lines().collect();
    format!("{others}{separator}{}{ending}", tables.join(ending))
}

/// The line ending of a file: that of its first line.
fn line_ending(text: &str) -> &'static str {
    match text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        true => "\r\n",
        false => "\n",
    }
}

fn entry(table: &str, name: &str) -> Option<Value> {
    let read: Table = toml::from_str(table).ok()?;
    read.get(SECTION)?.get(name).cloned()
}

/// The server that a table's heading belongs to: `notes` for `[mcp_servers.notes.env]`.
fn server_of(heading: &str) -> Option<String> {
    let read: Table = toml::from_str(heading).ok()?;
    let servers = read.get(SECTION)?.as_table()?;
    servers.keys().next().cloned()
}

#[cfg(test)]
mod tests {
    use super::replace_servers;

    const ENTRY: &str = "[mcp_servers.aquifer]\ncommand = \"aquifer\"";

    #[test]
    fn tables_of_servers_are_removed_and_everything_else_is_unchanged() {
        for (text, expected) in [
            (
                "# mine\nmodel = \"o3\" # best\n\n[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nT = \"1\"\n\n[tui]\n# quiet\nbell = false\n",
                Some(
                    "# mine\nmodel = \"o3\" # best\n\n[tui]\n# quiet\nbell = false\n\n[mcp_servers.aquifer]\ncommand = \"aquifer\"\n",
                ),
            ),
            (
                "[mcp_servers.\"a\"]\ncommand = \"x\"\n[ mcp_servers . b ]\ncommand = \"y\"\nenabled = false\n",
                Some(
                    "[ mcp_servers . b ]\ncommand = \"y\"\nenabled = false\n\n[mcp_servers.aquifer]\ncommand = \"aquifer\"\n",
                ),
            ),
            (
                "[mcp_servers.aquifer]\ncommand = \"old\"\n[mcp_servers.a]\ncommand = \"x\"\nargs = [\n  \"y\",\n]\n",
                Some("[mcp_servers.aquifer]\ncommand = \"aquifer\"\n"),
            ),
            // Comments above the next table stay.
            (
                "[mcp_servers.a]\n# its own\ncommand = \"x\"\n# of its env\n[mcp_servers.a.env]\nT = \"1\"\n\n# my theme\n[tui]\nbell = false\n[mcp_servers.a.tools]\n# the end\n",
                Some("\n# my theme\n[tui]\nbell = false\n# the end\n\n[mcp_servers.aquifer]\ncommand = \"aquifer\"\n"),
            ),
            // What is added has the line ending of the file.
            (
                "model = \"o3\"\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n",
                Some("model = \"o3\"\r\n\r\n[mcp_servers.aquifer]\r\ncommand = \"aquifer\"\r\n"),
            ),
            // The servers are not separate tables, so the user has to edit the file.
            ("mcp_servers = { a = { command = \"x\" } }\n", None),
            ("[mcp_servers]\na = { command = \"x\" }\n", None),
            ("[mcp_servers.a]\ncommand = \"x\"\nnote = \"\"\"\n[tui]\n\"\"\"\n", None),
            ("not toml", None),
        ] {
            assert_eq!(replace_servers(text, &["a"], "aquifer", Some(ENTRY)).as_deref(), expected, "{text}");
        }
    }
}
