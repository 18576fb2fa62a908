//! How long confirmations hold, and how many of them a caller may ask for.

use std::time::Duration;

use aquifer_protocol::danger::Danger;

/// How long confirmations hold, and how many of them a caller may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmSettings {
    /// How long a token holds. At most fifteen minutes.
    pub lifetime: Duration,
    /// How long a token for a forbidden operation holds. At most five minutes.
    pub forbidden_lifetime: Duration,
    /// How long a token to go on after a quota's pause holds. At most ten minutes.
    pub quota_lifetime: Duration,
    /// How far clocks of several machines may be apart. At most five minutes.
    pub skew: Duration,
    /// How many tokens and questions a caller gets in a minute.
    pub issued_per_minute: u64,
    /// How many tokens that are wrong a caller may try in a minute.
    pub wrong_per_minute: u64,
}

impl Default for ConfirmSettings {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(5 * 60),
            forbidden_lifetime: Duration::from_secs(2 * 60),
            quota_lifetime: Duration::from_secs(5 * 60),
            skew: Duration::from_secs(30),
            issued_per_minute: 60,
            wrong_per_minute: 10,
        }
    }
}

/// A setting outside of what the specification allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is {value} seconds, allowed are {least} to {most}")]
pub struct ConfirmSettingsError {
    /// Which.
    pub name: &'static str,
    /// What was set.
    pub value: u64,
    /// The least allowed.
    pub least: u64,
    /// The most allowed.
    pub most: u64,
}

impl ConfirmSettings {
    /// No token holds longer, whatever is set, skew included.
    pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs((15 + 5) * 60);

    /// Whether every duration is within what the specification allows.
    pub fn check(&self) -> Result<(), ConfirmSettingsError> {
        let ranges = [
            ("ttl_seconds", self.lifetime, 1, 15 * 60),
            ("forbidden_ttl_seconds", self.forbidden_lifetime, 1, 5 * 60),
            ("quota_ttl_seconds", self.quota_lifetime, 1, 10 * 60),
            ("clock_skew_tolerance_seconds", self.skew, 0, 300),
        ];
        for (name, value, least, most) in ranges {
            if value < Duration::from_secs(least) || value > Duration::from_secs(most) {
                return Err(ConfirmSettingsError { name, value: value.as_secs(), least, most });
            }
        }
        Ok(())
    }

    pub(super) fn lifetime_of(&self, danger: Danger) -> Duration {
        if danger == Danger::Forbidden { self.forbidden_lifetime } else { self.lifetime }
    }
}
