//! Decisions given on the command line.

use std::collections::HashSet;

use anyhow::Context;
use aquifer_discovery::{Bundle, Overrides};

use super::select;
use crate::cli::ReviewArgs;
use crate::sources::tool_decision::{category, danger, decision};

/// Applies the decisions on the command line. `accepted` contains exact tool names. For a quarantined tool, `--accept`
/// accepts its definition, and its category only if that needs review.
pub(super) fn apply_arguments(
    arguments: &ReviewArgs,
    accepted: &[String],
    quarantined: &HashSet<&str>,
    bundle: &Bundle,
    overrides: &mut Overrides,
) -> anyhow::Result<()> {
    for (tool, word) in pairs(&arguments.categories)? {
        let category = category(word)?;
        decision(bundle, overrides, &exact(bundle, tool)?)?.endpoint = Some(category);
    }
    for (tool, word) in pairs(&arguments.dangers)? {
        let level = danger(word)?;
        decision(bundle, overrides, &exact(bundle, tool)?)?.danger_level = Some(level);
    }
    for word in accepted {
        let made = bundle.normalized_bundle.operations.iter().find(|made| made.source_tool_name == *word);
        if made.is_some_and(|made| quarantined.contains(made.source_tool_name.as_str()) && !made.needs_review) {
            continue;
        }
        decision(bundle, overrides, word)?.reviewed = true;
    }
    if arguments.accept_all {
        for made in bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review) {
            decision(bundle, overrides, &made.source_tool_name)?.reviewed = true;
        }
    }
    Ok(())
}

/// The exact name of the tool that an argument refers to.
fn exact(bundle: &Bundle, word: &str) -> anyhow::Result<String> {
    Ok(select::select_tool(bundle, &[], word)?.map_or_else(|| word.to_owned(), |selected| selected.tool))
}

fn pairs(arguments: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    arguments
        .iter()
        .map(|pair| pair.rsplit_once('=').with_context(|| format!("'{pair}' must be written as TOOL=VALUE")))
        .collect()
}
