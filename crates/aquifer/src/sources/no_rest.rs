//! Replaces HTTP APIs in builds without the feature `rest`: the same functions, and a type without values.

use std::path::PathBuf;
use std::sync::Arc;

use aquifer_discovery::adapter::RateLimits;
use aquifer_engine::Source;

use super::{InvalidSource, OnUnreachable, Plan};
use crate::config::feature;
use crate::config::{SourceConfig, StateConfig};
use crate::state::StateFiles;

pub(crate) enum Settings {}

pub(super) fn is_rest_adapter(_file: &str) -> bool {
    false
}

pub(super) fn plan(source: &SourceConfig, _state_files: &StateFiles) -> Result<Plan, InvalidSource> {
    let name = source.name.clone().unwrap_or_else(|| "api".to_owned());
    Err(InvalidSource { name, why: feature::missing("support for HTTP APIs", "rest").to_string() })
}

pub(super) fn files(_source: &SourceConfig) -> Vec<PathBuf> {
    Vec::new()
}

pub(super) fn rename(settings: &mut Settings, _name: &str) {
    match *settings {}
}

pub(super) fn label(settings: &Settings) -> String {
    match *settings {}
}

pub(crate) fn rate_limits(settings: &Settings) -> Option<&RateLimits> {
    match *settings {}
}

pub(super) async fn open(
    settings: Settings,
    _source: &SourceConfig,
    _state: &StateConfig,
    _absence: OnUnreachable,
) -> anyhow::Result<Arc<dyn Source>> {
    match settings {}
}
