//! Resolves names to the addresses that requests may go to. The client connects to exactly these addresses, so an answer
//! that changes between two lookups is checked each time.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressPolicy;

/// Addresses of one name that are considered.
const MAX_ADDRESSES: usize = 64;

/// Resolves names, with a policy.
pub(super) struct CheckedResolver {
    pub(super) policy: AddressPolicy,
    /// Resolves names, if not the operating system.
    pub(super) inner: Option<Arc<dyn Resolve>>,
    /// Proxies of the environment. They resolve the names of targets themselves and may be on a private network.
    pub(super) proxies: Vec<String>,
}

/// Why a name has no usable address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResolveError {
    /// It does not exist, or the lookup failed.
    #[error("the name cannot be resolved")]
    NotFound,
    /// It has addresses, but none that requests may go to.
    #[error("the name resolves to addresses that are not allowed")]
    NotAllowed,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let text = name.as_str().to_owned();
        let policy = (!self.proxies.contains(&text)).then(|| self.policy.clone());
        let inner = self.inner.clone();
        Box::pin(async move {
            let found = look_up(inner, name).await.map_err(|_| ResolveError::NotFound)?;
            let is_empty = found.is_empty();
            let admits = |to: &SocketAddr| policy.as_ref().is_none_or(|policy| policy.admits(&text, to.ip()));
            let allowed: Vec<SocketAddr> = found.into_iter().filter(admits).collect();
            if allowed.is_empty() {
                return Err(if is_empty { ResolveError::NotFound } else { ResolveError::NotAllowed }.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

async fn look_up(
    inner: Option<Arc<dyn Resolve>>,
    name: Name,
) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
    match inner {
        Some(inner) => Ok(inner.resolve(name).await?.take(MAX_ADDRESSES).collect()),
        None => Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.take(MAX_ADDRESSES).collect()),
    }
}

/// The hosts of the proxies that the environment names.
pub(super) fn environment_proxies() -> Vec<String> {
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let values = names.into_iter().filter_map(|name| std::env::var(name).ok()).filter(|value| !value.is_empty());
    let host = |value: String| {
        let text = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&text).ok()?.host_str().map(str::to_owned)
    };
    values.filter_map(host).collect()
}
