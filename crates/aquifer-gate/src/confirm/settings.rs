//! Settings of confirmations: lifetimes and rates.

use std::time::Duration;

use aquifer_protocol::danger::Danger;
use serde::Deserialize;

const DAY: u64 = 24 * 60 * 60;

/// Limits on the lifetime and the number of confirmations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmSettings {
    /// How long a token is valid. At most fifteen minutes.
    pub lifetime: Duration,
    /// How long a token for a forbidden operation is valid. At most five minutes.
    pub forbidden_lifetime: Duration,
    /// How long a token to continue after a quota's pause is valid. At most ten minutes.
    pub quota_lifetime: Duration,
    /// How long a call waits for an approval, and may run after it. At most thirty days.
    pub approval_lifetime: Duration,
    /// What happens to a call that needs a person if its client cannot ask one.
    pub when_nobody_answers: WhenNobodyAnswers,
    /// How much the clocks of several machines may differ. At most five minutes.
    pub skew: Duration,
    /// How many tokens and questions a caller gets per minute.
    pub issued_per_minute: u64,
    /// How many invalid tokens a caller may try per minute.
    pub wrong_per_minute: u64,
    /// Whether a person may change the parameters of a call before approving it.
    pub allow_edits: bool,
}

/// What happens to a call that needs a person if its client cannot ask one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenNobodyAnswers {
    /// It waits for an approval.
    #[default]
    Queue,
    /// It is denied at once.
    Deny,
}

impl Default for ConfirmSettings {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(5 * 60),
            forbidden_lifetime: Duration::from_secs(2 * 60),
            quota_lifetime: Duration::from_secs(5 * 60),
            approval_lifetime: Duration::from_secs(DAY),
            when_nobody_answers: WhenNobodyAnswers::default(),
            skew: Duration::from_secs(30),
            issued_per_minute: 60,
            wrong_per_minute: 10,
            allow_edits: false,
        }
    }
}

/// A duration outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is {value} seconds, allowed are {min} to {max}")]
pub struct ConfirmSettingsError {
    /// The setting.
    pub name: &'static str,
    /// Its value in seconds.
    pub value: u64,
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

impl ConfirmSettings {
    /// The longest lifetime of any token, including skew.
    pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs((15 + 5) * 60);

    /// Checks that every duration is within its range. The specification sets those of tokens.
    pub fn check(&self) -> Result<(), ConfirmSettingsError> {
        let ranges = [
            ("ttl_seconds", self.lifetime, 1, 15 * 60),
            ("forbidden_ttl_seconds", self.forbidden_lifetime, 1, 5 * 60),
            ("quota_ttl_seconds", self.quota_lifetime, 1, 10 * 60),
            ("approval_ttl_seconds", self.approval_lifetime, 1, 30 * DAY),
            ("clock_skew_tolerance_seconds", self.skew, 0, 300),
        ];
        for (name, value, min, max) in ranges {
            if value < Duration::from_secs(min) || value > Duration::from_secs(max) {
                return Err(ConfirmSettingsError { name, value: value.as_secs(), min, max });
            }
        }
        Ok(())
    }

    pub(super) fn lifetime_for(&self, danger: Danger) -> Duration {
        if danger == Danger::Forbidden { self.forbidden_lifetime } else { self.lifetime }
    }
}
