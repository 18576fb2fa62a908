//! Where users keep their files.

use std::path::PathBuf;

use crate::system::directory_from;

/// The home directory.
pub(crate) fn home() -> Option<PathBuf> {
    directory_from("HOME")
}

/// The directory of state: `$XDG_STATE_HOME` or `~/.local/state`.
pub(crate) fn state_base() -> Option<PathBuf> {
    directory_from("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")))
}

/// The directories in which programs keep their configuration.
pub(crate) fn client_config_directories() -> Vec<PathBuf> {
    let home = home();
    let own = directory_from("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mac = home.map(|home| home.join("Library/Application Support"));
    own.into_iter().chain(mac).collect()
}

/// The value of an environment variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
