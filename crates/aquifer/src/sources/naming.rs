//! Derives names for sources without a configured name.

use aquifer_discovery::name::fit;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::text::is_hidden;

/// Maximum length of a prefix, to leave room for the rest of the name.
const MAX_PREFIX_LEN: usize = 20;

/// Programs that run other programs, and their subcommands.
const RUNNERS: &[&str] = &[
    "npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "deno", "uvx", "uv", "pipx", "python", "python3", "docker",
    "podman", "sh", "bash", "env", "cmd", "exec", "run", "dlx", "tool", "x", "start",
];

/// Common names of files and folders. The name of the parent folder is more specific.
const GENERIC_NAMES: &[&str] =
    &["index", "main", "__main__", "cli", "app", "dist", "build", "out", "src", "lib", "bin"];

/// Why a source name is invalid. Names that look alike must not be different, because a rule about one would be read as
/// a rule about the other.
pub(crate) fn problem(name: &str) -> Option<String> {
    let is_invisible = |c: char| c.is_control() || is_hidden(c) || (c.is_whitespace() && c != ' ');
    let problem = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().any(is_invisible) {
        "contains an invisible character"
    } else if name.trim() != name {
        "begins or ends with a space"
    } else {
        return None;
    };
    Some(format!("the source name {name:?} {problem}"))
}

/// Derives a name from a command: `files` from `npx -y @scope/server-files /data`.
pub(super) fn name_from_command(words: &[String]) -> String {
    let is_telling = |word: &&String| {
        let base = word.rsplit('/').next().unwrap_or_default();
        !word.starts_with('-') && !RUNNERS.contains(&base) && !word.contains('=')
    };
    // The words before an image name configure the container.
    let is_image = |word: &&String| is_telling(word) && word.contains('/') && !word.starts_with(['/', '.']);
    let in_container = words.first().is_some_and(|word| ["docker", "podman"].contains(&word.as_str()));
    let image = words.iter().find(is_image).filter(|_| in_container);
    let word = image.or_else(|| words.iter().find(is_telling)).or(words.first());
    let word = word.map(String::as_str).unwrap_or_default();
    let bare = |part: &'_ str| -> String {
        let part = part.split(['@', ':']).find(|part| !part.is_empty()).unwrap_or_default();
        part.split('.').find(|part| !part.is_empty()).unwrap_or_default().to_owned()
    };
    let mut parts = word.rsplit('/').map(bare);
    let own = parts.clone().next().unwrap_or_default();
    strip_common_words(&parts.find(|part| !part.is_empty() && !GENERIC_NAMES.contains(&part.as_str())).unwrap_or(own))
}

/// Derives a name from the URL of a remote server: `example` from `https://mcp.example.com/sse`.
pub(super) fn name_from_url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let is_number = labels.iter().all(|label| label.chars().all(|c| c.is_ascii_digit()));
    match labels.as_slice() {
        [.., name, _] if !is_number => strip_common_words(name),
        [name] if !name.is_empty() => strip_common_words(name),
        _ => "mcp".to_owned(),
    }
}

/// The name without words that are common in names of MCP servers.
fn strip_common_words(name: &str) -> String {
    let words: Vec<&str> = name.split(['-', '_']).filter(|word| !matches!(*word, "" | "mcp" | "server")).collect();
    let strip_common_words = words.join("-").to_ascii_lowercase();
    if snake_identifier(&strip_common_words).is_empty() { "mcp".to_owned() } else { strip_common_words }
}

/// The prefix for operations of a source with this name.
pub(super) fn prefix(name: &str) -> String {
    let prefix = fit(&snake_identifier(name), MAX_PREFIX_LEN);
    if prefix.is_empty() { "source".to_owned() } else { prefix }
}

/// The name, with a number if it is taken.
pub(super) fn make_unique(name: &str, taken: &[String], between: &str) -> String {
    if !taken.iter().any(|known| known == name) {
        return name.to_owned();
    }
    let mut number: usize = 2;
    loop {
        let other = format!("{name}{between}{number}");
        if !taken.contains(&other) {
            return other;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_called_what_people_would_call_them() {
        for (command, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem /data", "filesystem"),
            ("npx -y some-mcp-server@1.2.3", "some"),
            ("uvx mcp-server-git --repository .", "git"),
            ("python3 /opt/tools/weather_server.py", "weather"),
            ("docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:latest", "github"),
            ("/usr/bin/mcp-server", "mcp"),
            ("node", "node"),
            ("node /opt/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"),
            ("node dist/index.js", "index"),
            ("python3 -m app", "app"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(name_from_command(&words), name, "{command}");
        }
        for (url, name) in [
            ("https://mcp.sentry.dev/mcp", "sentry"),
            ("https://user:secret@api.example.com:8443/x?key=1", "example"),
            ("http://localhost:3000/mcp", "localhost"),
            ("http://127.0.0.1:3000/mcp", "mcp"),
            ("https://", "mcp"),
        ] {
            assert_eq!(name_from_url(url), name, "{url}");
        }
        for (name, is_wrong) in [
            ("shop", false),
            ("my shop", false),
            ("Shop-2", false),
            ("Größe", false),
            ("店", false),
            ("", true),
            (" ", true),
            (" shop", true),
            ("shop ", true),
            ("shop\t", true),
            ("sh\nop", true),
            ("shop\u{200b}", true),
            ("\u{feff}shop", true),
            ("sh\u{ad}op", true),
            ("shop\u{a0}", true),
            ("my\u{2003}shop", true),
            ("\u{202e}pohs", true),
            ("shop\u{e0041}", true),
            ("shop\u{fe0f}", true),
            ("sh\u{9b}op", true),
            ("shop\u{3164}", true),
        ] {
            assert_eq!(problem(name).is_some(), is_wrong, "{name:?}");
        }
        assert_eq!(make_unique("a", &["a".to_owned(), "a-2".to_owned()], "-"), "a-3");
        assert_eq!(prefix("Git Hub!"), "git_hub");
    }
}
