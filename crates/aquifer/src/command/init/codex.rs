//! Replaces servers in Codex's TOML. Removes whole tables as lines, so that everything else stays exactly as written.

use toml::{Table, Value};

const SECTION: &str = "mcp_servers";

/// Removes the tables of these servers and adds one. Parses the result to verify it. `None` if the servers are not
/// written as separate tables.
pub(super) fn replace_servers(text: &str, removed: &[&str], name: &str, table: &str) -> Option<String> {
    let mut expected: Table = toml::from_str(text).ok()?;
    let servers = expected.get_mut(SECTION)?.as_table_mut()?;
    servers.retain(|server, _| !removed.contains(&server) && server != name);
    servers.insert(name.to_owned(), entry(table, name)?);

    let mut others = String::new();
    let mut is_removed = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            is_removed = server_of(line).is_some_and(|server| removed.contains(&server.as_str()) || server == name);
        }
        if !is_removed {
            others.push_str(line);
        }
    }
    let others = others.trim_end();
    let separator = if others.is_empty() { "" } else { "\n\n" };
    let edited = format!("{others}{separator}{table}\n");
    (toml::from_str::<Table>(&edited).ok()? == expected).then_some(edited)
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
            // The servers are not separate tables, so the user has to edit the file.
            ("mcp_servers = { a = { command = \"x\" } }\n", None),
            ("[mcp_servers]\na = { command = \"x\" }\n", None),
            ("[mcp_servers.a]\ncommand = \"x\"\nnote = \"\"\"\n[tui]\n\"\"\"\n", None),
            ("not toml", None),
        ] {
            assert_eq!(replace_servers(text, &["a"], "aquifer", ENTRY).as_deref(), expected, "{text}");
        }
    }
}
