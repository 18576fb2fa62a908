//! Strict parsing of `host[:port]` and of origins.
//!
//! Lenient parsing enables DNS rebinding: in `127.0.0.1:80@evil.example` everything before the `@` is user information,
//! and the host is what follows. Only the plain forms are accepted here; everything else is malformed.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The maximum lengths of a DNS name and of one label.
const MAX_NAME_LENGTH: usize = 253;
const MAX_LABEL_LENGTH: usize = 63;

/// A host, by name or by address. Addresses are compared as numbers, so that all spellings of one are equal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Host<S> {
    Name(S),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl<S: AsRef<str>> Host<S> {
    fn is_same<T: AsRef<str>>(&self, other: &Host<T>) -> bool {
        match (self, other) {
            (Host::Name(one), Host::Name(other)) => one.as_ref().eq_ignore_ascii_case(other.as_ref()),
            (Host::V4(one), Host::V4(other)) => one == other,
            (Host::V6(one), Host::V6(other)) => one == other,
            _ => false,
        }
    }
}

/// `host[:port]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Authority<S> {
    host: Host<S>,
    port: Option<u16>,
}

impl<'a> Authority<&'a str> {
    /// Parses `host[:port]`. User information, zone ids, percent-encoding, empty ports and non-ASCII characters are
    /// malformed. One trailing dot of a name is dropped: it only marks the name as fully qualified.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            let port = match rest {
                "" => None,
                rest => Some(parse_port(rest.strip_prefix(':')?)?),
            };
            return Some(Self { host: Host::V6(address.parse().ok()?), port });
        }
        let (host, port) = match text.split_once(':') {
            None => (text, None),
            Some((host, port)) => (host, Some(parse_port(port)?)),
        };
        let host = match host.parse() {
            Ok(address) => Host::V4(address),
            Err(_) => Host::Name(parse_name(host)?),
        };
        Some(Self { host, port })
    }

    /// Converts into an owned value.
    pub(super) fn into_owned(self) -> Authority<String> {
        let host = match self.host {
            Host::Name(name) => Host::Name(name.to_owned()),
            Host::V4(address) => Host::V4(address),
            Host::V6(address) => Host::V6(address),
        };
        Authority { host, port: self.port }
    }
}

impl<S: AsRef<str>> Authority<S> {
    /// An address with any port.
    pub(super) fn from_ip(address: std::net::IpAddr) -> Self {
        let host = match address {
            std::net::IpAddr::V4(address) => Host::V4(address),
            std::net::IpAddr::V6(address) => Host::V6(address),
        };
        Self { host, port: None }
    }

    /// Whether this entry of an allowlist admits `other`. An entry without a port admits every port.
    pub(super) fn allows<T: AsRef<str>>(&self, other: &Authority<T>) -> bool {
        self.host.is_same(&other.host) && self.port.is_none_or(|port| other.port == Some(port))
    }

    /// Whether both name the same host and port. A missing port is the default port.
    pub(super) fn is_same<T: AsRef<str>>(&self, other: &Authority<T>, default_port: u16) -> bool {
        self.host.is_same(&other.host) && self.port.unwrap_or(default_port) == other.port.unwrap_or(default_port)
    }
}

/// `scheme://host[:port]`, as browsers write it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<S> {
    scheme: S,
    authority: Authority<S>,
}

impl<'a> Origin<&'a str> {
    /// Parses an origin. `null`, paths and user information are rejected.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let mut bytes = scheme.bytes();
        let is_scheme = bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
        Some(Self { scheme, authority: Authority::parse(authority).filter(|_| is_scheme)? })
    }

    /// Converts into an owned value.
    pub(super) fn into_owned(self) -> Origin<String> {
        Origin { scheme: self.scheme.to_owned(), authority: self.authority.into_owned() }
    }
}

impl<S: AsRef<str>> Origin<S> {
    /// Whether both are the same origin: scheme, host and port.
    pub(super) fn is_same<T: AsRef<str>>(&self, other: &Origin<T>) -> bool {
        let scheme = self.scheme.as_ref();
        // Origins of other schemes have no default port; zero is not a valid port.
        let default_port = [("http", 80), ("https", 443)]
            .into_iter()
            .find_map(|(name, port)| scheme.eq_ignore_ascii_case(name).then_some(port))
            .unwrap_or(0);
        scheme.eq_ignore_ascii_case(other.scheme.as_ref()) && self.authority.is_same(&other.authority, default_port)
    }

