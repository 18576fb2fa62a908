//! Detects placeholders that were copied from documentation and not replaced: `<your-token>`, `YOUR_API_KEY`.

/// Words that documentation puts after "your".
const NOUNS: &[&str] = &[
    "access",
    "account",
    "api",
    "app",
    "bot",
    "client",
    "database",
    "db",
    "domain",
    "email",
    "github",
    "here",
    "host",
    "id",
    "instance",
    "key",
    "name",
    "org",
    "organization",
    "password",
    "path",
    "personal",
    "project",
    "secret",
    "server",
    "site",
    "team",
    "tenant",
    "token",
    "url",
    "user",
    "username",
    "workspace",
];

/// Whether the value contains a placeholder. A reference (`${NAME}`) is not a placeholder.
pub fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    if value.contains("${") || value.is_empty() {
        return false;
    }
    if ["/path/to/", "\\path\\to\\", "/Users/username/", "/home/username/"].iter().any(|path| value.contains(path))
        || value.ends_with("/path/to")
        || ["...", "…"].contains(&value)
        || is_bracketed(value)
    {
        return true;
    }
    value.split(|c: char| c.is_whitespace() || "=&?/:,;@".contains(c)).any(is_placeholder_word)
}

/// Whether it contains words in brackets, which real values do not: `<token>`, `{{token}}`, `[YOUR TOKEN]`.
fn is_bracketed(value: &str) -> bool {
    let between = |open: &str, close: &str| {
        let (_, rest) = value.split_once(open)?;
        rest.split_once(close).map(|(inside, _)| inside)
    };
    let is_wording = |inside: &str| {
        inside.len() <= 80
            && inside.chars().any(char::is_alphabetic)
            && inside.chars().all(|c| c.is_alphanumeric() || " _-.'/".contains(c))
    };
    let is_yours = |inside: &str| is_wording(inside) && inside.to_ascii_lowercase().contains("your");
    between("<", ">").is_some_and(is_wording)
        || between("{{", "}}").is_some_and(is_wording)
        || between("[", "]").is_some_and(is_yours)
        || between("{", "}").is_some_and(is_yours)
}

fn is_placeholder_word(word: &str) -> bool {
    if matches!(word, "TODO" | "FIXME" | "TBD") || (word.len() >= 3 && word.chars().all(|c| c == '*')) {
        return true;
    }
    if word.strip_suffix("...").or_else(|| word.strip_suffix('…')).is_some_and(|rest| rest.len() >= 2) {
        return true;
    }
    let lower = word.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let is_filler = |part: &&str| part.len() >= 3 && part.chars().all(|c| c == 'x');
    match parts.as_slice() {
        ["changeme" | "replaceme" | "placeholder"] => true,
        ["yourtoken" | "yourkey" | "yourapikey" | "yoursecret" | "yourpassword"] => true,
        ["change" | "replace", "me" | "this" | "it", ..] => true,
        [.., last] if is_filler(last) => true,
        ["insert" | "enter" | "put" | "add" | "paste" | "replace", .., "here"] => true,
        [_, .., "here"] => true,
        parts => parts.windows(2).any(|pair| matches!(pair, ["your", noun] if NOUNS.contains(noun))),
    }
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;

    #[test]
    fn placeholders_are_recognized_and_values_are_not() {
        // From the README files of published servers.
        for value in [
            "<YOUR_TOKEN>",
            "<your-api-key>",
            "YOUR_API_KEY_HERE",
            "your-api-key",
            "Bearer YOUR_TOKEN",
            "--token=<token>",
            "https://mcp.example.com/mcp?api_key=YOUR_API_KEY",
            "postgresql://user:<password>@localhost/mydb",
            "/path/to/allowed/files",
            "/Users/username/Desktop",
            "/path/to/repo",
            "xoxb-your-bot-token",
            "ghp_xxxxxxxxxxxxxxxx",
            "sk-...",
            "xxx",
            "****",
            "...",
            "changeme",
            "REPLACE_ME",
            "insert-your-key-here",
            "{{API_KEY}}",
            "[YOUR-PROJECT-REF]",
            "TODO",
            "your_username",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in [
            "",
            "${input:token}",
            "${YOUR_TOKEN}",
            "Bearer ${YOUR_API_KEY}",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "debug",
            "8080",
            "-y",
            "@modelcontextprotocol/server-filesystem",
            ".",
            "..",
            "./...",
            "/home/me/your-files",
            "todo",
            "here",
            "postgres://me:secret@localhost/shop",
            "a<b",
            "xx",
            "{\"a\": [1, 2]}",
            "lexxx-luthor",
            "*",
        ] {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
