//! The configuration section `[gate]`.

use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_gate::GateSettings;
use aquifer_gate::confirm::{ConfirmSettings, WhenNobodyAnswers};
use aquifer_gate::destination::DestinationSettings;
use aquifer_gate::policy::{Cell, PolicySettings, RuleSettings, Strength, TrustPolicySettings};
use aquifer_gate::quota::{CostSettings, DeclaredLimits, QuotaSettings, RateLimitSettings, ThresholdSettings};
use serde::Deserialize;

use super::QuarantineConfig;

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
    destinations: DestinationConfig,
    quarantine: Option<QuarantineConfig>,
}

/// `[gate.confirmation]`: how long confirmations are valid, and how many a caller may request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfirmationConfig {
    ttl_seconds: Option<u64>,
    forbidden_ttl_seconds: Option<u64>,
    quota_ttl_seconds: Option<u64>,
    approval_ttl_seconds: Option<u64>,
    clock_skew_tolerance_seconds: Option<u64>,
    max_issued_per_minute: Option<u64>,
    max_wrong_per_minute: Option<u64>,
    allow_edits: Option<bool>,
    model_confirms: bool,
    when_nobody_answers: Option<WhenNobodyAnswers>,
}

/// `[gate.destinations]`: how long a destination stays known after a person agreed to it, and what texts that a model reads
/// mean for its calls.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DestinationConfig {
    remember_days: Option<u64>,
    /// A call with a destination that stood inside a text.
    from_text: Option<TextRule>,
    /// Every change after a text was read.
    after_untrusted: Option<TextRule>,
}

/// What happens to calls because of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TextRule {
    Allow,
    Confirm,
}

impl GateConfig {
    /// Which definitions of MCP servers have to be accepted before use.
    pub(crate) fn quarantine(&self) -> Option<QuarantineConfig> {
        self.quarantine
    }

    /// This section without its rules.
    pub(crate) fn without_rules(&self) -> Self {
        Self { rule: Vec::new(), ..self.clone() }
    }

    /// The rules, in the order of the file.
    pub(crate) fn rules(&self) -> &[RuleSettings] {
        &self.rule
    }

    /// Whether there are rules or limits for particular operations.
    pub(crate) fn has_rules(&self) -> bool {
        !(self.rule.is_empty() && self.rate_limit.is_empty() && self.quota.is_empty() && self.cost.is_empty())
    }

    /// Lets models confirm their own calls, as an option of the command line does.
    pub(crate) fn let_model_confirm(&mut self) {
        self.confirmation.model_confirms = true;
    }

    /// Whether a setting lets models confirm their own calls.
    pub(crate) fn lets_model_confirm(&self) -> bool {
        self.confirmation.model_confirms
    }

    /// Whether a setting or a rule requires a person's approval.
    pub(crate) fn requires_approval(&self) -> bool {
        let strengths = self.strength.values().copied().chain(self.rule.iter().filter_map(|rule| rule.strength));
        strengths.into_iter().any(|strength| strength == Strength::Approval)
    }

    /// Whether any rule or limit depends on source names.
    pub(crate) fn names_sources(&self) -> bool {
        let rules = self.rule.iter().map(|rule| [&rule.source, &rule.operation]);
        let counted =
            self.rate_limit.iter().map(|limit| &limit.scope).chain(self.quota.iter().map(|quota| &quota.scope));
        let counted = counted.map(|counted| [&counted.source, &counted.operation]);
        let costs = self.cost.iter().map(|cost| [&cost.source, &cost.operation]);
        rules.chain(counted).chain(costs).flatten().any(|words| !words.0.is_empty())
    }

    /// Converts this section to the settings of the gate. `declared` contains the limits in adapter files, and `known` the
    /// known destinations of each source.
    pub(crate) fn settings(
        &self,
        has_several_sources: bool,
        declared: &DeclaredLimits,
        known: &BTreeMap<String, Vec<String>>,
    ) -> GateSettings {
        let default = DestinationSettings::default();
        let days = |days: u64| Duration::from_secs(days.saturating_mul(24 * 60 * 60));
        GateSettings {
            policy: PolicySettings {
                matrix: self.matrix.clone(),
                trust_policy: self.trust_policy.clone(),
                strength: self.strength.clone(),
                model_confirms: self.confirmation.model_confirms,
                rule: self.rule.clone(),
                has_several_sources,
            },
            confirm: self.confirmation.settings(),
            quota: QuotaSettings {
                rate_limit: self.rate_limit.clone(),
                quota: self.quota.clone(),
                cost: self.cost.clone(),
                currency: self.currency.clone(),
                declared: declared.clone(),
            },
            destinations: DestinationSettings {
                known: known.clone(),
                remember_for: self.destinations.remember_days.map_or(default.remember_for, days),
                asks_about_texts: self.destinations.from_text != Some(TextRule::Allow),
                confirms_after_text: self.destinations.after_untrusted == Some(TextRule::Confirm),
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
            approval_lifetime: seconds(self.approval_ttl_seconds, default.approval_lifetime),
            when_nobody_answers: self.when_nobody_answers.unwrap_or(default.when_nobody_answers),
            skew: seconds(self.clock_skew_tolerance_seconds, default.skew),
            issued_per_minute: self.max_issued_per_minute.unwrap_or(default.issued_per_minute),
            wrong_per_minute: self.max_wrong_per_minute.unwrap_or(default.wrong_per_minute),
            allow_edits: self.allow_edits.unwrap_or(default.allow_edits),
        }
    }
}
