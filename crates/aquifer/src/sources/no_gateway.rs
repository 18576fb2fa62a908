//! Replaces MCP servers in builds without the feature `gateway`: the same types, without values. A source that needs
//! one is planned as invalid, so that the other sources of the configuration are served.

use std::path::Path;
use std::sync::Arc;

use aquifer_discovery::adapter::RateLimits;
use aquifer_discovery::servers::{Environment, Server};
use aquifer_engine::Source;
use aquifer_gate::audit::Audit;
use aquifer_protocol::error::Failure;

use super::{InvalidSource, OnUnreachable, Plan, Plans};
use crate::config::feature;
use crate::config::{Config, SourceConfig, StateConfig};
use crate::state::StateFiles;

pub(crate) enum Settings {}

pub(crate) enum Upstream {}

impl Upstream {
    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) async fn ready(&self) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn is_known(&self) -> bool {
        match *self {}
    }

    pub(crate) fn is_connected(&self) -> bool {
        match *self {}
    }
}

pub(super) fn plan(source: &SourceConfig, _state_files: &StateFiles) -> Result<Plan, InvalidSource> {
    Err(invalid(source.name.as_deref().unwrap_or("mcp")))
}

pub(super) fn of_client(
    server: &Server,
    _file: &str,
    _environment: &Environment<'_>,
    _source: &SourceConfig,
    _state_files: &StateFiles,
) -> Result<Plan, InvalidSource> {
    Err(invalid(&server.name))
}

fn invalid(name: &str) -> InvalidSource {
    InvalidSource { name: name.to_owned(), why: feature::missing("support for MCP servers", "gateway").to_string() }
}

pub(super) async fn open(
    settings: Settings,
    _state: &StateConfig,
    _absence: OnUnreachable,
) -> (Arc<Upstream>, Arc<dyn Source>) {
    match settings {}
}

pub(super) fn rename(settings: &mut Settings, _name: &str, _is_chosen: bool) {
    match *settings {}
}

pub(super) fn label(settings: &Settings) -> String {
    match *settings {}
}

pub(crate) fn rate_limits(settings: &Settings) -> Option<&RateLimits> {
    match *settings {}
}

impl Plans {
    pub(crate) fn log_in(&mut self, _config: Option<&Path>, _state_files: &StateFiles) {}

    pub(super) fn pin_definitions(&mut self, _config: &Config) {}
}

/// There is nothing to stop.
pub(crate) async fn shut_down() {}

/// Nothing is ever quarantined.
pub(crate) fn record_in(_audit: &Audit) {}

/// Describes a failure to the operator, with its cause.
pub(crate) fn describe_failure(failure: &Failure) -> String {
    match failure.cause() {
        Some(cause) => format!("{} ({})", failure.message(), cause.trim()),
        None => failure.message().to_owned(),
    }
}
