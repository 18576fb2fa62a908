//! Rebuilds the command line of a run for its report: with everything that affects the checks, without secrets.

use crate::cli::ConformanceRunArgs;

/// Describes the server for the report.
pub(super) fn server(arguments: &ConformanceRunArgs) -> String {
    match &arguments.url {
        Some(url) => without_secrets(url),
        None => arguments.command.iter().map(|word| quoted(&without_secrets(word))).collect::<Vec<_>>().join(" "),
    }
}

/// A command that repeats the run.
pub(super) fn command(arguments: &ConformanceRunArgs) -> String {
    let mut words = vec!["aquifer conformance".to_owned()];
    words.extend(arguments.url.as_ref().map(|url| quoted(&without_secrets(url))));
    if let Some(url) = &arguments.single_url {
        words.push(format!("--single-url {}", quoted(&without_secrets(url))));
    }
    words.push(format!("--level {}", arguments.level));
    if arguments.allow_writes {
        words.push("--allow-writes".to_owned());
    }
    words.extend(arguments.checks.iter().map(|name| format!("--check {}", quoted(name))));
    for (name, _) in &arguments.headers {
        words.push(format!("--header {}", quoted(&format!("{name}=…"))));
    }
    if !arguments.command.is_empty() {
        words.push(format!("-- {}", server(arguments)));
    }
    words.join(" ")
}

/// An argument without the parts of an address that may be secret: the password and the query.
fn without_secrets(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
    let (authority, path) = rest.find('/').map_or((rest, ""), |place| rest.split_at(place));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:…@{host}"),
            None => format!("{user}@{host}"),
        },
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{path}{query}")
}

/// Quotes an argument for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+…".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_is_secret() {
        for (word, expected) in [
            ("demo", "demo"),
            ("http://127.0.0.1:3910/mcp", "http://127.0.0.1:3910/mcp"),
            ("https://mcp.example.com/mcp?token=abc", "https://mcp.example.com/mcp?…"),
            ("postgres://me:secret@host:5432/shop", "postgres://me:…@host:5432/shop"),
            ("postgres://me:sec@ret@host/shop", "postgres://me:…@host/shop"),
            ("postgres://me@host/shop", "postgres://me@host/shop"),
        ] {
            assert_eq!(without_secrets(word), expected);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        for (word, expected) in [("a-b", "a-b"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$x", "'$x'")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
