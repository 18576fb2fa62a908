//! The addresses that requests may go to.
//!
//! A host name that resolves to a private address may lead to a router, a cloud's metadata service or a service on this
//! machine. Addresses are therefore checked after resolution, on every connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::route::check_base_url;

/// The network zone of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// The public internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// Link-local addresses, including the metadata services of clouds, which hand out credentials.
    LinkLocal,
    /// Addresses that no server has: unspecified, multicast, reserved.
    Invalid,
}

impl Zone {
    fn from_ip(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::from_ipv4(address),
            IpAddr::V6(address) => Self::from_ipv6(address),
        }
    }

    fn from_ipv4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        match (a, b, c) {
            (127, _, _) => Zone::Loopback,
            // The metadata services of Alibaba and Oracle are outside the link-local range.
            (169, 254, _) | (100, 100, 100) | (192, 0, 0) => Zone::LinkLocal,
            (0, _, _) | (224.., _, _) => Zone::Invalid,
            (10, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) | (198, 18..=19, _) => Zone::Private,
            // Documentation and relays.
            (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => Zone::Private,
            _ => Zone::Public,
        }
    }

    fn from_ipv6(address: Ipv6Addr) -> Self {
        if address == Ipv6Addr::LOCALHOST {
            return Zone::Loopback;
        }
        let embedded = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::from_ipv4(Ipv4Addr::new(a, b, c, d))
        };
        match address.segments() {
            // Embedded IPv4 addresses: mapped, translated (NAT64), 6to4.
            [0, 0, 0, 0, 0, 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => embedded(high, low),
            // The metadata services of Amazon and Google.
            [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..] | [0xfe80..=0xfebf, ..] => Zone::LinkLocal,
            // Private, formerly site-local, local translation, documentation, tunnels (Teredo).
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..]
            | [0x64, 0xff9b, 1, ..]
            | [0x2001, 0xdb8, ..]
            | [0x3fff, 0..=0x0fff, ..]
            | [0x2001, 0, ..] => Zone::Private,
            [0x2000..=0x3fff, ..] => Zone::Public,
            _ => Zone::Invalid,
        }
    }
}

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
        let is_secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
        if !is_secure {
            return Err("the URL must use https, unless it is on this machine");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL contains a user name or password");
        }
        match host_address(&host) {
            Some(address) if !self.admits_literal(&host, address) => Err("the address is not public"),
            None if is_loopback_host(&host) && !self.may_be_local(&host) => Err("the address is not public"),
            _ => Ok(()),
        }
    }

    /// Whether a name may resolve to an address.
    pub(super) fn admits(&self, name: &str, address: IpAddr) -> bool {
        let (name, zone) = (normalized(name), Zone::from_ip(address));
        if is_loopback_host(&name) {
            return zone == Zone::Loopback && self.may_be_local(&name);
        }
        match zone {
            Zone::Public => true,
            Zone::Private | Zone::Loopback => self.allow_private,
            Zone::LinkLocal | Zone::Invalid => false,
        }
    }

    fn admits_literal(&self, host: &str, address: IpAddr) -> bool {
        match Zone::from_ip(address) {
            Zone::Public => true,
            Zone::Private | Zone::Loopback => self.allow_private || self.is_trusted(host),
            Zone::LinkLocal => self.is_trusted(host),
            Zone::Invalid => false,
        }
    }

    fn may_be_local(&self, name: &str) -> bool {
        self.allow_private || self.is_trusted(name)
    }

    fn is_trusted(&self, host: &str) -> bool {
        self.trusted_hosts.iter().any(|trusted| trusted == host)
    }
}

/// Whether the host of a URL is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| is_loopback_host(&normalized(host)))
}

/// Parses the URL of a token endpoint: like a base URL, but it may have a query.
pub(super) fn parse_token_url(text: &str) -> Result<Url, &'static str> {
    let (base, query) = text.split_once('?').map_or((text, None), |(base, query)| (base, Some(query)));
    let mut url = check_base_url(base)?;
    url.set_query(query);
    if url.scheme() == "https" || is_loopback(&url) { Ok(url) } else { Err("it does not use https") }
}

fn is_loopback_host(host: &str) -> bool {
    let is_name = host == "localhost" || host.ends_with(".localhost");
    is_name || host_address(host).is_some_and(|address| Zone::from_ip(address) == Zone::Loopback)
}

fn host_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A host in lower case, without a trailing dot.
fn normalized(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn zone(text: &str) -> Zone {
        Zone::from_ip(text.parse().unwrap())
    }

    #[test]
    fn addresses_are_assigned_to_zones() {
        for (zone_name, addresses) in [
            (Zone::Public, &["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1", "::ffff:1.1.1.1"][..]),
            (Zone::Loopback, &["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]),
            (
                Zone::Private,
                &[
                    "10.0.0.1",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.1.1",
                    "100.64.0.1",
                    "198.18.0.1",
                    "192.0.2.1",
                    "203.0.113.9",
                    "fc00::1",
                    "fd12::1",
                    "fec0::1",
                    "2001:db8::1",
                    "2001::1",
                    "::ffff:10.0.0.1",
                    "2002:a00:1::",
                ],
            ),
            (
                Zone::LinkLocal,
                &[
                    "169.254.169.254",
                    "169.254.0.1",
                    "100.100.100.200",
                    "192.0.0.192",
                    "fd00:ec2::254",
                    "fd20:ce::254",
                    "fe80::1",
                    "::ffff:169.254.169.254",
                    "64:ff9b::a9fe:a9fe",
                    "2002:a9fe:a9fe::",
                ],
            ),
            (
                Zone::Invalid,
                &[
                    "0.0.0.0",
                    "0.1.2.3",
                    "224.0.0.1",
                    "240.0.0.1",
                    "255.255.255.255",
                    "::",
                    "::2",
                    "ff02::1",
                    "::ffff:0.0.0.0",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(zone(address), zone_name, "{address}");
            }
        }
    }

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
