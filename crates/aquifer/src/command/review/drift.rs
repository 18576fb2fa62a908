//! Compares a server with the definitions its adapter was reviewed with (R-DIS-7a).

use std::collections::HashSet;
use std::path::Path;

use aquifer_discovery::adapter::Sidecar;
use aquifer_discovery::digest::{Drift, Pin, drift};
use aquifer_discovery::escape_name;
use aquifer_upstream::Examination;

use crate::sources::sidecar_of;

/// Describes the differences from the reviewed definitions, and returns whether tools were added or removed. `waiting`
/// contains the tools that have to be accepted.
pub(super) fn report(
    file: &Path,
    examination: &Examination,
    waiting: &HashSet<&str>,
) -> anyhow::Result<(String, bool)> {
    let beside = sidecar_of(file);
    let Ok(text) = crate::files::read(&beside) else {
        let words = format!(
            "{} has no sidecar: its tools are compared with the definitions that were served first",
            file.display()
        );
        return Ok((words, false));
    };
    let sidecar: Sidecar =
        serde_json::from_str(&text).map_err(|_| anyhow::anyhow!("cannot read {}", beside.display()))?;
    let reviewed: Vec<Pin> = sidecar.operations.into_iter().map(|operation| operation.pin).collect();
    let drift = drift(&reviewed, &examination.bundle.pins());
    let is_open = !drift.added.is_empty() || !drift.removed.is_empty();
    Ok((listed(&drift, waiting), is_open))
}

fn listed(drift: &Drift, waiting: &HashSet<&str>) -> String {
    if drift.is_empty() {
        return "The server has not changed since the adapter was reviewed".to_owned();
    }
    let mut lines = vec!["The server has changed since the adapter was reviewed:".to_owned()];
    for changed in &drift.changed {
        let parts: Vec<&str> = changed.parts.iter().map(|part| part.as_str()).collect();
        let accepted = if waiting.contains(changed.tool.as_str()) { "" } else { " (accepted)" };
        lines.push(format!("  changed  {}: {}{accepted}", escape_name(&changed.tool), parts.join(", ")));
    }
    lines.extend(drift.removed.iter().map(|tool| format!("  gone     {}", escape_name(tool))));
    lines.extend(drift.added.iter().map(|tool| format!("  new      {}", escape_name(tool))));
    lines.push("Interrogate it again, review what is new and rebuild the adapter".to_owned());
    lines.join("\n")
}
