//! The admin secret: what a person shows who approves. Only its hash is kept, so that whoever reads the file has not got
//! the secret.

use std::path::Path;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::terminal;
use crate::config::StateConfig;
use crate::state::{self, Kept};

/// Holds the secret where none was made.
const VARIABLE: &str = "AQUIFER_ADMIN_SECRET";

/// A secret from the environment must have as many characters.
const MIN_LEN: usize = 16;

/// Letters and digits that nobody mistakes for each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// What is known of the secret.
pub(crate) struct Admin([u8; 32]);

impl Admin {
    /// The secret in force, if there is one: the one that was made, else the one in the environment. Not the other way
    /// round: whoever starts the command chooses its environment.
    pub(crate) fn known(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        if let Some(kept) = Self::kept(state)? {
            return Ok(Some(kept));
        }
        let Some(secret) = std::env::var(VARIABLE).ok().filter(|secret| !secret.is_empty()) else { return Ok(None) };
        if secret.len() < MIN_LEN {
            bail!("{VARIABLE} must have at least {MIN_LEN} characters");
        }
        Ok(Some(Self(hash(&secret))))
    }

    /// The secret that was made, if one was.
    fn kept(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        let Ok(file) = Kept::of(state)?.admin() else { return Ok(None) };
        let bytes = match state::read_small_file(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        let known = bytes.try_into().map(Self);
        known
            .map(Some)
            .map_err(|_| anyhow::anyhow!("{} holds no secret. Remove it to have a new one created", file.display()))
    }

    /// Makes a secret and keeps its hash. It is told this one time.
    pub(crate) fn make(state: &StateConfig) -> anyhow::Result<String> {
        let file = Kept::of(state)?.admin().context("there is no directory for the secret. Set state.dir")?;
        let secret = new_secret()?;
        keep(&file, &hash(&secret))?;
        Ok(secret)
    }

    /// Whether this is the secret. Takes as long whatever is wrong with it.
    pub(crate) fn is(&self, typed: &str) -> bool {
        self.0.ct_eq(&hash(typed)).into()
    }

    /// Has a person type the secret at the terminal.
    pub(crate) fn ask(&self) -> anyhow::Result<()> {
        let typed = terminal::secret("Admin secret: ")?;
        if self.is(&typed) { Ok(()) } else { bail!("this is not the admin secret. Nothing was done") }
    }
}

/// The hash of a secret, however it is grouped and cased.
fn hash(secret: &str) -> [u8; 32] {
    let plain: String =
        secret.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_lowercase).collect();
    Sha256::digest(plain.as_bytes()).into()
}

/// 256 bits, in groups that can be read out: five bits a letter, 52 letters.
fn new_secret() -> anyhow::Result<String> {
    let mut bits = [0_u8; 52];
    getrandom::fill(&mut bits).context("cannot get random bytes from the system")?;
    let letters: Vec<u8> = bits.iter().filter_map(|bits| ALPHABET.get(usize::from(bits % 32)).copied()).collect();
    let groups: Vec<String> = letters.chunks(4).map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    Ok(groups.join("-"))
}

fn keep(file: &Path, hash: &[u8; 32]) -> anyhow::Result<()> {
    state::write_private(file, hash).with_context(|| format!("cannot write {}", file.display()))
}
