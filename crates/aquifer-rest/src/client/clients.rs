//! The HTTP clients of a target: one for loopback URLs, and one for all others, which may use a proxy.

use std::sync::Arc;
use std::time::Duration;

use aquifer_net::{CheckedResolver, client_builder, environment_proxies, is_loopback};
use reqwest::{Certificate, Client, ClientBuilder, Url};

use super::address::AddressPolicy;
use super::settings::ClientSettings;
use crate::error::RestProblem;

const MAX_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEADER_BYTES: u32 = 64 * 1024;

/// Clients that differ only in their use of proxies.
pub(super) struct Clients {
    /// Uses the proxies of the environment. `None` if every URL is a loopback URL.
    remote: Option<Client>,
    /// Uses no proxy. `None` if no URL is a loopback URL.
    local: Option<Client>,
}

impl Clients {
    pub(super) fn new<'u>(
        settings: &ClientSettings,
        policy: &AddressPolicy,
        urls: impl Iterator<Item = &'u Url>,
    ) -> Result<Self, RestProblem> {
        let (local, remote): (Vec<&Url>, Vec<&Url>) = urls.partition(|url| is_loopback(url));
        let build = |proxies: Vec<String>, no_proxy: bool| {
            let builder = builder(settings, policy, proxies)?;
            let builder = if no_proxy { builder.no_proxy() } else { builder };
            builder.build().map_err(|cause| RestProblem::InvalidRequest(cause.without_url().to_string()))
        };
        Ok(Self {
            remote: (!remote.is_empty()).then(|| build(environment_proxies(), false)).transpose()?,
            local: (!local.is_empty()).then(|| build(Vec::new(), true)).transpose()?,
        })
    }

    /// The client for a URL.
    pub(super) fn get(&self, url: &Url) -> Result<&Client, RestProblem> {
        let client = if is_loopback(url) { &self.local } else { &self.remote };
        client.as_ref().ok_or(RestProblem::ForbiddenTarget("the URL is not on a configured host"))
    }
}

fn builder(
    settings: &ClientSettings,
    policy: &AddressPolicy,
    proxies: Vec<String>,
) -> Result<ClientBuilder, RestProblem> {
    let policy = policy.clone();
    let resolver = CheckedResolver::new(move |name, address| policy.admits(name, address))
        .with_proxies(proxies)
        .with_inner(settings.resolver.clone());
    let mut builder = client_builder()
        .connect_timeout((settings.timeout / 2).min(MAX_CONNECT_TIMEOUT))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .pool_max_idle_per_host(settings.max_concurrent.max(1))
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .dns_resolver(Arc::new(resolver));
    for bundle in &settings.root_certificates {
        let invalid = |_| RestProblem::InvalidRequest("a trusted certificate is not valid PEM".to_owned());
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(bundle).map_err(invalid)?);
    }
    Ok(builder)
}
