//! What outlives the process: the secret that cursors are sealed with, what MCP servers said they offer, logins, and
//! what the gate keeps. All of it is its owner's alone.

mod directory;
mod recorded_trust;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use aquifer_query::CursorKey;
use sha2::{Digest, Sha256};

use crate::config::StateConfig;

pub(crate) use directory::close_to_others;
pub(crate) use directory::create as create_private_directory;

/// What is in the state directory, besides the store, which looks after its own files.
const ENTRIES: &[&str] = &["cursor.key", "admin.key", "catalogues", "logins", "audit", "trust"];

/// Keys and hashes are smaller.
const MAX_SMALL_FILE_BYTES: u64 = 64 * 1024;

/// A configured secret must have as many characters.
const MIN_SECRET_LEN: usize = 16;

/// Where things are kept.
pub(crate) struct Kept {
    directory: Option<PathBuf>,
}

impl Kept {
    /// The directory that the configuration names: an error if others could change what is in it. Else the usual one, if
    /// it can be used.
    pub(crate) fn of(config: &StateConfig) -> anyhow::Result<Self> {
        if let Some(chosen) = &config.dir {
            directory::check(chosen)?;
            return Ok(Self { directory: Some(chosen.clone()) });
        }
        let is_usable = |found: &PathBuf| {
            // Whoever needs it says what follows from that.
            directory::check(found).inspect_err(|error| tracing::warn!("{error:#}")).is_ok()
        };
        Ok(Self { directory: default_directory().filter(is_usable) })
    }

    /// The directory, created if it is missing.
    fn prepare(&self) -> anyhow::Result<&Path> {
        let directory = self.directory.as_deref().context("there is no state directory. Set state.dir")?;
        directory::prepare(directory)?;
        ENTRIES.iter().for_each(|entry| close_to_others(&directory.join(entry)));
        Ok(directory)
    }

    /// What MCP servers said they offer, so that nobody waits for them to start.
    pub(crate) fn catalogues(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("catalogues"))
    }

    /// Confirmations, approvals, quotas and the heads of the audit.
    pub(crate) fn store(&self) -> anyhow::Result<PathBuf> {
        Ok(self.prepare()?.join("state.sqlite"))
    }

    /// The hash of the admin secret.
    pub(crate) fn admin(&self) -> anyhow::Result<PathBuf> {
        Ok(self.prepare()?.join("admin.key"))
    }

    /// Logins to MCP servers on the web.
    pub(crate) fn logins(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("logins"))
    }
}

/// The secret of the configuration, else the one in the state directory, which is made if it is not there.
pub(crate) fn cursor_key(config: &StateConfig) -> anyhow::Result<CursorKey> {
    if let Some(secret) = configured_secret(config)? {
        return Ok(CursorKey::new(Sha256::digest(secret.as_bytes()).into()));
    }
    let place = Kept::of(config)?;
    match place.prepare().and_then(kept) {
        Ok(secret) => Ok(CursorKey::new(secret)),
        Err(error) => {
            tracing::info!("cursors will be invalid after a restart: {error:#}");
            let mut secret = [0; 32];
            getrandom::fill(&mut secret).context("cannot get random bytes from the system")?;
            Ok(CursorKey::new(secret))
        }
    }
}

/// Whether the secret of the configuration, if it has one, can be used.
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

/// Where state is kept if nobody says: `$XDG_STATE_HOME/aquifer` or `~/.local/state/aquifer`.
fn default_directory() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = from("XDG_STATE_HOME").or_else(|| from("HOME").map(|home| home.join(".local/state")));
    base.map(|base| base.join("aquifer"))
}

fn kept(directory: &Path) -> anyhow::Result<[u8; 32]> {
    let path = directory.join("cursor.key");
    if !path.exists() {
        make(directory, &path)?;
    }
    let bytes = read_small_file(&path).with_context(|| format!("cannot read {}", path.display()))?;
    bytes
        .try_into()
        .map_err(|_| anyhow::anyhow!("{} is not a valid key. Remove it to have a new one created", path.display()))
}

/// Written beside its place and then moved there, so that two processes that start at once end up with one key.
fn make(directory: &Path, path: &Path) -> anyhow::Result<()> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).context("cannot get random bytes from the system")?;
    let draft = directory.join(format!("cursor.key.{}", std::process::id()));
    let written = create_private_file(&draft).and_then(|mut file| file.write_all(&secret));
    written.with_context(|| format!("cannot write {}", draft.display()))?;
    // A link fails where another process was faster: its key is then the one.
    let _ = fs::hard_link(&draft, path);
    let _ = fs::remove_file(&draft);
    if path.exists() { Ok(()) } else { bail!("cannot write {}", path.display()) }
}

/// Reads a small file. Anything but a regular file is an error: a pipe would keep the command waiting for ever.
pub(crate) fn read_small_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if found.len() > MAX_SMALL_FILE_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    fs::read(path)
}

/// Where state would be, usable or not.
pub(crate) fn directory_of(config: &StateConfig) -> Option<PathBuf> {
    config.dir.clone().or_else(default_directory)
}

/// Writes a file that only its owner can read, whole or not at all.
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

/// A new file that only its owner can read, from the moment it is there. What a process that was killed left behind may
/// have another mode, and goes.
fn create_private_file(path: &Path) -> std::io::Result<fs::File> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
