//! Labels the database or server behind a source for the operator, without secrets. A few digits of a hash over the
//! whole address distinguish sources with the same label.

use std::path::Path;

use aquifer_protocol::hex::hex_prefix;
use aquifer_sql::Target;
use sha2::{Digest, Sha256};

use super::{Kind, gateway, rest};

impl Kind {
    pub(super) fn label(&self) -> String {
        match self {
            Kind::Demo => "demo:".to_owned(),
            Kind::Tasks => "tasks:".to_owned(),
            Kind::Database(settings) => database(&settings.target),
            Kind::Upstream(settings) => gateway::label(settings),
            Kind::Rest(settings) => rest::label(settings),
        }
    }
}

fn database(target: &Target) -> String {
    match target {
        Target::Sqlite(path) => format!("sqlite:{}", canonical(path).display()),
        Target::Memory(name) => format!("memory:{name}"),
        Target::Postgres(url) => format!("{} #{}", Target::without_secrets(url), hash_digits([url.as_str()])),
    }
}

/// The canonical path of a file.
fn canonical(path: &Path) -> std::path::PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Labels a URL of the configuration as it is written there, because its variables may be secret. The digits are those of
/// the URL that is used.
pub(super) fn chosen_url(written: &str, expanded: &str) -> String {
    let shown = written.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    format!("{shown} #{}", hash_digits([expanded.trim_end_matches('/')]))
}

/// A few digits of a hash over these texts. Too few to recover the texts.
pub(super) fn hash_digits<'a>(written: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in written {
        // The length separates adjacent parts.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex_prefix(&hash.finalize(), 4)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_3_databases_are_told_apart_and_show_no_secret() {
        let postgres = |url: &str| database(&Target::parse(url).unwrap());
        let [one, other] =
            ["", "?host=elsewhere"].map(|more| postgres(&format!("postgres://a:hunter2@localhost/shop{more}")));
        assert!(!one.contains("hunter2") && !other.contains("hunter2"), "{one} {other}");
        assert_ne!(one, other);
    }

    #[test]
    fn r_saf_3_chosen_urls_are_told_apart_and_show_no_secret() {
        let [one, other] = ["hunter2", "hunter3"]
            .map(|key| chosen_url("https://api.example.com/${KEY}/", &format!("https://api.example.com/{key}")));
        assert!(one.starts_with("https://api.example.com/${KEY} #") && !one.contains("hunter2"), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn r_saf_3_a_file_is_itself_however_it_is_named() {
        let here = std::env::current_dir().unwrap();
        let named = |path: &str| database(&Target::Sqlite(path.into()));
        assert_eq!(named("Cargo.toml"), named(&here.join("Cargo.toml").to_string_lossy()));
        assert_eq!(named("./src/../Cargo.toml"), named("Cargo.toml"));
    }
}
