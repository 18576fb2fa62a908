//! Files and directories that this user cannot use: what to do about them, by the cause.
//!
//! The advice never gives away what may belong to somebody else for a reason. Only state, which has to belong to the user
//! who runs Aquifer, is given to that user: the very file or directory, not those above or below it.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::system::quoted_path;
use crate::system::{AccessKind, Obstacle, check_access, find_obstacle};

/// What a file or directory is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The state directory, or a file in it.
    State,
    /// The file of the store.
    Store,
    Audit,
    Configuration,
    /// The database of a source.
    Database,
}

impl Role {
    /// Whether it has to belong to the user who runs Aquifer.
    fn is_state(self) -> bool {
        matches!(self, Role::State | Role::Store)
    }

    /// What to do instead of making it usable.
    fn alternative(self) -> &'static str {
        match self {
            Role::State => "choose another directory with state.dir",
            Role::Store => "choose another file with state.store",
            Role::Audit => "choose another directory with audit.dir",
            Role::Configuration => "name another file with --config",
            Role::Database => "choose another file",
        }
    }
}

/// Whether this user is denied access to a file that exists.
pub(super) fn is_denied(file: &Path, kind: AccessKind) -> bool {
    file.is_file() && check_access(file, kind).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// What to do about a file or directory that cannot be used because of this error.
pub(super) fn for_error(error: &Error, path: &Path, role: Role) -> String {
    let alternative = role.alternative();
    match error.kind() {
        ErrorKind::PermissionDenied => for_denied(&[path.to_owned()], role),
        ErrorKind::ReadOnlyFilesystem => {
            format!("Its file system is read-only. Mount it so that it can be written to, or {alternative}")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!("Free some space on its disk, or {alternative}"),
        ErrorKind::NotADirectory => format!("A part of the path is not a directory. Correct it, or {alternative}"),
        _ => format!("Correct what the error says, or {alternative}"),
    }
}

/// What to do about files or directories to which this user is denied access. They usually have one cause.
pub(super) fn for_denied(paths: &[PathBuf], role: Role) -> String {
    let found: Vec<(&Path, Obstacle)> = paths.iter().map(|path| (path.as_path(), find_obstacle(path))).collect();
    describe(&found, role)
}

/// Describes how to remove the first obstacle, and those of the same kind.
fn describe(found: &[(&Path, Obstacle)], role: Role) -> String {
    let alternative = role.alternative();
    let Some((path, first)) = found.first() else { return format!("Check the permissions, or {alternative}") };
    match first {
        Obstacle::Permissions { is_directory, .. } => {
            let mode = if *is_directory { "u+rwx" } else { "u+rw" };
            let alike = found.iter().filter_map(|(_, other)| match other {
                Obstacle::Permissions { path, is_directory: other } if is_directory == other => Some(path.as_path()),
                _ => None,
            });
            format!("Run: chmod {mode} {}", words(alike))
        }
        Obstacle::OtherOwner { path: obstacle, owner } if role.is_state() && is_same(path, obstacle) => {
            let alike = found.iter().filter_map(|(path, other)| match other {
                Obstacle::OtherOwner { path: obstacle, .. } if is_same(path, obstacle) => Some(obstacle.as_path()),
                _ => None,
            });
            format!("It belongs to {owner}. Run: sudo chown $(id -un) {}. Or {alternative}", words(alike))
        }
        Obstacle::OtherOwner { path, owner } => {
            let path = path.display();
            format!("{path} belongs to {owner}, who has to give this user access to it. Or {alternative}")
        }
        Obstacle::Unknown => format!("Give this user access to {}, or {alternative}", path.display()),
    }
}

/// Whether the obstacle is the file itself, not a directory above it.
fn is_same(path: &Path, obstacle: &Path) -> bool {
    std::path::absolute(path).is_ok_and(|path| path == obstacle)
}

/// Paths as the words of a command, each once.
fn words<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let mut words: Vec<String> = paths.map(quoted_path).collect();
    words.dedup();
    words.join(" ")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn of_other(path: &str, owner: &str) -> Obstacle {
        Obstacle::OtherOwner { path: path.into(), owner: owner.to_owned() }
    }

    fn own(path: &str, is_directory: bool) -> Obstacle {
        Obstacle::Permissions { path: path.into(), is_directory }
    }

    #[test]
    fn only_state_itself_is_given_to_the_user() {
        let bob = "the user with the id 1001";
        // (path, role, obstacle, advice)
        let table = [
            ("/s", Role::State, own("/s", true), "Run: chmod u+rwx /s"),
            ("/s/my key", Role::State, own("/s/my key", false), "Run: chmod u+rw '/s/my key'"),
            ("/me/s", Role::State, own("/me", true), "Run: chmod u+rwx /me"),
            (
                "/s p",
                Role::State,
                of_other("/s p", "root"),
                "It belongs to root. Run: sudo chown $(id -un) '/s p'. Or choose another directory with state.dir",
            ),
            (
                "/root/x",
                Role::State,
                of_other("/root", "root"),
                "/root belongs to root, who has to give this user access to it. Or choose another directory with state.dir",
            ),
            (
                "/home/bob/shop.db",
                Role::Database,
                of_other("/home/bob", bob),
                "/home/bob belongs to the user with the id 1001, who has to give this user access to it. Or choose another \
                 file",
            ),
            (
                "/shop.db",
                Role::Database,
                of_other("/shop.db", bob),
                "/shop.db belongs to the user with the id 1001, who has to give this user access to it. Or choose another \
                 file",
            ),
            (
                "/etc/aquifer.toml",
                Role::Configuration,
                of_other("/etc/aquifer.toml", "root"),
                "/etc/aquifer.toml belongs to root, who has to give this user access to it. Or name another file with \
                 --config",
            ),
            (
                "/a",
                Role::Audit,
                Obstacle::Unknown,
                "Give this user access to /a, or choose another directory with audit.dir",
            ),
        ];
        for (path, role, obstacle, advice) in table {
            assert_eq!(describe(&[(Path::new(path), obstacle)], role), advice);
        }
    }

    #[test]
    fn files_with_the_same_cause_are_in_one_command() {
        let found = [
            (Path::new("/s/version"), of_other("/s/version", "root")),
            (Path::new("/s/cursor.key"), own("/s/cursor.key", false)),
            (Path::new("/s/admin.key"), of_other("/s/admin.key", "root")),
        ];
        assert!(describe(&found, Role::State).contains("chown $(id -un) /s/version /s/admin.key."));
    }

    #[test]
    fn the_advice_fits_the_error() {
        // (error, words of the advice)
        let table = [
            (ErrorKind::ReadOnlyFilesystem, "read-only"),
            (ErrorKind::StorageFull, "Free some space"),
            (ErrorKind::QuotaExceeded, "Free some space"),
            (ErrorKind::NotADirectory, "not a directory"),
            (ErrorKind::NetworkDown, "what the error says"),
        ];
        for (kind, words) in table {
            for (role, setting) in [(Role::State, "state.dir"), (Role::Audit, "audit.dir")] {
                let advice = for_error(&Error::from(kind), Path::new("/nowhere/x"), role);
                assert!(advice.contains(words) && advice.contains(setting), "{kind}: {advice}");
                assert!(!advice.contains("chmod") && !advice.contains("chown"), "{kind}: {advice}");
            }
        }
    }
}
