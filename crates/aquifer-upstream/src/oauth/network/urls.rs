//! URLs of a login: the location of metadata, and the resource of a token.

use reqwest::Url;

/// The resource identifier of a server (RFC 8707): no query, no fragment, no credentials.
pub(crate) fn resource(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    let text = String::from(bare);
    text.strip_suffix('/').map(str::to_owned).unwrap_or(text)
}

/// Whether a token for this resource is valid for the server: the same origin, and the same path or one above it.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let below = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && below
}

/// The default locations of protected resource metadata (RFC 9728).
pub(crate) fn resource_metadata(server: &Url) -> Vec<Url> {
    let mut found = vec![
        well_known_before_path(server, "oauth-protected-resource"),
        well_known_at_root(server, "oauth-protected-resource"),
    ];
    found.dedup();
    found
}

/// The locations of authorization server metadata (RFC 8414, OpenID Connect Discovery), in order.
pub(crate) fn issuer_metadata(issuer: &Url) -> Vec<Url> {
    let mut found = vec![
        well_known_before_path(issuer, "oauth-authorization-server"),
        well_known_before_path(issuer, "openid-configuration"),
    ];
    let mut appended = issuer.clone();
    appended.set_path(&format!("{}/.well-known/openid-configuration", issuer.path().trim_end_matches('/')));
    appended.set_query(None);
    appended.set_fragment(None);
    if !found.contains(&appended) {
        found.push(appended);
    }
    found
}

/// Whether two issuers are the same, ignoring a trailing slash.
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).to_owned();
    bare(one) == bare(other)
}

fn well_known_before_path(url: &Url, name: &str) -> Url {
    with_path(url, &format!("/.well-known/{name}{}", url.path().trim_end_matches('/')))
}

fn well_known_at_root(url: &Url, name: &str) -> Url {
    with_path(url, &format!("/.well-known/{name}"))
}

/// Another path on the same origin, without query, fragment and credentials.
pub(crate) fn with_path(url: &Url, path: &str) -> Url {
    let mut found = url.clone();
    found.set_path(path);
    found.set_query(None);
    found.set_fragment(None);
    let _ = found.set_username("");
    let _ = found.set_password(None);
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn shown(urls: Vec<Url>) -> Vec<String> {
        urls.into_iter().map(String::from).collect()
    }

    #[test]
    fn metadata_urls_follow_the_standards() {
        assert_eq!(
            shown(resource_metadata(&url("https://a.example/public/mcp/?key=x"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            shown(resource_metadata(&url("https://a.example"))),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            shown(issuer_metadata(&url("https://a.example/tenant"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            shown(issuer_metadata(&url("https://a.example/"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_token_is_valid_for_one_server() {
        let server = url("https://a.example:8443/v1/mcp?key=secret#x");
        assert_eq!(resource(&server), "https://a.example:8443/v1/mcp");
        assert_eq!(resource(&url("https://me:pw@a.example/")), "https://a.example");
        for (named, expected) in [
            ("https://a.example:8443/v1/mcp", true),
            ("https://a.example:8443/v1/mcp/", true),
            ("https://a.example:8443/v1", true),
            ("https://a.example:8443", true),
            ("https://A.example:8443/", true),
            ("https://a.example:8443/v", false),
            ("https://a.example:8443/v1/mcp/more", false),
            ("https://a.example/v1/mcp", false),
            ("http://a.example:8443/v1/mcp", false),
            ("https://b.example:8443/v1/mcp", false),
            ("https://a.example:8443.evil.example/v1/mcp", false),
            ("no url", false),
        ] {
            assert_eq!(covers(named, &server), expected, "{named}");
        }
    }

    #[test]
    fn issuers_are_compared() {
        assert!(is_same_issuer("https://a.example", "https://a.example/"));
        assert!(!is_same_issuer("https://a.example", "https://a.example/b"));
    }
}
