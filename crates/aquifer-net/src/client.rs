//! The settings that all HTTP clients have in common.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use crate::resolver::CheckedResolver;
use crate::url::is_loopback;

/// Makes the provider of cryptography known to TLS. Clients that are built here do it themselves.
pub fn install_tls_provider() {
    // Fails if it is installed already, and there is only one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The settings of every client. It resends nothing by itself: the redirect policy of reqwest would repeat bodies, and its
/// retry policy repeats requests that an HTTP/2 server claims to have refused. hyper still resends a request if an idle
/// connection turns out to be closed before the first byte was written. Names of this machine resolve to nothing else,
/// because requests to it need no encryption.
pub fn client_builder() -> ClientBuilder {
    install_tls_provider();
    Client::builder()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(CheckedResolver::new(|_, _| true)))
        .user_agent(concat!("aquifer/", env!("CARGO_PKG_VERSION")))
}

/// The same for a client of one server: there is no proxy between programs of one machine.
pub fn client_builder_for(server: &Url) -> ClientBuilder {
    if is_loopback(server) { client_builder().no_proxy() } else { client_builder() }
}

/// Encodes a form as the body of a request.
pub fn form_encoded(form: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("form:") else { return String::new() };
    url.query_pairs_mut().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded() {
        assert_eq!(form_encoded(&[("a b", "c&d=é"), ("e", "+/")]), "a+b=c%26d%3D%C3%A9&e=%2B%2F");
    }
}
