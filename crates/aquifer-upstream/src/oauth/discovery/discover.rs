//! Finds the authorization server of an MCP server.

use aquifer_net::is_secure;
use bytes::Bytes;
use reqwest::Url;

use super::challenge::Challenge;
use super::metadata::{AuthorizationServer, ProtectedResource};
use crate::oauth::error::LoginError;
use crate::oauth::network::http::OAuthHttp;
use crate::oauth::network::urls;

/// The result of discovery.
pub(crate) struct Discovery {
    /// The resource that the token is for.
    pub(crate) resource: String,
    /// The scopes that the server asks for. Empty if it names none.
    pub(crate) scopes: Vec<String>,
    pub(crate) server: AuthorizationServer,
}

/// Finds the authorization server of an MCP server.
pub(crate) async fn discover(
    web: &OAuthHttp,
    server: &Url,
    headers: &[(String, String)],
) -> Result<Discovery, LoginError> {
    let answer = web.probe(headers).await?;
    let wants = answer.status() == reqwest::StatusCode::UNAUTHORIZED;
    let challenge = if wants { Challenge::read(answer.headers()).unwrap_or_default() } else { Challenge::default() };
    drop(answer);
    let described = find_resource_metadata(web, server, &challenge).await?;
    if !wants && described.is_none() {
        return Err(LoginError::new("the server does not require a login"));
    }
    let (resource, found, supported) = match described {
        Some(found) => {
            let issuer = found.authorization_servers.into_iter().next();
            let issuer = issuer.ok_or_else(|| LoginError::new("the server names no authorization server"))?;
            (found.resource, authorization_server(web, &issuer).await?, found.scopes_supported)
        }
        // Servers of 2025-03-26 are their own authorization servers.
        None => (urls::resource(server), own_authorization_server(web, server).await?, Vec::new()),
    };
    let scopes = if challenge.scopes.is_empty() { supported } else { challenge.scopes };
    Ok(Discovery { resource, scopes, server: found })
}

async fn find_resource_metadata(
    web: &OAuthHttp,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, LoginError> {
    if let Some(named) = &challenge.resource_metadata {
        let named = server.join(named);
        let named = named.map_err(|_| LoginError::new("the server names login metadata with an invalid URL"))?;
        let text = web.get(&named).await?;
        let text = text.ok_or_else(|| LoginError::new("the server names login metadata that does not exist"))?;
        return ProtectedResource::read(&text, server).map(Some);
    }
    let text = first_document(web, urls::resource_metadata(server)).await?;
    text.map(|text| ProtectedResource::read(&text, server)).transpose()
}

async fn authorization_server(web: &OAuthHttp, issuer: &str) -> Result<AuthorizationServer, LoginError> {
    let url = Url::parse(issuer).ok().filter(is_secure);
    let url = url.ok_or_else(|| LoginError::new("the server names an authorization server without https"))?;
    match first_document(web, urls::issuer_metadata(&url)).await? {
        Some(text) => AuthorizationServer::read(&text, issuer),
        None => Err(LoginError::new("the authorization server has no metadata (RFC 8414), so a login is not possible")),
    }
}

/// The authorization server of a server that names none: its own origin, by its metadata or, without metadata, with the
/// default endpoints of 2025-03-26.
async fn own_authorization_server(web: &OAuthHttp, server: &Url) -> Result<AuthorizationServer, LoginError> {
    match first_document(web, urls::issuer_metadata(&urls::with_path(server, "/"))).await? {
        Some(text) => AuthorizationServer::read_own(&text, server),
        None => Ok(AuthorizationServer::assumed(server)),
    }
}

/// The first document at these URLs that is a JSON object. Many servers answer any path with an HTML page.
async fn first_document(web: &OAuthHttp, places: Vec<Url>) -> Result<Option<Bytes>, LoginError> {
    for place in places {
        if let Some(text) = web.get(&place).await?.filter(|text| is_object(text)) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() && text.trim_ascii_start().starts_with(b"{")
}
