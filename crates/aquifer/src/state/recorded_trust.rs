//! Trust levels that an operator assigned to adapter files with `aquifer trust`. A file cannot vouch for itself, and
//! neither can its sender: a level above `generated` counts only on the machine where it was assigned, for exactly the
//! same text.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context;
use aquifer_protocol::hex::hex;
use aquifer_protocol::trust::Trust;
use sha2::{Digest, Sha256};

use super::{NO_DIRECTORY, StateFiles, read_small_file, write_private};
use crate::system::create_private_directory;

impl StateFiles {
    /// Records the trust level of an adapter for the texts of its file and its sidecar.
    pub(crate) fn record_trust<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        level: Trust,
    ) -> anyhow::Result<()> {
        self.prepare()?;
        let file = self.trust_file(texts).context(NO_DIRECTORY)?;
        if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
            create_private_directory(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        write_private(&file, level.as_str().as_bytes()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Forgets the trust level that was recorded for these texts. Returns whether there was one.
    pub(crate) fn forget_trust<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> anyhow::Result<bool> {
        self.prepare()?;
        let file = self.trust_file(texts).context(NO_DIRECTORY)?;
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot remove {}", file.display())),
        }
    }

    /// The trust level that was recorded for exactly these texts.
    pub(crate) fn recorded_trust<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Option<Trust> {
        let file = self.trust_file(texts).filter(|file| fs::exists(file).unwrap_or_default())?;
        let text = read_small_file(&file).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let level = text.as_deref().and_then(Trust::from_name);
        if level.is_none() {
            tracing::warn!(
                "{} holds no trust level, so it does not count. Assign it again with aquifer trust",
                file.display()
            );
        }
        level
    }

    fn trust_file<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        for text in texts {
            // The length separates adjacent texts.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        let digest = hex(&hash.finalize());
        self.directory.as_ref().map(|directory| directory.join("trust").join(digest))
    }
}
