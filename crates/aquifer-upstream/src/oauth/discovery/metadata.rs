//! The two documents that a login starts with: the metadata of the protected resource and of its authorization server.
//! Only the fields that a login needs are parsed.

use aquifer_net::is_secure;
use reqwest::Url;
use serde::Deserialize;

use crate::oauth::error::LoginError;
use crate::oauth::network::urls;
use crate::oauth::url_serde;

/// Protected resource metadata (RFC 9728).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ProtectedResource {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
}

impl ProtectedResource {
    /// Parses the metadata of a server. Fails if it describes another server, because tokens are requested only for
    /// this one.
    pub(crate) fn read(text: &[u8], server: &Url) -> Result<Self, LoginError> {
        let found: Self = serde_json::from_slice(text)
            .map_err(|_| LoginError::new("the server's login metadata (RFC 9728) is invalid"))?;
        if !urls::covers(&found.resource, server) {
            return Err(LoginError::new("the server's login metadata describes another server and is refused"));
        }
        Ok(found)
    }
}

/// Authorization server metadata (RFC 8414).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    #[serde(with = "url_serde")]
    pub(crate) authorization_endpoint: Url,
    #[serde(with = "url_serde")]
    pub(crate) token_endpoint: Url,
    #[serde(default, with = "url_serde::optional")]
    pub(crate) registration_endpoint: Option<Url>,
    #[serde(default, with = "url_serde::optional")]
    pub(crate) revocation_endpoint: Option<Url>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    /// Whether the server has no metadata, so that the default endpoints of 2025-03-26 are assumed.
    #[serde(skip)]
    pub(crate) is_assumed: bool,
}

impl AuthorizationServer {
    /// Parses the metadata of the named issuer. Fails if the issuer differs, PKCE is not supported, or an endpoint does
    /// not use https.
    pub(crate) fn read(text: &[u8], issuer: &str) -> Result<Self, LoginError> {
        let found = Self::parse(text)?;
        if !urls::is_same_issuer(&found.issuer, issuer) {
            return Err(mismatch());
        }
        found.checked()
    }

    /// Parses metadata from the origin of a server that names no authorization server (2025-03-26). The issuer may have
    /// a path, but must be on the same origin.
    pub(crate) fn read_own(text: &[u8], server: &Url) -> Result<Self, LoginError> {
        let found = Self::parse(text)?;
        if !Url::parse(&found.issuer).is_ok_and(|issuer| issuer.origin() == server.origin()) {
            return Err(mismatch());
        }
        found.checked()
    }

    /// The default endpoints that 2025-03-26 defines for servers without metadata, on their own origin. PKCE is used;
    /// that revision requires servers to check it.
    pub(crate) fn assumed(server: &Url) -> Self {
        let endpoint = |path: &str| urls::with_path(server, path);
        Self {
            issuer: server.origin().ascii_serialization(),
            authorization_endpoint: endpoint("/authorize"),
            token_endpoint: endpoint("/token"),
            registration_endpoint: Some(endpoint("/register")),
            revocation_endpoint: None,
            scopes_supported: Vec::new(),
            code_challenge_methods_supported: Vec::new(),
            token_endpoint_auth_methods_supported: None,
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
            is_assumed: true,
        }
    }

    fn parse(text: &[u8]) -> Result<Self, LoginError> {
        serde_json::from_slice(text).map_err(|_| LoginError::new("the authorization server's metadata is invalid"))
    }

    fn checked(self) -> Result<Self, LoginError> {
        if !self.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(LoginError::new(
                "the authorization server does not announce PKCE with S256; without it codes can be stolen",
            ));
        }
        let all = [Some(&self.authorization_endpoint), Some(&self.token_endpoint)];
        let more = [self.registration_endpoint.as_ref(), self.revocation_endpoint.as_ref()];
        if !all.into_iter().chain(more).flatten().all(is_secure) {
            return Err(LoginError::new("the authorization server has an endpoint without https"));
        }
        Ok(self)
    }
}

