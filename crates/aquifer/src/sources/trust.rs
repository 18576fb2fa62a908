//! The trust level of a source: the operator's setting, otherwise a default for its kind.

use std::path::Path;

use aquifer_discovery::Adapter;
use aquifer_protocol::trust::Trust;

use crate::config::TrustSetting;

/// Resolves the trust level of a source. The operator's setting takes precedence. Without one, an adapter file has the
/// level it claims up to `generated`, or the level that `aquifer trust` recorded for exactly this file; other sources
/// are `validated`.
pub(super) fn resolve(
    setting: Option<TrustSetting>,
    adapter: Option<&Adapter>,
    recorded: Option<Trust>,
) -> Result<Trust, String> {
    match (setting, adapter) {
        (Some(TrustSetting::Level(level)), _) => Ok(level),
        (Some(TrustSetting::File), Some(adapter)) => Ok(adapter.stated_trust),
        (Some(TrustSetting::File), None) => Err("trust = \"file\" needs a source with an adapter file".to_owned()),
        (None, Some(adapter)) => Ok(recorded.map_or(adapter.trust, |level| level.min(adapter.stated_trust))),
        (None, None) => Ok(Trust::Validated),
    }
}

/// A remark about an adapter file with a low trust level.
pub(super) fn remark(name: &str, file: &Path, trust: Trust) -> Option<String> {
    let can = match trust {
        Trust::Untested => "can be introspected but not called",
        Trust::Generated => "can only read",
        _ => return None,
    };
    let shown = file.display();
    Some(format!(
        "'{name}' has trust level '{trust}' and {can}. After you have reviewed {shown}, run aquifer trust {shown} \
         --to LEVEL --reason …, set trust = \"validated\" for it in the configuration, or use --trust validated"
    ))
}
