//! What must be decided the same everywhere is decided in one place.

use std::path::{Path, PathBuf};

use crate::documents::root;

/// A mechanism that has one home.
struct Mechanism {
    name: &'static str,
    /// The file or folder that defines it.
    home: &'static str,
    /// Texts of a definition, of which other files contain fewer than `count`.
    texts: &'static [&'static str],
    count: usize,
}

const MECHANISMS: [Mechanism; 5] = [
    Mechanism {
        name: "the zones of addresses",
        home: "crates/aquifer-net/src/zone.rs",
        texts: &[
            "169, 254",
            "169.254.",
            "192, 168",
            "172, 16",
            "0xfe80",
            "0xfc00",
            ".is_link_local()",
            ".is_private()",
        ],
        count: 1,
    },
    Mechanism {
        name: "names of secrets",
        home: "crates/aquifer-protocol/src/text/secrets/",
        texts: &[
            "\"password\"",
            "\"passwd\"",
            "\"passphrase\"",
            "\"secret\"",
            "\"token\"",
            "\"apikey\"",
            "\"api_key\"",
            "\"credential\"",
            "\"private_key\"",
            "\"access_key\"",
        ],
        count: 4,
    },
    Mechanism {
        name: "percent-encoding",
        home: "crates/aquifer-protocol/src/text/percent.rs",
        texts: &["%{byte:02X}", "\"%{:02X}\"", "b'-' | b'.' | b'_' | b'~'", "b'-' | b'_' | b'.' | b'~'"],
        count: 1,
    },
    Mechanism {
        name: "waits in headers",
        home: "crates/aquifer-net/src/wait.rs",
        texts: &["rfc2822::parse", "{prefix}-reset"],
        count: 1,
    },
    Mechanism {
        name: "responses of token endpoints",
        home: "crates/aquifer-net/src/token.rs",
        texts: &["\"expires_in\"", "expires_in:"],
        count: 1,
    },
];

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\n").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let is_test = path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
        if path.is_dir() && !is_test {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            found.push(path);
        }
    }
}

#[test]
fn every_mechanism_has_one_home() {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        source_files(&entry.unwrap().path().join("src"), &mut paths);
    }
    let root = root();
    let files: Vec<(&Path, String)> =
        paths.iter().map(|path| (path.strip_prefix(&root).unwrap(), code(path))).collect();
    for Mechanism { name, home, texts, count } in MECHANISMS {
        let (mut is_at_home, mut elsewhere) = (false, Vec::new());
        for (path, code) in &files {
            let found: Vec<&&str> = texts.iter().filter(|text| code.contains(**text)).collect();
            if path.starts_with(home) {
                is_at_home |= !found.is_empty();
            } else if found.len() >= count {
                elsewhere.push(format!("{} has {found:?}", path.display()));
            }
        }
        assert!(is_at_home, "{home} does not define {name}");
        assert!(elsewhere.is_empty(), "{name} belong to {home}, but {elsewhere:?}");
    }
}