    /// Whether this is the origin of pages served under `host`. A proxy in front may add TLS, so both schemes are
    /// possible.
    pub(super) fn is_of_web_host<T: AsRef<str>>(&self, host: &Authority<T>) -> bool {
        let scheme = self.scheme.as_ref();
        [("http", 80), ("https", 443)]
            .into_iter()
            .any(|(name, port)| scheme.eq_ignore_ascii_case(name) && self.authority.is_same(host, port))
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
}

fn parse_name(text: &str) -> Option<&str> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        (1..=MAX_LABEL_LENGTH).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // Clients treat any host that ends in a number as an IPv4 address: `127.1`, `2130706433`, `0x7f.1`. Only the usual
    // spelling is accepted, and it was tried above.
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (name.len() <= MAX_NAME_LENGTH && name.split('.').all(is_label) && !is_number).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_authorities_are_parsed() {
        let long_label = "a".repeat(64);
        let long_name = ["a"; 150].join(".");
        for text in [
            "",
            ".",
            "..",
            "localhost..",
            ".localhost",
            "a..b",
            "localhost:",
            "localhost:0",
            "localhost:00000",
            "localhost:65536",
            "localhost:99999",
            "localhost:000080",
            "localhost:8a",
            "localhost:+80",
            "localhost:-1",
            "localhost: 80",
            "localhost:80:80",
            "localhost:80@evil.example",
            "127.0.0.1:80@evil.example",
            "user@localhost",
            "user:80@localhost",
            "@localhost",
            "localhost@",
            "[::1]@evil.example",
            "[::1]:80@evil.example",
            "[::1]80",
            "[::1]:",
            "[::1",
            "::1",
            "[]",
            "[::1%eth0]",
            "[fe80::1%25eth0]",
            "[127.0.0.1]",
            "[v1.a]",
            "[localhost]",
            "local host",
            " localhost",
            "localhost ",
            "localhost\t",
            "localhost/x",
            "localhost/",
            "localhost#",
            "localhost?x",
            "localhost\\evil.example",
            "localhost,evil.example",
            "localhost;a",
            "localhost%2eevil.example",
            "%6cocalhost",
            "lo\u{430}calhost",
            "localhost\u{3002}",
            "http://localhost",
            "*",
            "*.example",
            "127.0.0.1%00",
            "localhost\0",
            "127.0.0.1.",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0x7f000001",
            "0177.0.0.1",
            "example.0x1F",
            &long_label,
            &long_name,
        ] {
            assert!(Authority::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn an_entry_allows_every_spelling_of_its_host_and_no_other() {
        for (entry, text, allowed) in [
            ("localhost", "localhost", true),
            ("localhost", "LOCALHOST", true),
            ("localhost", "localhost.", true),
            ("localhost.", "localhost", true),
            ("localhost", "localhost:1", true),
            ("localhost", "localhost:65535", true),
            ("localhost", "localhost:080", true),
            ("localhost", "localhost.evil.example", false),
            ("localhost", "evil.example", false),
            ("127.0.0.1", "127.0.0.1:80", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("[::1]", "[::1]:80", true),
            ("[::1]", "[0:0:0:0:0:0:0:1]", true),
            ("[::1]", "[::ffff:127.0.0.1]", false),
            ("example:8080", "example:8080", true),
            ("example:8080", "example:80", false),
            ("example:8080", "example", false),
        ] {
            let (entry, parsed) = (Authority::parse(entry), Authority::parse(text));
            let is_allowed = entry.zip(parsed).is_some_and(|(entry, other)| entry.into_owned().allows(&other));
            assert_eq!(is_allowed, allowed, "{text}");
        }
    }

    #[test]
    fn pages_belong_to_the_host_that_serves_them() {
        for (origin, host, same) in [
            ("http://127.0.0.1:3910", "127.0.0.1:3910", true),
            ("https://aquifer.example", "aquifer.example", true),
            ("http://aquifer.example", "aquifer.example:80", true),
            ("http://127.0.0.1:3911", "127.0.0.1:3910", false),
            ("http://localhost:3910", "127.0.0.1:3910", false),
            ("https://aquifer.example", "aquifer.example:80", false),
            ("app://127.0.0.1:3910", "127.0.0.1:3910", false),
        ] {
            let parsed = Origin::parse(origin).zip(Authority::parse(host));
            assert_eq!(parsed.is_some_and(|(origin, host)| origin.is_of_web_host(&host)), same, "{origin} {host}");
        }
    }

    #[test]
    fn origins_are_compared_by_scheme_host_and_port() {
        for (one, other, same) in [
            ("https://app.example", "https://app.example", true),
            ("https://app.example", "HTTPS://App.Example", true),
            ("https://app.example", "https://app.example:443", true),
            ("http://app.example", "http://app.example:80", true),
            ("https://app.example", "https://app.example:8443", false),
            ("https://app.example", "http://app.example", false),
            ("https://app.example", "https://app.example.evil.example", false),
            ("app://local", "app://local", true),
            ("app://local", "app://local:80", false),
            ("https://app.example", "https://app.example/", false),
            ("https://app.example", "https://user@app.example", false),
            ("https://app.example", "https://app.example:443@evil.example", false),
            ("https://app.example", "https:app.example", false),
            ("https://app.example", "://app.example", false),
            ("https://app.example", "null", false),
            ("https://app.example", "", false),
        ] {
            let parsed = Origin::parse(one).zip(Origin::parse(other));
            assert_eq!(parsed.is_some_and(|(one, other)| one.into_owned().is_same(&other)), same, "{other:?}");
        }
    }
}
