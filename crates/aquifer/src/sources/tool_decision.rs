//! A person's decisions about the tools of a server, as overrides keep them.

use anyhow::{Context, bail};
use aquifer_discovery::digest::pin;
use aquifer_discovery::overrides::Override;
use aquifer_discovery::text::clean;
use aquifer_discovery::{Bundle, Overrides};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::suggest;

const DANGERS: [Danger; 5] =
    [Danger::Safe, Danger::Reversible, Danger::Destructive, Danger::Dangerous, Danger::Forbidden];

/// The category of this name.
pub(crate) fn category(word: &str) -> anyhow::Result<Category> {
    let named = Category::ALL.into_iter().find(|category| category.as_str().eq_ignore_ascii_case(word));
    named.with_context(|| format!("unknown category '{word}'. Use {}", Category::ALL.map(Category::as_str).join(", ")))
}

/// The danger level of this name.
pub(crate) fn danger(word: &str) -> anyhow::Result<Danger> {
    let named = DANGERS.into_iter().find(|danger| danger.as_str().eq_ignore_ascii_case(word));
    named.with_context(|| format!("unknown danger level '{word}'. Use {}", DANGERS.map(Danger::as_str).join(", ")))
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
