//! HTTP requests to authorization servers, limited in size, time, redirects and targets.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aquifer_net::{
    BodyError, CheckedResolver, NetworkZone, ResolveError, address, client_builder_for, environment_proxies,
    form_encoded, is_loopback, is_secure, normalized, read_body,
};
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use super::zone::{is_forbidden, may_name};
use crate::oauth::error::LoginError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_REDIRECTS: usize = 3;
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

const NOT_ALLOWED: &str = "the server names an address in a network that it may not name";

/// An HTTP client for the authorization servers of one MCP server.
pub(crate) struct OAuthHttp {
    client: Client,
    server: Url,
    zone: NetworkZone,
    /// The hosts of proxies. Their names resolve to any address.
    proxies: Vec<String>,
}

/// A complete response.
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl OAuthHttp {
    pub(crate) async fn for_server(server: &Url) -> Result<Self, LoginError> {
        if !is_secure(server) {
            return Err(LoginError::new("tokens are sent only over https, or to this machine"));
        }
        let zone = zone_of_server(server).await;
        let proxies = if zone == NetworkZone::Loopback { Vec::new() } else { environment_proxies() };
        let own = server.host_str().map(normalized).unwrap_or_default();
        let resolver = resolver(own, zone, proxies.clone());
        // A person may take long between two requests. A server that closes an idle connection at that very moment would
        // fail the exchange of a code, which cannot be repeated.
        let client = client_builder_for(server)
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .dns_resolver(Arc::new(resolver))
            .build()
            .map_err(|_| LoginError::new("the HTTP client cannot be created"))?;
        Ok(Self { client, server: server.clone(), zone, proxies })
    }

    /// Fetches a document. `None` if it does not exist.
    pub(crate) async fn get(&self, url: &Url) -> Result<Option<Bytes>, LoginError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url)?;
            let response = send(self.client.get(url.clone()).header(ACCEPT, "application/json")).await?;
            let status = response.status();
            if !status.is_redirection() {
                let found = read(response).await?;
                return match status {
                    _ if status.is_success() => Ok(Some(found.body)),
                    _ if status.is_client_error() => Ok(None),
                    _ => Err(LoginError::new(format!("the login metadata is not available (HTTP {status})"))),
                };
            }
            let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            url = next.and_then(|to| url.join(to).ok()).ok_or_else(too_many_redirects)?;
        }
        Err(too_many_redirects())
    }

    /// Posts a form. Redirects are not followed, because the form contains secrets.
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<HeaderValue>,
    ) -> Result<HttpResponse, LoginError> {
        self.check(url)?;
        let mut request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form_encoded(form));
        read(send(body).await?).await
    }

    pub(crate) async fn post_json(&self, url: &Url, body: &Value) -> Result<HttpResponse, LoginError> {
        self.check(url)?;
        let request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        read(send(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await?).await
    }

    /// Sends a request without a login to the MCP server itself.
    pub(crate) async fn probe(&self, headers: &[(String, String)]) -> Result<Response, LoginError> {
        let mut request = self.client.post(self.server.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
        send(request).await
    }

    /// Fails for URLs that the server's metadata may not name. Host names are checked when they are resolved.
    fn check(&self, url: &Url) -> Result<(), LoginError> {
        if url.origin() == self.server.origin() {
            return Ok(());
        }
        let zone = match address(url) {
            Some(address) => Some(NetworkZone::from_ip(address)),
            None if is_loopback(url) => Some(NetworkZone::Loopback),
            None => None,
        };
        let is_proxy = url.host_str().is_some_and(|host| self.proxies.contains(&normalized(host)));
        let allowed = is_secure(url) && !is_proxy && zone.is_none_or(|zone| may_name(self.zone, zone));
        if allowed { Ok(()) } else { Err(LoginError::new(NOT_ALLOWED)) }
    }
}

async fn send(request: RequestBuilder) -> Result<Response, LoginError> {
    request.send().await.map_err(describe_error)
}

async fn read(response: Response) -> Result<HttpResponse, LoginError> {
    let status = response.status();
    let body = read_body(response, MAX_RESPONSE_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge { .. } => LoginError::new("a response during the login is too large"),
        BodyError::Interrupted(cause) => describe_error(cause),
    })?;
    Ok(HttpResponse { status, body })
}

fn describe_error(cause: reqwest::Error) -> LoginError {
    if ResolveError::find_in(&cause) == Some(ResolveError::NotAllowed) {
        return LoginError::new(NOT_ALLOWED);
    }
    let what = if cause.is_timeout() {
        "did not answer in time"
    } else if cause.is_connect() {
        "cannot be reached"
    } else {
        "broke off"
    };
    let host = cause.url().and_then(Url::host_str).unwrap_or("the server");
    LoginError::new(format!("{host} {what}"))
}

fn too_many_redirects() -> LoginError {
    LoginError::new("the login metadata is redirected too often")
}

