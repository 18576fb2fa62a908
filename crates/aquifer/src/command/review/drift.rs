//! Whether a server still says what it said when its adapter was reviewed (R-DIS-7a).

use std::path::Path;

use anyhow::Context;
use aquifer_discovery::adapter::Sidecar;
use aquifer_discovery::digest::{Drift, Part, Pin, drift};
use aquifer_discovery::text::clean;

use super::{call, capture};
use crate::Ending;
use crate::cli::ReviewArgs;
use crate::sources::sidecar_of;

pub(super) async fn run(file: &Path, arguments: &ReviewArgs) -> anyhow::Result<Ending> {
    let beside = sidecar_of(file);
    let text = crate::files::read(&beside)
        .with_context(|| format!("{} has no sidecar to compare with: {}", file.display(), beside.display()))?;
    let sidecar: Sidecar =
        serde_json::from_str(&text).map_err(|_| anyhow::anyhow!("{} cannot be read", beside.display()))?;
    let settings = capture::server(Some(&file.display().to_string()), arguments.name.as_deref(), &arguments.upstream)?;
    let bundle = capture::capture(&settings).await?;
    let reviewed: Vec<Pin> = sidecar.operations.into_iter().map(|operation| operation.pin).collect();
    let found = drift(&reviewed, &bundle.pins());
    call::print(told(&found).trim_end())?;
    Ok(if found.is_empty() { Ending::Done } else { Ending::Failure })
}

fn told(drift: &Drift) -> String {
    if drift.is_empty() {
        return "The server says what it said when the adapter was reviewed".to_owned();
    }
    let mut lines = vec!["The server has changed since the adapter was reviewed:".to_owned()];
    for changed in &drift.changed {
        let parts: Vec<&str> = changed.parts.iter().map(|part| word(*part)).collect();
        lines.push(format!("  changed  {}: {}", clean(&changed.tool), parts.join(", ")));
    }
    lines.extend(drift.removed.iter().map(|tool| format!("  gone     {}", clean(tool))));
    lines.extend(drift.added.iter().map(|tool| format!("  new      {}", clean(tool))));
    lines.push("Interrogate it again, review what is new and build the adapter anew".to_owned());
    lines.join("\n")
}

fn word(part: Part) -> &'static str {
    match part {
        Part::Description => "description",
        Part::InputSchema => "parameters",
        Part::OutputSchema => "result",
        Part::Annotations => "hints",
    }
}
