//! Hosts.

use std::net::IpAddr;

use crate::NetworkZone;

/// Whether a host is this machine. A name that is must also resolve to this machine.
pub fn is_loopback_host(host: &str) -> bool {
    let host = normalized(host);
    let is_name = host == "localhost" || host.ends_with(".localhost");
    is_name || host_address(&host).is_some_and(|address| NetworkZone::from_ip(address) == NetworkZone::Loopback)
}

/// The IP address, if the host is one.
pub fn host_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A host in lower case, without a trailing dot.
pub fn normalized(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names() {
        for host in ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in ["a.example", "localhost.a.example", "127.0.0.1.a.example", "10.0.0.1", "0.0.0.0", ""] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }
}