fn mismatch() -> LoginError {
    LoginError::new("issuer mismatch: the authorization server names another issuer")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn described(change: impl FnOnce(&mut Value)) -> Result<AuthorizationServer, LoginError> {
        let mut document = json!({
            "issuer": "https://as.example", "authorization_endpoint": "https://as.example/authorize",
            "token_endpoint": "https://as.example/token", "code_challenge_methods_supported": ["plain", "S256"],
        });
        change(&mut document);
        AuthorizationServer::read(document.to_string().as_bytes(), "https://as.example")
    }

    #[test]
    fn valid_metadata_is_accepted() {
        let found = described(|_| {}).unwrap();
        assert_eq!(found.token_endpoint.as_str(), "https://as.example/token");
        assert!(found.registration_endpoint.is_none() && !found.client_id_metadata_document_supported);
    }

    #[test]
    fn invalid_metadata_is_refused() {
        for (name, value, expected) in [
            ("issuer", json!("https://as.example.evil.example"), "issuer"),
            ("issuer", json!("https://as.example/tenant"), "issuer"),
            ("code_challenge_methods_supported", json!(["plain"]), "PKCE"),
            ("code_challenge_methods_supported", json!([]), "PKCE"),
            ("token_endpoint", json!("http://as.example/token"), "https"),
            ("authorization_endpoint", json!("javascript:alert(1)"), "https"),
            ("registration_endpoint", json!("file:///etc/passwd"), "https"),
            ("token_endpoint", json!(5), "is invalid"),
        ] {
            let failure = described(|document| document[name] = value.clone()).unwrap_err();
            assert!(failure.to_string().contains(expected), "{name} {value}: {failure}");
        }
        let absent = described(|document| {
            document.as_object_mut().unwrap().remove("code_challenge_methods_supported");
        });
        assert!(absent.unwrap_err().to_string().contains("PKCE"));
    }

    #[test]
    fn older_servers_may_have_any_issuer_on_their_origin() {
        let server = Url::parse("https://a.example:8443/v1/mcp?key=secret").unwrap();
        let read = |issuer: &str, methods: &[&str]| {
            let document = json!({
                "issuer": issuer, "authorization_endpoint": "https://a.example:8443/oauth/authorize",
                "token_endpoint": "https://a.example:8443/oauth/token", "code_challenge_methods_supported": methods,
            });
            AuthorizationServer::read_own(document.to_string().as_bytes(), &server).map(|found| found.issuer)
        };
        for issuer in ["https://a.example:8443", "https://a.example:8443/", "https://a.example:8443/oauth"] {
            assert_eq!(read(issuer, &["S256"]).as_deref(), Ok(issuer));
        }
        for issuer in [
            "https://a.example",
            "http://a.example:8443",
            "https://a.example:8443.evil.example",
            "https://a.example:8443@evil.example",
            "https://as.example",
            "oauth",
            "",
        ] {
            assert!(read(issuer, &["S256"]).unwrap_err().to_string().contains("issuer"), "{issuer}");
        }
        assert!(read("https://a.example:8443", &["plain"]).unwrap_err().to_string().contains("PKCE"));
    }

    #[test]
    fn assumed_endpoints_are_on_the_origin_of_the_server() {
        let server = Url::parse("https://me:pw@a.example:8443/v1/mcp?key=secret#x").unwrap();
        let found = AuthorizationServer::assumed(&server);
        assert_eq!(found.issuer, "https://a.example:8443");
        assert_eq!(found.authorization_endpoint.as_str(), "https://a.example:8443/authorize");
        assert_eq!(found.token_endpoint.as_str(), "https://a.example:8443/token");
        assert_eq!(found.registration_endpoint.unwrap().as_str(), "https://a.example:8443/register");
        assert!(found.is_assumed && found.revocation_endpoint.is_none());
    }

    #[test]
    fn metadata_of_another_server_is_refused() {
        let server = Url::parse("https://a.example/mcp").unwrap();
        let read =
            |resource: &str| ProtectedResource::read(json!({ "resource": resource }).to_string().as_bytes(), &server);
        assert!(read("https://a.example/mcp").is_ok());
        assert!(read("https://b.example/mcp").unwrap_err().to_string().contains("another server"));
        assert!(ProtectedResource::read(b"<html>", &server).is_err());
    }
}
