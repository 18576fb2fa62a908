//! The OAuth client: registered by the operator, described by a document, or registered dynamically.

use aquifer_net::basic_credentials;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::LoginError;
use crate::oauth::discovery::metadata::AuthorizationServer;
use crate::oauth::network::http::OAuthHttp;
use crate::oauth::network::urls;
use crate::settings::LoginSettings;

/// Our identity with an authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether the secret is sent in the form instead of a header.
    #[serde(default)]
    secret_in_form: bool,
    /// Whether the secret comes from the configuration. It is then not stored with the login.
    #[serde(default)]
    has_own_secret: bool,
}

impl Client {
    /// Chooses the client in the order that MCP specifies: registered by the operator, described by a document,
    /// registered dynamically.
    pub(crate) async fn choose(
        web: &OAuthHttp,
        server: &AuthorizationServer,
        login: &LoginSettings,
        redirect: &str,
    ) -> Result<Self, LoginError> {
        // The secret must not go to an authorization server that the operator did not name.
        match &login.issuer {
            Some(issuer) if !urls::is_same_issuer(issuer, &server.issuer) => {
                return Err(LoginError::new(
                    "the server names another authorization server than the configured issuer",
                ));
            }
            None if login.client_secret.is_some() => {
                return Err(LoginError::new("a client secret needs its 'issuer' in the configuration"));
            }
            _ => {}
        }
        if let Some(id) = &login.client_id {
            let secret_in_form = preferred_secret_method(server) == "client_secret_post";
            return Ok(Self {
                id: id.clone(),
                secret: login.client_secret.clone(),
                secret_in_form,
                has_own_secret: login.client_secret.is_some(),
            });
        }
        if let Some(document) = login.client_document.as_ref().filter(|_| server.client_id_metadata_document_supported)
        {
            return Ok(Self { id: document.clone(), secret: None, secret_in_form: false, has_own_secret: false });
        }
        Self::register(web, server, redirect).await
    }

    /// Registers a client (RFC 7591).
    async fn register(web: &OAuthHttp, server: &AuthorizationServer, redirect: &str) -> Result<Self, LoginError> {
        #[derive(Deserialize)]
        struct RegistrationResponse {
            client_id: String,
            #[serde(default)]
            client_secret: Option<String>,
            #[serde(default)]
            token_endpoint_auth_method: Option<String>,
        }
        let Some(endpoint) = &server.registration_endpoint else {
            return Err(LoginError::new(
                "the authorization server does not support dynamic registration: register a client and configure its 'client_id'",
            ));
        };
        let takes_none = |methods: &Vec<String>| methods.iter().any(|method| method == "none");
        let needs_no_secret = server.token_endpoint_auth_methods_supported.as_ref().is_none_or(takes_none);
        let method = if needs_no_secret { "none" } else { preferred_secret_method(server) };
        let about = json!({
            "client_name": "Aquifer",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        });
        let answer = web.post_json(endpoint, &about).await?;
        if server.is_assumed && answer.status.is_client_error() {
            return Err(LoginError::new(
                "the server describes no login and registers no clients: it may need a token instead ('bearer_env' or a header in its configuration)",
            ));
        }
        if !answer.status.is_success() {
            return Err(super::grant::refusal("the authorization server refused to register a client", &answer, &[]));
        }
        let made: RegistrationResponse = serde_json::from_slice(&answer.body)
            .map_err(|_| LoginError::new("the authorization server's registration response is invalid"))?;
        let method = made.token_endpoint_auth_method.as_deref().unwrap_or(method);
        Ok(Self {
            id: made.client_id,
            secret: made.client_secret.filter(|_| method != "none"),
            secret_in_form: method == "client_secret_post",
            has_own_secret: false,
        })
    }

    /// The client as stored: without a configured secret.
    pub(crate) fn without_own_secret(&self) -> Self {
        Self { secret: self.secret.clone().filter(|_| !self.has_own_secret), ..self.clone() }
    }

    /// The stored client with the configured secret.
    pub(crate) fn with_own_secret(&self, own_secret: Option<&str>) -> Result<Self, LoginError> {
        match (self.has_own_secret, own_secret) {
            (false, _) => Ok(self.clone()),
            (true, Some(secret)) => Ok(Self { secret: Some(secret.to_owned()), ..self.clone() }),
            (true, None) => Err(LoginError::new("the client's secret is no longer configured")),
        }
    }

    /// The form fields that identify the client.
    pub(crate) fn fields(&self) -> Vec<(&str, &str)> {
        let mut fields = vec![("client_id", self.id.as_str())];
        if let Some(secret) = self.secret.as_deref().filter(|_| self.secret_in_form) {
            fields.push(("client_secret", secret));
        }
        fields
    }

    /// The header that identifies the client.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let secret = self.secret.as_deref().filter(|_| !self.secret_in_form)?;
        let mut value = HeaderValue::from_str(&format!("Basic {}", basic_credentials(&self.id, secret))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The first supported method for sending a secret that the server lists.
fn preferred_secret_method(server: &AuthorizationServer) -> &'static str {
    const KNOWN: [&str; 2] = ["client_secret_basic", "client_secret_post"];
    let named = server.token_endpoint_auth_methods_supported.iter().flatten();
    let known = |method: &String| KNOWN.into_iter().find(|known| known == method);
    // The default of RFC 8414.
    named.filter_map(known).next().unwrap_or("client_secret_basic")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn client_secrets_are_sent_as_the_server_prefers() {
        let secret = Some("c d".to_owned());
        let mut client = Client { id: "a:b".to_owned(), secret, secret_in_form: false, has_own_secret: true };
        let stored = serde_json::to_string(&client.without_own_secret()).unwrap();
        assert!(!stored.contains("c d"), "{stored}");
        let stored: Client = serde_json::from_str(&stored).unwrap();
        assert!(stored.with_own_secret(Some("c d")).unwrap() == client && stored.with_own_secret(None).is_err());
        assert_eq!(client.header().unwrap(), "Basic YSUzQWI6Yytk");
        assert_eq!(client.fields(), [("client_id", "a:b")]);
        client.secret_in_form = true;
        assert!(client.header().is_none());
        assert_eq!(client.fields(), [("client_id", "a:b"), ("client_secret", "c d")]);
    }
}
