//! Resolves host names to allowed addresses. The client connects to exactly these addresses, so a DNS record that
//! changes between two lookups is checked each time.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressPolicy;

/// The maximum number of addresses considered for one name.
const MAX_ADDRESSES: usize = 64;

/// A resolver that returns only addresses allowed by a policy.
pub(super) struct CheckedResolver {
    pub(super) policy: AddressPolicy,
    /// Resolves host names instead of the operating system.
    pub(super) inner: Option<Arc<dyn Resolve>>,
    /// The hosts of the proxies in the environment. They resolve the host names of targets themselves and may be on a
    /// private network.
    pub(super) proxies: Vec<String>,
}

/// Why a name has no usable address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResolveError {
    /// It does not exist, or the lookup failed.
    #[error("the name cannot be resolved")]
    NotFound,
    /// It has addresses, but none of them is allowed.
    #[error("the name resolves to addresses that are not allowed")]
    NotAllowed,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let text = name.as_str().to_owned();
        let policy = (!self.proxies.contains(&text)).then(|| self.policy.clone());
        let inner = self.inner.clone();
        Box::pin(async move {
            let resolved = look_up(inner, name).await.map_err(|_| ResolveError::NotFound)?;
            let is_empty = resolved.is_empty();
            let admits = |address: &SocketAddr| policy.as_ref().is_none_or(|policy| policy.admits(&text, address.ip()));
            let allowed: Vec<SocketAddr> = resolved.into_iter().filter(admits).collect();
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

/// The hosts of the proxies that the environment configures.
pub(super) fn environment_proxies() -> Vec<String> {
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let values = names.into_iter().filter_map(|name| std::env::var(name).ok()).filter(|value| !value.is_empty());
    let host = |value: String| {
        let text = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&text).ok()?.host_str().map(str::to_owned)
    };
    values.filter_map(host).collect()
}
