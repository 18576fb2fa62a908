//! State that outlives the process: the secret that encrypts cursors, cached catalogs of MCP servers, logins, and the
//! state of the gate. Only its owner can access it.

mod directory;
mod inspected_store;
mod recorded_trust;
mod store;
mod validation;
mod version;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use aquifer_query::CursorKey;
use sha2::{Digest, Sha256};

use crate::config::{StateAccess, StateConfig};
use crate::system;

pub(crate) use directory::Privacy;
pub(crate) use directory::inspect as inspect_directory;
pub(crate) use store::{MAX_MEMORY_RECORDS, StoreLocation, StoreSetting, steady_clock};
pub(crate) use validation::{Validation, ValidationKey, Validations, catalog_digest};
pub(crate) use version::{STATE_VERSION, version_of};

/// The files in the state directory, apart from the store, which manages its own files.
const ENTRIES: &[&str] = &[
    "cursor.key",
    "admin.key",
    "catalogs",
    "descriptions",
    "logins",
    "audit",
    "trust",
    "validations",
    "version",
    "version.lock",
];

/// The store, unless the configuration names another one.
const STORE_FILE: &str = "state.sqlite";
const ADMIN_FILE: &str = "admin.key";

const NO_DIRECTORY: &str = "there is no state directory. Set state.dir";

/// The small files that commands read, if they exist.
pub(crate) const FILES: [&str; 3] = ["version", "cursor.key", ADMIN_FILE];

/// The maximum size of a key or hash file.
const MAX_SMALL_FILE_BYTES: u64 = 64 * 1024;

/// The minimum length of a configured secret.
const MIN_SECRET_LEN: usize = 16;

/// The paths of files in the state directory.
pub(crate) struct StateFiles {
    directory: Option<PathBuf>,
    access: StateAccess,
}

impl StateFiles {
    /// Uses the directory that the configuration names, and fails if others could change its contents. Without one,
    /// uses the standard directory if possible.
    pub(crate) fn new(config: &StateConfig) -> anyhow::Result<Self> {
        let access = config.access;
        if let Some(chosen) = &config.dir {
            directory::check(chosen, access)?;
            version::check(chosen, access)?;
            return Ok(Self { directory: Some(chosen.clone()), access });
        }
        let is_usable = |found: &PathBuf| {
            // The code that needs the directory reports the consequences.
            directory::check(found, access).inspect_err(|error| tracing::warn!("{error:#}")).is_ok()
        };
        let directory = default_directory().filter(is_usable);
        // Without the state of a newer version, limits and approvals would start again, so this is an error.
        directory.as_deref().map_or(Ok(()), |directory| version::check(directory, access))?;
        Ok(Self { directory, access })
    }

    /// The directory, created if it is missing.
    fn prepare(&self) -> anyhow::Result<&Path> {
        if self.access == StateAccess::Inspect {
            bail!("this command does not change the state");
        }
        let directory = self.directory.as_deref().context(NO_DIRECTORY)?;
        directory::prepare(directory)?;
        version::mark(directory)?;
        ENTRIES.iter().for_each(|entry| system::close_to_others(&directory.join(entry)));
        Ok(directory)
    }

    /// The directory of cached tool lists, which avoid waiting for MCP servers to start.
    pub(crate) fn catalogs(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("catalogs"))
    }

    /// The last good descriptions of HTTP APIs that are named by their URL.
    pub(crate) fn descriptions(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("descriptions"))
    }

    /// The file with confirmations, approvals, quotas and audit heads.
    pub(crate) fn store(&self) -> anyhow::Result<PathBuf> {
        Ok(self.prepare()?.join(STORE_FILE))
    }

    /// The path of that file, which may not exist. Creates nothing.
    fn store_path(&self) -> anyhow::Result<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(STORE_FILE)).context(NO_DIRECTORY)
    }

    /// The file with the hash of the admin secret.
    pub(crate) fn admin(&self) -> anyhow::Result<PathBuf> {
        Ok(self.prepare()?.join(ADMIN_FILE))
    }

    /// The path of that file, which may not exist. Creates nothing.
    pub(crate) fn admin_path(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(ADMIN_FILE))
    }

    /// The directory of logins to remote MCP servers.
    pub(crate) fn logins(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("logins"))
    }
}

