//! How far a source is trusted: as the operator says, else by how it came here.

use std::path::Path;

use aquifer_discovery::Adapter;
use aquifer_protocol::trust::Trust;

use crate::safety::TrustSaid;

/// What the operator named themselves is `validated`. An adapter file is what it says up to `generated`, and beyond that what
/// `aquifer trust` recorded for exactly this file. What the operator says beats both.
pub(super) fn of(said: Option<TrustSaid>, adapter: Option<&Adapter>, recorded: Option<Trust>) -> Result<Trust, String> {
    match (said, adapter) {
        (Some(TrustSaid::Level(level)), _) => Ok(level),
        (Some(TrustSaid::File), Some(adapter)) => Ok(adapter.stated_trust),
        (Some(TrustSaid::File), None) => Err("trust = \"file\" needs a source with an adapter file".to_owned()),
        (None, Some(adapter)) => Ok(recorded.map_or(adapter.trust, |level| level.min(adapter.stated_trust))),
        (None, None) => Ok(Trust::Validated),
    }
}

/// What people are told of an adapter file that is not trusted far enough to do much.
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
