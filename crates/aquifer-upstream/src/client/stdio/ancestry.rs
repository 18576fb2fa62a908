//! The commands that led to this process. A gateway whose configuration starts a gateway with the same configuration would
//! start processes without end; every process that Aquifer starts is told which commands came before it.

use std::path::{Path, PathBuf};

use aquifer_protocol::text::hex::hex_prefix;
use sha2::{Digest, Sha256};

use crate::settings::Transport;

/// The environment variable with the digests of the commands, separated by spaces. Shells that a server starts inherit it.
pub(super) const VARIABLE: &str = "AQUIFER_ANCESTRY";

/// How many gateways may be behind each other.
const MAX_DEPTH: usize = 8;

/// Bytes of a digest. They only have to differ from the few others.
const DIGEST_BYTES: usize = 8;

/// Why a command must not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recursion {
    /// It has led to this process.
    Repeated,
    /// There are too many gateways behind each other.
    TooDeep,
}

impl std::fmt::Display for Recursion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Recursion::Repeated => f.write_str(
                "it may start itself in an endless loop: this process was itself started by the same command, directly or \
                 indirectly",
            ),
            Recursion::TooDeep => write!(f, "more than {MAX_DEPTH} Aquifer servers would be chained"),
        }
    }
}

impl Recursion {
    /// What a person can do about it. A shell that a server provides looks like a loop from inside.
    pub fn advice(self) -> String {
        format!(
            "Remove it from the sources. If this is not a loop, but a shell that a server has started, use another shell \
             or unset {VARIABLE}"
        )
    }
}

/// Why this process must not start a server, if it is one that is started as a program.
pub fn recursion(transport: &Transport) -> Option<Recursion> {
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let names = env.iter().map(|(name, _)| name.as_str());
            for_child(&inherited(), command, args, names, cwd.as_deref()).err()
        }
        Transport::Http { .. } => None,
    }
}

/// The value of the variable for a child of this process.
pub(super) fn of_child(
    command: &str,
    args: &[String],
    env: &[(String, String)],
    cwd: Option<&Path>,
) -> Result<String, Recursion> {
    for_child(&inherited(), command, args, env.iter().map(|(name, _)| name.as_str()), cwd)
}

fn inherited() -> String {
    std::env::var(VARIABLE).unwrap_or_default()
}

/// Adds a command to those that came before it. The values of its variables may be secrets, so only their names count.
fn for_child<'a>(
    before: &str,
    command: &str,
    args: &[String],
    variables: impl Iterator<Item = &'a str>,
    cwd: Option<&Path>,
) -> Result<String, Recursion> {
    let cwd = cwd.map(PathBuf::from).or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(command);
    add(&cwd.to_string_lossy());
    args.iter().for_each(|word| add(word));
    variables.for_each(add);
    let digest = hex_prefix(&hash.finalize(), DIGEST_BYTES);
    let ancestors: Vec<&str> = before.split_whitespace().collect();
    if ancestors.contains(&digest.as_str()) {
        return Err(Recursion::Repeated);
    }
    if ancestors.len() >= MAX_DEPTH {
        return Err(Recursion::TooDeep);
    }
    Ok(ancestors.into_iter().chain([digest.as_str()]).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn start(before: &str, command: &str, folder: &str) -> Result<String, Recursion> {
        for_child(before, command, &["serve".to_owned()], ["TOKEN"].into_iter(), Some(Path::new(folder)))
    }

    #[test]
    fn a_command_that_led_here_is_not_started_again() {
        let once = start("", "aquifer", "/a").unwrap();
        let other_folder = start(&once, "aquifer", "/b").unwrap();
        let other_command = start(&other_folder, "sh", "/a").unwrap();
        for (command, folder) in [("aquifer", "/a"), ("aquifer", "/b"), ("sh", "/a")] {
            assert_eq!(start(&other_command, command, folder), Err(Recursion::Repeated));
        }
        // A variable that another program has set does no harm.
        assert!(start("not a list of digests", "aquifer", "/a").is_ok());
    }

    #[test]
    fn a_chain_of_different_commands_ends() {
        let mut chain = String::new();
        for depth in 0..MAX_DEPTH {
            chain = start(&chain, "aquifer", &depth.to_string()).unwrap();
        }
        assert_eq!(start(&chain, "aquifer", "/new"), Err(Recursion::TooDeep));
    }
}
