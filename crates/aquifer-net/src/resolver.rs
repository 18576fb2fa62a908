//! Resolves host names to allowed addresses. The client connects to exactly these addresses, so a DNS record that
//! changes between two lookups is checked each time.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::NetworkZone;
use crate::causes::causes;
use crate::host::{is_loopback_host, normalized};

/// The maximum number of addresses considered for one name.
const MAX_ADDRESSES: usize = 64;

/// Decides whether a name may resolve to an address.
type Admits = dyn Fn(&str, IpAddr) -> bool + Send + Sync;

/// A resolver that returns only allowed addresses, and only addresses of this machine for its own names.
pub struct CheckedResolver {
    admits: Arc<Admits>,
    inner: Option<Arc<dyn Resolve>>,
    proxies: Vec<String>,
}

/// Why a name has no usable address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// It does not exist, or the lookup failed.
    #[error("the name cannot be resolved")]
    NotFound,
    /// It has addresses, but none of them is allowed.
    #[error("the name resolves to addresses that are not allowed")]
    NotAllowed,
}

impl ResolveError {
    /// The error of this resolver that caused another one.
    pub fn find_in(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        causes(error).find_map(|cause| cause.downcast_ref().copied())
    }
}

impl CheckedResolver {
    /// Resolves names to the addresses that `admits` allows.
    pub fn new(admits: impl Fn(&str, IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self { admits: Arc::new(admits), inner: None, proxies: Vec::new() }
    }

    /// Resolves the names of these hosts to any address. Proxies resolve the names of targets themselves and may be on a
    /// private network.
    #[must_use]
    pub fn with_proxies(self, proxies: Vec<String>) -> Self {
        Self { proxies, ..self }
    }

    /// Resolves names with another resolver instead of the operating system.
    #[must_use]
    pub fn with_inner(self, inner: Option<Arc<dyn Resolve>>) -> Self {
        Self { inner, ..self }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let text = normalized(name.as_str());
        let admits = (!self.proxies.contains(&text)).then(|| self.admits.clone());
        let inner = self.inner.clone();
        Box::pin(async move {
            let resolved = look_up(inner, name).await.map_err(|_| ResolveError::NotFound)?;
            let is_empty = resolved.is_empty();
            let is_own = is_loopback_host(&text);
            let is_allowed = |address: &SocketAddr| {
                let is_local = NetworkZone::from_ip(address.ip()) == NetworkZone::Loopback;
                (is_local || !is_own) && admits.as_ref().is_none_or(|admits| admits(&text, address.ip()))
            };
            let allowed: Vec<SocketAddr> = resolved.into_iter().filter(is_allowed).collect();
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

/// The hosts of the proxies that the environment configures for encrypted requests. Clients that check addresses send nothing
/// else to other machines, so `HTTP_PROXY` does not count.
pub fn environment_proxies() -> Vec<String> {
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let values = names.into_iter().filter_map(|name| std::env::var(name).ok()).filter(|value| !value.is_empty());
    let host = |value: String| {
        let text = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&text).ok()?.host_str().map(normalized)
    };
    values.filter_map(host).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Resolves every name to these addresses.
    struct Fixed(&'static [&'static str]);

    impl Resolve for Fixed {
        fn resolve(&self, _: Name) -> Resolving {
            let all: Vec<SocketAddr> = self.0.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
            Box::pin(std::future::ready(Ok(Box::new(all.into_iter()) as Addrs)))
        }
    }

    #[tokio::test]
    async fn names_resolve_to_allowed_addresses() {
        let is_public = |_: &str, address: IpAddr| NetworkZone::from_ip(address) == NetworkZone::Public;
        let everything = |_: &str, _: IpAddr| true;
        let resolved = async |resolver: CheckedResolver, name: &str, addresses| {
            let resolver = resolver.with_inner(Some(Arc::new(Fixed(addresses))));
            match resolver.resolve(name.parse().unwrap()).await {
                Ok(found) => Ok(found.map(|address| address.ip().to_string()).collect::<Vec<_>>()),
                Err(error) => Err(ResolveError::find_in(&*error)),
            }
        };
        let public = || CheckedResolver::new(is_public);
        assert_eq!(resolved(public(), "a.example", &["10.0.0.1", "1.1.1.1"]).await.unwrap(), ["1.1.1.1"]);
        assert_eq!(resolved(public(), "a.example", &["10.0.0.1"]).await, Err(Some(ResolveError::NotAllowed)));
        assert_eq!(resolved(public(), "a.example", &[]).await, Err(Some(ResolveError::NotFound)));
        let behind = || public().with_proxies(vec!["proxy.example".to_owned()]);
        assert_eq!(resolved(behind(), "Proxy.example.", &["10.0.0.1"]).await.unwrap(), ["10.0.0.1"]);
        assert_eq!(resolved(behind(), "a.example", &["10.0.0.1"]).await, Err(Some(ResolveError::NotAllowed)));
        // Data for this machine is sent without encryption.
        let any = || CheckedResolver::new(everything);
        assert_eq!(resolved(any(), "a.localhost", &["1.1.1.1"]).await, Err(Some(ResolveError::NotAllowed)));
        assert_eq!(resolved(any(), "localhost", &["1.1.1.1", "127.0.0.1"]).await.unwrap(), ["127.0.0.1"]);
    }
}
