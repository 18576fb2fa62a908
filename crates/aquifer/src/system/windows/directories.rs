//! Where users keep their files.

use std::path::{Path, PathBuf};

use crate::system::directory_from;

/// The home directory, which is the profile of the user.
pub(crate) fn home() -> Option<PathBuf> {
    directory_from("USERPROFILE")
}

/// The directory of state: `%LOCALAPPDATA%`.
pub(crate) fn state_base() -> Option<PathBuf> {
    directory_from("LOCALAPPDATA").or_else(|| home().map(|home| home.join("AppData").join("Local")))
}

/// The directories in which programs keep their configuration: `%APPDATA%`, and `.config` for those that come from
/// other systems.
pub(crate) fn client_config_directories() -> Vec<PathBuf> {
    let home = home();
    let own = directory_from("APPDATA").or_else(|| home.as_ref().map(|home| home.join("AppData").join("Roaming")));
    own.into_iter().chain(home.map(|home| home.join(".config"))).collect()
}

/// The value of an environment variable. Configurations refer to the home directory as `HOME` on all systems.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    value.or_else(|| if name == "HOME" { std::env::var("USERPROFILE").ok() } else { None })
}

/// Whether an existing file or directory is in the profile of the user, which other users cannot access.
pub(super) fn is_in_profile(path: &Path) -> bool {
    let profile = home().and_then(|home| home.canonicalize().ok());
    profile.zip(path.canonicalize().ok()).is_some_and(|(profile, path)| path.starts_with(profile))
}
