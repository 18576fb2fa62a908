//! The addresses that requests may go to.
//!
//! A host name that resolves to a private address may lead to a router, a cloud's metadata service or a service on this
//! machine. Addresses are therefore checked after resolution, on every connection.

use std::net::IpAddr;

use aquifer_net::{NetworkZone, address, is_loopback, is_loopback_host, is_secure, normalized};
use reqwest::Url;

use crate::route::check_base_url;

/// Which addresses the requests to one target may use.
#[derive(Debug, Clone)]
pub(super) struct AddressPolicy {
    /// Hosts that the operator named.
    trusted_hosts: Vec<String>,
    allow_private: bool,
}

impl AddressPolicy {
    pub(super) fn new(allow_private: bool) -> Self {
        Self { trusted_hosts: Vec::new(), allow_private }
    }

    /// Trusts the host of a URL that the operator named.
    pub(super) fn trust(&mut self, url: &Url) {
        self.trusted_hosts.extend(url.host_str().map(normalized));
    }

    /// Trusts a token endpoint on this machine, but only if the API is on this machine too.
    pub(super) fn trust_if_both_local(&mut self, url: &Url) {
        let is_local = |host: &String| is_loopback_host(host);
        if is_loopback(url) && self.trusted_hosts.iter().any(is_local) {
            self.trust(url);
        }
    }

    /// Checks a URL as far as that is possible before its host name is resolved.
    ///
    /// # Errors
    ///
    /// The reason why requests to the URL are refused.
    pub(super) fn check(&self, url: &Url) -> Result<(), &'static str> {
        let host = url.host_str().map(normalized).unwrap_or_default();
        if !is_secure(url) {
            return Err("the URL must use https, unless it is on this machine");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL contains a user name or password");
        }
        match address(url) {
            Some(address) if !self.admits_literal(&host, address) => Err("the address is not public"),
            None if is_loopback_host(&host) && !self.may_be_local(&host) => Err("the address is not public"),
            _ => Ok(()),
        }
    }

    /// Whether a name may resolve to an address.
    pub(super) fn admits(&self, name: &str, address: IpAddr) -> bool {
        let (name, zone) = (normalized(name), NetworkZone::from_ip(address));
        if is_loopback_host(&name) {
            return zone == NetworkZone::Loopback && self.may_be_local(&name);
        }
        match zone {
            NetworkZone::Public => true,
            NetworkZone::Private | NetworkZone::Loopback => self.allow_private,
            NetworkZone::LinkLocal | NetworkZone::Invalid => false,
        }
    }

    fn admits_literal(&self, host: &str, address: IpAddr) -> bool {
        match NetworkZone::from_ip(address) {
            NetworkZone::Public => true,
            NetworkZone::Private | NetworkZone::Loopback => self.allow_private || self.is_trusted(host),
            NetworkZone::LinkLocal => self.is_trusted(host),
            NetworkZone::Invalid => false,
        }
    }

    fn may_be_local(&self, name: &str) -> bool {
        self.allow_private || self.is_trusted(name)
    }

    fn is_trusted(&self, host: &str) -> bool {
        self.trusted_hosts.iter().any(|trusted| trusted == host)
    }
}

/// Parses the URL of a token endpoint: like a base URL, but it may have a query.
pub(super) fn parse_token_url(text: &str) -> Result<Url, &'static str> {
    let (base, query) = text.split_once('?').map_or((text, None), |(base, query)| (base, Some(query)));
    let mut url = check_base_url(base)?;
    url.set_query(query);
    if is_secure(&url) { Ok(url) } else { Err("it does not use https") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn checked(trusted: &str, allow_private: bool, url: &str) -> bool {
        let mut policy = AddressPolicy::new(allow_private);
        policy.trust(&Url::parse(trusted).unwrap());
        policy.check(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn urls_are_checked_before_names_are_resolved() {
        for (trusted, allow_private, url, expected) in [
            ("https://api.example", false, "https://api.example/x", true),
            ("https://api.example", false, "http://api.example/x", false),
            ("https://api.example", true, "http://api.example/x", false),
            ("https://api.example", false, "ftp://api.example/x", false),
            ("https://api.example", false, "https://user@api.example/x", false),
            ("https://api.example", false, "https://127.0.0.1/", false),
            ("https://api.example", false, "http://localhost/", false),
            ("https://api.example", false, "https://169.254.169.254/", false),
            ("https://api.example", true, "https://169.254.169.254/", false),
            ("https://api.example", true, "https://10.0.0.1/", true),
            ("https://api.example", true, "http://10.0.0.1/", false),
            ("https://api.example", false, "https://9.9.9.9/", true),
            ("https://10.0.0.1", false, "https://10.0.0.1/", true),
            ("https://10.0.0.1", false, "https://10.0.0.2/", false),
            ("https://169.254.169.254", false, "https://169.254.169.254/", true),
            ("https://0.0.0.0", false, "https://0.0.0.0/", false),
            ("https://224.0.0.1", true, "https://224.0.0.1/", false),
            ("http://127.0.0.1", false, "http://127.0.0.1:9/", true),
            ("http://127.0.0.1", false, "http://2130706433/", true),
            ("http://127.0.0.1", false, "http://0x7f.1/", true),
            ("http://127.0.0.1", false, "http://127.0.0.2/", false),
            ("http://127.0.0.1", false, "http://0/", false),
            ("http://[::1]", false, "http://[::1]/", true),
            ("http://[::ffff:127.0.0.1]", false, "http://[::ffff:127.0.0.1]/", true),
            ("http://localhost", false, "http://localhost:80/", true),
            ("http://localhost", false, "http://LOCALHOST./", true),
            ("http://localhost", false, "http://localhost.evil.example/", false),
        ] {
            assert_eq!(checked(trusted, allow_private, url), expected, "{trusted} {allow_private} {url}");
        }
    }

    #[test]
    fn names_resolve_to_allowed_addresses_only() {
        for (trusted, allow_private, name, address, expected) in [
            ("https://api.example", false, "api.example", "1.1.1.1", true),
            ("https://api.example", false, "api.example", "10.0.0.1", false),
            ("https://api.example", false, "api.example", "127.0.0.1", false),
            ("https://api.example", false, "api.example", "::ffff:10.0.0.1", false),
            ("https://api.example", true, "api.example", "10.0.0.1", true),
            ("https://api.example", true, "api.example", "127.0.0.1", true),
            ("https://api.example", true, "api.example", "169.254.169.254", false),
            ("https://api.example", true, "api.example", "fd00:ec2::254", false),
            ("https://api.example", true, "api.example", "0.0.0.0", false),
            ("http://localhost", false, "localhost", "127.0.0.1", true),
            ("http://localhost", false, "localhost", "::1", true),
            ("http://localhost", false, "localhost", "10.0.0.1", false),
            ("http://localhost", true, "localhost", "1.1.1.1", false),
            ("https://api.example", false, "localhost", "127.0.0.1", false),
        ] {
            let mut policy = AddressPolicy::new(allow_private);
            policy.trust(&Url::parse(trusted).unwrap());
            let actual = policy.admits(name, address.parse().unwrap());
            assert_eq!(actual, expected, "{trusted} {allow_private} {name} {address}");
        }
    }
}
