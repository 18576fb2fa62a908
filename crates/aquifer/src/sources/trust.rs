//! The trust level of a source: the operator's setting, otherwise a default for its kind.

use std::path::Path;

use aquifer_discovery::Adapter;
use aquifer_engine::Offering;
use aquifer_protocol::trust::Trust;

use crate::config::TrustSetting;
use crate::state::Validations;

/// Resolves the trust level of a source. The operator's setting takes precedence. Without one, an adapter file has the
/// level it claims up to `generated`, or the level that `aquifer trust` recorded for exactly this file; other sources
/// are `accepted`. Nobody's word makes a source `validated`: that takes the report of a conformance run, which is
/// compared with the operations when they are known.
pub(super) fn resolve(
    setting: Option<TrustSetting>,
    adapter: Option<&Adapter>,
    recorded: Option<Trust>,
) -> Result<Trust, String> {
    let level = match (setting, adapter) {
        (Some(TrustSetting::Level(level)), _) => level,
        (Some(TrustSetting::File), Some(adapter)) => adapter.stated_trust,
        (Some(TrustSetting::File), None) => {
            return Err("trust = \"file\" needs a source with an adapter file".to_owned());
        }
        (None, Some(adapter)) => match recorded {
            // The file does not contain it: it is not a published level.
            Some(Trust::Accepted) => Trust::Accepted.max(adapter.trust),
            Some(level) => level.min(adapter.stated_trust),
            None => adapter.trust,
        },
        (None, None) => Trust::Accepted,
    };
    Ok(if level == Trust::Validated { Trust::Accepted } else { level })
}

/// A warning about a source that the operator calls `validated`, although no report says so for its operations.
pub(super) fn unearned(
    name: &str,
    setting: Option<TrustSetting>,
    offering: &Offering,
    reports: &Validations,
) -> Option<String> {
    if setting != Some(TrustSetting::Level(Trust::Validated)) || reports.find(offering).is_some() {
        return None;
    }
    let why = match reports.latest() {
        None => "no conformance run of it is recorded".to_owned(),
        Some(report) => format!("its operations differ from those tested on {}", report.validated_at),
    };
    Some(format!(
        "'{name}' counts as '{}', not as '{}': {why}. Run 'aquifer conformance SOURCE --allow-writes' on test data",
        Trust::Accepted,
        Trust::Validated
    ))
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
         --to LEVEL --reason …, set trust = \"accepted\" for it in the configuration, or use --trust accepted"
    ))
}
