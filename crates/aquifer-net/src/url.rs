//! URLs.

use std::net::IpAddr;

use reqwest::Url;

use crate::host::{host_address, is_loopback_host};

/// The IP address, if the host is one.
pub fn address(url: &Url) -> Option<IpAddr> {
    host_address(url.host_str()?)
}

/// Whether the host is this machine.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

/// Whether data sent there is protected in transit, or does not leave this machine. Names of this machine must also
/// resolve to it, which [`CheckedResolver`](crate::CheckedResolver) ensures.
pub fn is_secure(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.host_str().is_some(),
        "http" => is_loopback(url),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn data_is_sent_only_over_secure_connections() {
        for (text, expected) in [
            ("https://a.example/x", true),
            ("http://127.0.0.1:80/", true),
            ("http://2130706433/", true),
            ("http://[::1]/", true),
            ("http://localhost/", true),
            ("http://a.example/", false),
            ("http://localhost.a.example/", false),
            ("http://10.0.0.1/", false),
            ("ftp://a.example/", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(is_secure(&Url::parse(text).unwrap()), expected, "{text}");
        }
    }
}
