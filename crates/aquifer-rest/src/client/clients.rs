//! The HTTP clients of a target: one for loopback URLs, and one for all others, which may use a proxy.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Url};

use super::address::{AddressPolicy, is_loopback};
use super::resolver::{CheckedResolver, environment_proxies};
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
    let resolver = CheckedResolver { policy: policy.clone(), inner: settings.resolver.clone(), proxies };
    // reqwest must not resend anything by itself: its redirect policy would repeat request bodies, and its retry policy
    // repeats requests that an HTTP/2 server claims to have refused. hyper still resends a request if an idle
    // connection turns out to be closed before the first byte was written.
    // Fails if it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout((settings.timeout / 2).min(MAX_CONNECT_TIMEOUT))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .pool_max_idle_per_host(settings.max_concurrent.max(1))
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(resolver))
        .user_agent(concat!("aquifer/", env!("CARGO_PKG_VERSION")));
    for bundle in &settings.root_certificates {
        let invalid = |_| RestProblem::InvalidRequest("a trusted certificate is not valid PEM".to_owned());
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(bundle).map_err(invalid)?);
    }
    Ok(builder)
}
