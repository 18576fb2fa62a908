//! Describes the database or server behind a source to the operator, without secrets. A few digits of a hash over the
//! whole address tell two places with the same description apart.

use std::path::Path;

use aquifer_protocol::hex::hex_prefix;
use aquifer_sql::Target;
use aquifer_upstream::Transport;
use sha2::{Digest, Sha256};

use super::Kind;

impl Kind {
    pub(super) fn place(&self) -> String {
        match self {
            Kind::Demo => "demo:".to_owned(),
            Kind::Tasks => "tasks:".to_owned(),
            Kind::Database(settings) => database(&settings.target),
            Kind::Upstream(settings) => server(&settings.transport),
        }
    }
}

fn database(target: &Target) -> String {
    match target {
        Target::Sqlite(path) => format!("sqlite:{}", canonical(path).display()),
        Target::Memory(name) => format!("memory:{name}"),
        Target::Postgres(url) => format!("{} #{}", Target::without_secrets(url), digits([url.as_str()])),
    }
}

/// The file itself, however it was named.
fn canonical(path: &Path) -> std::path::PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

fn server(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let folder = cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
            // How many arguments there are, so that none is taken for a variable.
            let count = args.len().to_string();
            let variables = env.iter().flat_map(|(name, value)| [name.as_str(), value]);
            let written = [command.as_str(), &folder, &count].into_iter();
            format!("{command} #{}", digits(written.chain(args.iter().map(String::as_str)).chain(variables)))
        }
        Transport::Http { url, headers, bearer } => {
            let headers = headers.iter().flat_map(|(name, value)| [name.as_str(), value]);
            let token = bearer.iter().map(|bearer| bearer.token.as_str());
            let written = [url.as_str()].into_iter().chain(headers).chain(token);
            format!("{} #{}", Target::without_secrets(url), digits(written))
        }
    }
}

/// A few digits, which are others where anything that was written is another. Too few to find out from them what it
/// was.
fn digits<'a>(written: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in written {
        // The length keeps two parts from running into each other.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex_prefix(&hash.finalize(), 4)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> String {
        let own = |text: &&str| (*text).to_owned();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        server(&Transport::Stdio {
            command: "npx".to_owned(),
            args: args.iter().map(own).collect(),
            env: env.iter().map(pair).collect(),
            cwd: None,
        })
    }

    fn http(url: &str, headers: &[(&str, &str)]) -> String {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        server(&Transport::Http { url: url.to_owned(), headers, bearer: None })
    }

    #[test]
    fn r_saf_3_places_are_told_apart_and_show_no_secret() {
        let postgres = |url: &str| database(&Target::parse(url).unwrap());
        let places = [
            stdio(&["server", "--db", "staging"], &[]),
            stdio(&["server", "--db", "production"], &[]),
            stdio(&["server"], &[("TOKEN", "hunter2")]),
            stdio(&["server", "TOKEN", "hunter2"], &[]),
            http("https://example.com/mcp", &[]),
            http("https://example.com/mcp", &[("x-tenant", "hunter2")]),
            http("https://user:hunter2@example.com/mcp?key=hunter2", &[]),
            postgres("postgres://a:hunter2@localhost/shop"),
            postgres("postgres://a:hunter2@localhost/shop?host=elsewhere"),
        ];
        for (index, place) in places.iter().enumerate() {
            assert!(!place.contains("hunter2"), "{place}");
            assert!(!places.iter().skip(index + 1).any(|other| other == place), "{place}");
        }
        assert_eq!(stdio(&["server"], &[]), stdio(&["server"], &[]));
    }

    #[test]
    fn r_saf_3_a_file_is_itself_however_it_is_named() {
        let here = std::env::current_dir().unwrap();
        let named = |path: &str| database(&Target::Sqlite(path.into()));
        assert_eq!(named("Cargo.toml"), named(&here.join("Cargo.toml").to_string_lossy()));
        assert_eq!(named("./src/../Cargo.toml"), named("Cargo.toml"));
    }
}
