//! MCP servers as sources. This is the only module that uses `aquifer-upstream`; builds without the feature `gateway`
//! use `no_gateway.rs` instead.

mod login;
pub(crate) mod pins;
mod plan;
mod server_label;

use std::sync::Arc;

use aquifer_discovery::adapter::RateLimits;
use aquifer_engine::Source;
use aquifer_engine::clock::SystemClock;

use super::{OnUnreachable, store};
use crate::config::{StateAccess, StateConfig};

pub(crate) use aquifer_upstream::Settings;
pub(crate) use aquifer_upstream::Upstream;
pub(crate) use aquifer_upstream::describe_failure;
pub(crate) use aquifer_upstream::shut_down;
pub(crate) use pins::record_in;
pub(super) use plan::{of_client, plan};

/// Opens a server, which may not be running yet.
pub(super) async fn open(
    mut settings: Settings,
    state: &StateConfig,
    on_unreachable: OnUnreachable,
) -> (Arc<Upstream>, Arc<dyn Source>) {
    settings.cache_dir = settings.cache_dir.filter(|folder| store::may_write(folder, on_unreachable));
    settings.is_cache_read_only = state.access == StateAccess::Inspect;
    settings.is_watched = matches!(on_unreachable, OnUnreachable::Fail | OnUnreachable::ShowCached);
    let upstream = Upstream::open(settings, Arc::new(SystemClock), pins::pinning(state, on_unreachable)).await;
    (upstream.clone(), upstream)
}

/// Gives a server the name of its source. Definitions stay pinned under the server's previous name, unless the operator
/// chose the new one.
pub(super) fn rename(settings: &mut Settings, name: &str, is_chosen: bool) {
    let before = std::mem::replace(&mut settings.name, name.to_owned());
    if !is_chosen {
        settings.pinned_as = Some(before);
    }
}

/// Describes the server, without secrets.
pub(super) fn label(settings: &Settings) -> String {
    server_label::server(&settings.transport)
}

/// The limits that its adapter file declares.
pub(crate) fn rate_limits(settings: &Settings) -> Option<&RateLimits> {
    settings.adapter.as_ref().map(|adapter| &adapter.rate_limits)
}
