//! The `trust` key of a source.

use aquifer_protocol::trust::Trust;
use serde::{Deserialize, Deserializer};

/// A trust level, or `file` for the level that the adapter file claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustSetting {
    Level(Trust),
    File,
}

impl std::str::FromStr for TrustSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, Trust::from_name(text)) {
            ("file", _) => Ok(TrustSetting::File),
            (_, Some(level)) => Ok(TrustSetting::Level(level)),
            _ => {
                let levels: Vec<&str> = Trust::ALL.iter().map(|level| level.as_str()).collect();
                Err(format!(
                    "trust must be one of {}, or file (the level that an adapter file claims)",
                    levels.join(", ")
                ))
            }
        }
    }
}

/// The form in which it is configured.
impl std::fmt::Display for TrustSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TrustSetting::Level(level) => level.as_str(),
            TrustSetting::File => "file",
        })
    }
}

impl<'de> Deserialize<'de> for TrustSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
