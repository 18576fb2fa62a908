//! The configuration sections `[gate]` and `[audit]`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::policy::{Cell, PolicySettings, RuleSettings, Strength, TrustPolicySettings};
use aquifer_gate::quota::{CostSettings, QuotaSettings, RateLimitSettings, ThresholdSettings};
use aquifer_protocol::trust::Trust;
use serde::{Deserialize, Deserializer};

use super::SourceFacts;
use crate::config::QuarantineConfig;

const MIB: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// `[gate]`: rules, confirmations and limits.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GateConfig {
    matrix: BTreeMap<String, BTreeMap<String, Cell>>,
    trust_policy: TrustPolicySettings,
    strength: BTreeMap<String, Strength>,
    rule: Vec<RuleSettings>,
    confirmation: ConfirmationConfig,
    rate_limit: Vec<RateLimitSettings>,
    quota: Vec<ThresholdSettings>,
    cost: Vec<CostSettings>,
    currency: Option<String>,
    quarantine: Option<QuarantineConfig>,
}

/// `[gate.confirmation]`: how long confirmations are valid, and how many a caller may request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfirmationConfig {
    ttl_seconds: Option<u64>,
    forbidden_ttl_seconds: Option<u64>,
    quota_ttl_seconds: Option<u64>,
    clock_skew_tolerance_seconds: Option<u64>,
    max_issued_per_minute: Option<u64>,
    max_wrong_per_minute: Option<u64>,
}

impl GateConfig {
    /// Which definitions of MCP servers have to be accepted first.
    pub(crate) fn quarantine(&self) -> Option<QuarantineConfig> {
        self.quarantine
    }

    /// Whether a rule or limit names particular operations.
    pub(crate) fn has_rules(&self) -> bool {
        !(self.rule.is_empty() && self.rate_limit.is_empty() && self.quota.is_empty() && self.cost.is_empty())
    }

    /// Whether a rule or limit depends on the names of sources.
    pub(crate) fn names_sources(&self) -> bool {
        let rules = self.rule.iter().map(|rule| [&rule.source, &rule.operation]);
        let counted =
            self.rate_limit.iter().map(|limit| &limit.scope).chain(self.quota.iter().map(|quota| &quota.scope));
        let counted = counted.map(|counted| [&counted.source, &counted.operation]);
        let costs = self.cost.iter().map(|cost| [&cost.source, &cost.operation]);
        rules.chain(counted).chain(costs).flatten().any(|words| !words.0.is_empty())
    }

    /// Converts this section to the settings of the gate.
    pub(crate) fn settings(&self, sources: &SourceFacts) -> GateSettings {
        GateSettings {
            policy: PolicySettings {
                matrix: self.matrix.clone(),
                trust_policy: self.trust_policy.clone(),
                strength: self.strength.clone(),
                rule: self.rule.clone(),
                has_several_sources: sources.has_several,
            },
            confirm: self.confirmation.settings(),
            quota: QuotaSettings {
                rate_limit: self.rate_limit.clone(),
                quota: self.quota.clone(),
                cost: self.cost.clone(),
                currency: self.currency.clone(),
                declared: sources.limits.clone(),
            },
        }
    }
}

impl ConfirmationConfig {
    fn settings(&self) -> ConfirmSettings {
        let default = ConfirmSettings::default();
        let seconds = |configured: Option<u64>, default: Duration| configured.map_or(default, Duration::from_secs);
        ConfirmSettings {
            lifetime: seconds(self.ttl_seconds, default.lifetime),
            forbidden_lifetime: seconds(self.forbidden_ttl_seconds, default.forbidden_lifetime),
            quota_lifetime: seconds(self.quota_ttl_seconds, default.quota_lifetime),
            skew: seconds(self.clock_skew_tolerance_seconds, default.skew),
            issued_per_minute: self.max_issued_per_minute.unwrap_or(default.issued_per_minute),
            wrong_per_minute: self.max_wrong_per_minute.unwrap_or(default.wrong_per_minute),
        }
    }
}

/// `[audit]`: where decisions and outcomes are recorded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditConfig {
    /// The sinks that get every entry. An empty list turns the audit log off.
    pub(crate) to: Option<Vec<AuditPlace>>,
    /// The directory of the files. Default: in the state directory.
    pub(crate) dir: Option<PathBuf>,
    /// The maximum size of a file, after which a new one is started.
    pub(crate) max_file_bytes: u64,
    /// How many files are kept.
    pub(crate) max_files: u32,
    /// How long the state store keeps entries.
    store_ttl_days: u32,
    /// Whether operations that change something are refused while the audit log cannot be written.
    pub(crate) required: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { to: None, dir: None, max_file_bytes: 16 * MIB, max_files: 16, store_ttl_days: 30, required: true }
    }
}

impl AuditConfig {
    /// How long the state store keeps entries.
    pub(crate) fn kept_in_store(&self) -> Duration {
        DAY * self.store_ttl_days.max(1)
    }
}

/// A sink of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditPlace {
    File,
    Stderr,
    Store,
}

/// The `trust` key of a source: a level, or the level that its adapter file claims.
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
                let known: Vec<&str> = Trust::ALL.iter().map(|level| level.as_str()).collect();
                Err(format!(
                    "trust must be one of {}, or file (the level that an adapter file claims)",
                    known.join(", ")
                ))
            }
        }
    }
}

/// As it is written.
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