/// Resolves host names only to addresses that the metadata of a server may name.
fn resolver(own: String, zone: NetworkZone, proxies: Vec<String>) -> CheckedResolver {
    let admits = move |name: &str, address: IpAddr| name == own || may_name(zone, NetworkZone::from_ip(address));
    CheckedResolver::new(admits).with_proxies(proxies)
}

async fn zone_of_server(server: &Url) -> NetworkZone {
    if is_loopback(server) {
        return NetworkZone::Loopback;
    }
    if let Some(address) = address(server) {
        return at_least_private(NetworkZone::from_ip(address));
    }
    let target = (server.host_str().unwrap_or_default(), server.port_or_known_default().unwrap_or(443));
    let Ok(Ok(found)) = tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::lookup_host(target)).await else {
        return NetworkZone::Public;
    };
    let zones: Vec<NetworkZone> = found.map(|address| NetworkZone::from_ip(address.ip())).collect();
    // The strictest zone applies: any public address makes the server public.
    match zones.iter().find(|zone| **zone == NetworkZone::Public).or(zones.first()) {
        Some(zone) => at_least_private(*zone),
        None => NetworkZone::Public,
    }
}

/// The operator may configure a server anywhere, even in a forbidden zone.
fn at_least_private(zone: NetworkZone) -> NetworkZone {
    if is_forbidden(zone) { NetworkZone::Private } else { zone }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::dns::Resolve as _;

    use super::*;

    async fn checked(server: &str, named: &str) -> bool {
        let web = OAuthHttp::for_server(&Url::parse(server).unwrap()).await.unwrap();
        web.check(&Url::parse(named).unwrap()).is_ok()
    }

    #[tokio::test]
    async fn servers_may_name_only_allowed_addresses() {
        for (server, named, expected) in [
            ("https://1.1.1.1/mcp", "https://1.1.1.1/.well-known/x", true),
            ("https://1.1.1.1/mcp", "https://as.example/x", true),
            ("https://1.1.1.1/mcp", "https://9.9.9.9/x", true),
            ("https://1.1.1.1/mcp", "http://9.9.9.9/x", false),
            ("https://1.1.1.1/mcp", "https://10.0.0.1/x", false),
            ("https://1.1.1.1/mcp", "https://169.254.169.254/latest", false),
            ("https://1.1.1.1/mcp", "https://[::ffff:169.254.169.254]/latest", false),
            ("https://1.1.1.1/mcp", "https://[::ffff:0:169.254.169.254]/latest", false),
            ("https://1.1.1.1/mcp", "https://[::ffff:0:10.0.0.1]/x", false),
            ("https://1.1.1.1/mcp", "https://[64:ff9b:1::a9fe:a9fe]/latest", false),
            ("https://10.0.0.1/mcp", "https://[64:ff9b:1::a9fe:a9fe]/latest", false),
            ("https://1.1.1.1/mcp", "https://192.0.0.192/opc", false),
            ("https://1.1.1.1/mcp", "http://127.0.0.1:9/x", false),
            ("https://1.1.1.1/mcp", "https://localhost/x", false),
            ("https://10.0.0.1/mcp", "https://10.0.0.2/x", true),
            ("https://10.0.0.1/mcp", "http://127.0.0.1/x", false),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/x", true),
            ("http://127.0.0.1:1/mcp", "http://169.254.169.254/x", false),
            ("http://127.0.0.1:1/mcp", "file:///etc/passwd", false),
        ] {
            assert_eq!(checked(server, named).await, expected, "{server} names {named}");
        }
        assert!(OAuthHttp::for_server(&Url::parse("http://a.example/mcp").unwrap()).await.is_err());
    }

    #[tokio::test]
    async fn names_that_resolve_to_forbidden_addresses_are_refused() {
        // A proxy does not reach the names that NO_PROXY lists, so they are resolved here.
        for proxies in [Vec::new(), vec!["proxy.example".to_owned()]] {
            let resolver = |own: &str| resolver(own.to_owned(), NetworkZone::Public, proxies.clone());
            let refused = resolver("a.example").resolve("localhost".parse().unwrap()).await.err().unwrap();
            assert_eq!(ResolveError::find_in(&*refused), Some(ResolveError::NotAllowed));
            assert!(resolver("localhost").resolve("localhost".parse().unwrap()).await.is_ok());
        }
    }

    #[tokio::test]
    async fn a_proxy_is_no_login_server() {
        let server = Url::parse("https://1.1.1.1/mcp").unwrap();
        let mut web = OAuthHttp::for_server(&server).await.unwrap();
        web.proxies = vec!["proxy.example".to_owned()];
        assert!(web.check(&Url::parse("https://Proxy.example./token").unwrap()).is_err());
        assert!(web.check(&Url::parse("https://as.example/token").unwrap()).is_ok());
    }
}