/// The secret in the configuration, otherwise the one in the state directory, which is created if it is missing.
pub(crate) fn cursor_key(config: &StateConfig) -> anyhow::Result<CursorKey> {
    if let Some(secret) = configured_secret(config)? {
        return Ok(CursorKey::new(Sha256::digest(secret.as_bytes()).into()));
    }
    let place = StateFiles::new(config)?;
    match place.prepare().and_then(load_or_create_key) {
        Ok(secret) => Ok(CursorKey::new(secret)),
        Err(error) => {
            tracing::info!("cursors will be invalid after a restart: {error:#}");
            let mut secret = [0; 32];
            getrandom::fill(&mut secret).context("cannot get random bytes from the system")?;
            Ok(CursorKey::new(secret))
        }
    }
}

/// Checks the secret in the configuration, if there is one.
pub(crate) fn check_secret(config: &StateConfig) -> anyhow::Result<()> {
    configured_secret(config).map(drop)
}

fn configured_secret(config: &StateConfig) -> anyhow::Result<Option<String>> {
    let Some(secret) = &config.cursor_secret else { return Ok(None) };
    let secret = config.variables.expand(secret)?;
    if secret.len() < MIN_SECRET_LEN {
        bail!("state.cursor_secret must have at least {MIN_SECRET_LEN} characters");
    }
    Ok(Some(secret))
}

/// The default state directory: `$XDG_STATE_HOME/aquifer` or `~/.local/state/aquifer`, on Windows
/// `%LOCALAPPDATA%\aquifer`.
fn default_directory() -> Option<PathBuf> {
    system::state_base().map(|base| base.join("aquifer"))
}

fn load_or_create_key(directory: &Path) -> anyhow::Result<[u8; 32]> {
    let path = directory.join("cursor.key");
    if !path.exists() {
        make(directory, &path)?;
    }
    let bytes = read_small_file(&path).with_context(|| format!("cannot read {}", path.display()))?;
    bytes
        .try_into()
        .map_err(|_| anyhow::anyhow!("{} is not a valid key. Remove it to have a new one created", path.display()))
}

/// What is wrong with the key in this directory, if it has one.
pub(crate) fn key_problem(directory: &Path) -> Option<String> {
    match read_small_file(&directory.join("cursor.key")) {
        Ok(bytes) => (bytes.len() != 32).then(|| "it is not a valid key".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(format!("it cannot be read: {error}")),
    }
}

/// Writes the key to a temporary file and renames it, so that two processes that start together end up with one key.
fn make(directory: &Path, path: &Path) -> anyhow::Result<()> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).context("cannot get random bytes from the system")?;
    let draft = directory.join(format!("cursor.key.{}", std::process::id()));
    let written = create_private_file(&draft).and_then(|mut file| file.write_all(&secret));
    written.with_context(|| format!("cannot write {}", draft.display()))?;
    // Fails if another process was faster. Its key is used then.
    let _ = fs::hard_link(&draft, path);
    let _ = fs::remove_file(&draft);
    if path.exists() { Ok(()) } else { bail!("cannot write {}", path.display()) }
}

/// Reads a small file. Fails for anything but a regular file, because a pipe would block the command forever.
pub(crate) fn read_small_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > MAX_SMALL_FILE_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    fs::read(path)
}

/// Creates a state directory of the current version. Fails if it exists.
pub(crate) fn create_new(path: &Path) -> anyhow::Result<()> {
    system::create_new_private_directory(path).with_context(|| format!("cannot create {}", path.display()))?;
    version::mark(path)
}

/// The path of the state directory, whether or not it can be used.
pub(crate) fn directory_of(config: &StateConfig) -> Option<PathBuf> {
    config.dir.clone().or_else(default_directory)
}

/// Writes a file that only its owner can read, completely or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = create_private_file(&draft).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    let moved = written.and_then(|()| fs::rename(&draft, path));
    if moved.is_err() {
        let _ = fs::remove_file(&draft);
    }
    moved
}

/// Creates a file that only its owner can read from the start. A file left behind by a killed process may have another
/// mode and is removed.
fn create_private_file(path: &Path) -> std::io::Result<fs::File> {
    let _ = fs::remove_file(path);
    system::create_private(path)
}
