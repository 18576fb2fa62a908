//! Decisions given on the command line.

use std::collections::HashSet;

use anyhow::{Context, bail};
use aquifer_discovery::digest::pin;
use aquifer_discovery::overrides::Override;
use aquifer_discovery::text::clean;
use aquifer_discovery::{Bundle, Overrides};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::suggest;

use super::select;
use crate::cli::ReviewArgs;

const DANGERS: [Danger; 5] =
    [Danger::Safe, Danger::Reversible, Danger::Destructive, Danger::Dangerous, Danger::Forbidden];

/// Applies the decisions on the command line. `accepted` contains exact tool names. For a quarantined tool, `--accept`
/// accepts its definition, and its category only if that needs review.
pub(super) fn apply_arguments(
    arguments: &ReviewArgs,
    accepted: &[String],
    quarantined: &HashSet<&str>,
    bundle: &Bundle,
    overrides: &mut Overrides,
) -> anyhow::Result<()> {
    for (tool, word) in pairs(&arguments.endpoints)? {
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

/// The category of this name.
pub(crate) fn category(word: &str) -> anyhow::Result<Category> {
    let found = Category::ALL.into_iter().find(|category| category.as_str().eq_ignore_ascii_case(word));
    found.with_context(|| format!("unknown category '{word}'. Use {}", Category::ALL.map(Category::as_str).join(", ")))
}

/// The danger level of this name.
pub(crate) fn danger(word: &str) -> anyhow::Result<Danger> {
    let found = DANGERS.into_iter().find(|danger| danger.as_str().eq_ignore_ascii_case(word));
    found.with_context(|| format!("unknown danger level '{word}'. Use {}", DANGERS.map(Danger::as_str).join(", ")))
}

/// The decision about the current definition of a tool. A decision about an earlier definition is replaced.
pub(crate) fn decision<'o>(
    bundle: &Bundle,
    overrides: &'o mut Overrides,
    called: &str,
) -> anyhow::Result<&'o mut Override> {
    let operations = &bundle.normalized_bundle.operations;
    let Some(made) = operations.iter().find(|made| made.source_tool_name == called) else {
        let names = operations.iter().map(|made| made.source_tool_name.as_str());
        let near = suggest::nearest(called, names).map(|name| format!(". Did you mean '{}'?", clean(name)));
        bail!("there is no tool '{called}'{}", near.unwrap_or_default());
    };
    let tools = bundle.tools();
    let tool = tools.iter().find(|tool| tool.name == made.source_tool_name).context("the tool does not exist")?;
    let digest = pin(tool).digest;
    let index = match overrides.tools.iter().position(|(name, _)| name == &tool.name) {
        Some(index) => index,
        None => {
            overrides.tools.push((tool.name.clone(), Override::default()));
            overrides.tools.len() - 1
        }
    };
    let (_, decided) = overrides.tools.get_mut(index).context("the decision does not exist")?;
    if decided.digest.as_ref().is_some_and(|known| *known != digest) {
        *decided = Override::default();
    }
    decided.digest = Some(digest);
    Ok(decided)
}
