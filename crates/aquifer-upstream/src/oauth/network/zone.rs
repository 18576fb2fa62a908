//! The network zones that a server's metadata may name. A public server must not name a private address: that could be
//! a router, a cloud's credential service or a service on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The zone of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// The public internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// Never a login server: link-local addresses (cloud credentials), multicast, unspecified.
    Forbidden,
}

impl Zone {
    pub(crate) fn from_ip(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::from_ipv4(address),
            IpAddr::V6(address) => Self::from_ipv6(address),
        }
    }

    fn from_ipv4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        match (a, b, c) {
            (127, _, _) => Zone::Loopback,
            // Alibaba's credential service is in the carrier-grade NAT range.
            (100, 100, 100) => Zone::Forbidden,
            (0, _, _) | (169, 254, _) | (224.., _, _) => Zone::Forbidden,
            (10, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => {
                Zone::Private
            }
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
            // Embedded IPv4 addresses.
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
            [0x2002, high, low, ..] => embedded(high, low),
            [0, 0, 0, 0, 0, 0, ..] => Zone::Forbidden,
            // Amazon's credential service.
            [0xfd00, 0x0ec2, ..] => Zone::Forbidden,
            [0xfc00..=0xfdff, ..] => Zone::Private,
            [0xfe80..=0xffff, ..] => Zone::Forbidden,
            _ => Zone::Public,
        }
    }

    /// Whether a server in this zone may name a URL in the other one.
    pub(crate) fn may_name(self, other: Zone) -> bool {
        match (self, other) {
            (_, Zone::Forbidden) => false,
            (_, Zone::Public) => true,
            (Zone::Loopback, _) => true,
            (own, other) => own == other,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_assigned_to_zones() {
        for (text, expected) in [
            ("127.0.0.1", Zone::Loopback),
            ("127.8.9.1", Zone::Loopback),
            ("::1", Zone::Loopback),
            ("::ffff:127.0.0.1", Zone::Loopback),
            ("10.1.2.3", Zone::Private),
            ("172.16.0.1", Zone::Private),
            ("172.32.0.1", Zone::Public),
            ("192.168.1.1", Zone::Private),
            ("100.64.0.1", Zone::Private),
            ("fd12::1", Zone::Private),
            ("::ffff:10.0.0.1", Zone::Private),
            ("64:ff9b::a00:1", Zone::Private),
            ("2002:a00:1::", Zone::Private),
            ("169.254.169.254", Zone::Forbidden),
            ("::ffff:169.254.169.254", Zone::Forbidden),
            ("64:ff9b::a9fe:a9fe", Zone::Forbidden),
            ("100.100.100.200", Zone::Forbidden),
            ("fd00:ec2::254", Zone::Forbidden),
            ("fe80::1", Zone::Forbidden),
            ("ff02::1", Zone::Forbidden),
            ("0.0.0.0", Zone::Forbidden),
            ("::", Zone::Forbidden),
            ("255.255.255.255", Zone::Forbidden),
            ("1.1.1.1", Zone::Public),
            ("2606:4700::1111", Zone::Public),
        ] {
            assert_eq!(Zone::from_ip(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn public_servers_may_not_name_private_addresses() {
        use Zone::{Forbidden, Loopback, Private, Public};
        for own in [Public, Private, Loopback, Forbidden] {
            assert!(own.may_name(Public) && !own.may_name(Forbidden), "{own:?}");
        }
        assert!(!Public.may_name(Private) && !Public.may_name(Loopback));
        assert!(Private.may_name(Private) && !Private.may_name(Loopback));
        assert!(Loopback.may_name(Loopback) && Loopback.may_name(Private));
    }
}
