//! The admin secret, which a person needs to approve calls. Only its hash is stored, so that reading the file does not
//! reveal it.

use std::path::Path;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use crate::config::StateConfig;
use crate::state::{self, StateFiles};
use crate::terminal;

/// The environment variable with the secret, used if none was created.
const VARIABLE: &str = "AQUIFER_ADMIN_SECRET";

/// The minimum length of a secret from the environment.
const MIN_LEN: usize = 16;

/// Letters and digits that cannot be confused.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The hash of the admin secret.
pub(crate) struct Admin([u8; 32]);

impl Admin {
    /// Loads the secret, if there is one: the created one, otherwise the one in the environment. A created secret takes
    /// precedence, because whoever starts the command controls its environment.
    pub(crate) fn load(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        if let Some(admin) = Self::from_file(state)? {
            return Ok(Some(admin));
        }
        let Some(secret) = std::env::var(VARIABLE).ok().filter(|secret| !secret.is_empty()) else { return Ok(None) };
        if secret.len() < MIN_LEN {
            bail!("{VARIABLE} must have at least {MIN_LEN} characters");
        }
        Ok(Some(Self(hash(&secret))))
    }

    /// Reads the hash of the created secret, if there is one.
    fn from_file(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        let Some(file) = StateFiles::new(state)?.admin_path() else { return Ok(None) };
        let bytes = match state::read_small_file(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        let hash = bytes.try_into().map(Self);
        hash.map(Some)
            .map_err(|_| anyhow::anyhow!("{} holds no secret. Remove it to have a new one created", file.display()))
    }

    /// Creates a secret and stores its hash. This is the only time the secret is returned.
    pub(crate) fn create(state: &StateConfig) -> anyhow::Result<String> {
        let file = StateFiles::new(state)?.admin().context("there is no directory for the secret. Set state.dir")?;
        let secret = new_secret()?;
        write_hash(&file, &hash(&secret))?;
        Ok(secret)
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, typed: &str) -> bool {
        self.0.ct_eq(&hash(typed)).into()
    }

    /// Asks a person to type the secret in the terminal.
    pub(crate) fn ask(&self) -> anyhow::Result<()> {
        let typed = terminal::secret("Admin secret: ")?;
        if self.matches(&typed) { Ok(()) } else { bail!("this is not the admin secret. Nothing was done") }
    }
}

/// The hash of a secret, ignoring its grouping and case.
fn hash(secret: &str) -> [u8; 32] {
    let plain: String =
        secret.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_lowercase).collect();
    Sha256::digest(plain.as_bytes()).into()
}

/// Creates a secret of 256 bits in groups that can be read aloud: 52 characters of five bits each.
fn new_secret() -> anyhow::Result<String> {
    let mut bits = [0_u8; 52];
    getrandom::fill(&mut bits).context("cannot get random bytes from the system")?;
    let characters: Vec<u8> = bits.iter().filter_map(|bits| ALPHABET.get(usize::from(bits % 32)).copied()).collect();
    let groups: Vec<String> = characters.chunks(4).map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    Ok(groups.join("-"))
}

fn write_hash(file: &Path, hash: &[u8; 32]) -> anyhow::Result<()> {
    state::write_private(file, hash).with_context(|| format!("cannot write {}", file.display()))
}
