//! Replaces the construction of adapters from descriptions in builds without the feature `rest`.

use aquifer_discovery::adapter::AdapterFiles;

use crate::cli::BuildArgs;
use crate::config::feature;

pub(crate) fn is_description(_text: &str) -> bool {
    false
}

pub(crate) async fn build(
    _target: &str,
    _name: Option<String>,
    _arguments: &BuildArgs,
) -> anyhow::Result<AdapterFiles> {
    Err(feature::missing("support for HTTP APIs", "rest"))
}
