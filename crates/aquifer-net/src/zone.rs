//! Network zones: whether an address belongs to the public internet, a private network or this machine.
//!
//! Sources that follow URLs of others check the zone of every address that they connect to. There is only one
//! classification, so that an address that one client refuses is not public for another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network zone of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkZone {
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

impl NetworkZone {
    /// The zone of an address. An IPv6 address that stands for an IPv4 address has the zone of that one.
    pub fn from_ip(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::from_ipv4(address),
            IpAddr::V6(address) => Self::from_ipv6(address),
        }
    }

    fn from_ipv4(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        match (a, b, c) {
            // The host agent of Azure, at a public address that leads nowhere else.
            (168, 63, 129) if d == 16 => Self::LinkLocal,
            (127, _, _) => Self::Loopback,
            // The metadata services of Alibaba and Oracle are outside the link-local range.
            (169, 254, _) | (100, 100, 100) | (192, 0, 0) => Self::LinkLocal,
            (0, _, _) | (224.., _, _) => Self::Invalid,
            (10, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) | (198, 18..=19, _) => Self::Private,
            // Documentation and relays.
            (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => Self::Private,
            _ => Self::Public,
        }
    }

    fn from_ipv6(address: Ipv6Addr) -> Self {
        if address == Ipv6Addr::LOCALHOST {
            return Self::Loopback;
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
            [0x64, 0xff9b, 1, ..] => Self::from_local_translation(address),
            // The metadata services of Amazon, Google and Scaleway.
            [0xfd00, 0x0ec2 | 0x0042, ..] | [0xfd20, 0x00ce, ..] | [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            // Private, formerly site-local, documentation, tunnels (Teredo).
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..]
            | [0x2001, 0xdb8, ..]
            | [0x3fff, 0..=0x0fff, ..]
            | [0x2001, 0, ..] => Self::Private,
            // A tunnel within a site (ISATAP) ends at the embedded IPv4 address.
            [0x2000..=0x3fff, _, _, _, 0 | 0x0200, 0x5efe, high, low] => embedded(high, low),
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Invalid,
        }
    }

    /// The zone of an address of local translation (RFC 8215). Where the IPv4 address is in it depends on the length of
    /// the prefix that the network uses (RFC 6052), so all places are checked for a metadata service.
    fn from_local_translation(address: Ipv6Addr) -> Self {
        let [_, _, _, _, _, _, a, b, _, c, d, e, f, g, h, i] = address.octets();
        let places = [[a, b, c, d], [b, c, d, e], [c, d, e, f], [f, g, h, i]];
        let is_link_local = |octets: [u8; 4]| Self::from_ipv4(octets.into()) == Self::LinkLocal;
        if places.into_iter().any(is_link_local) { Self::LinkLocal } else { Self::Private }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_assigned_to_zones() {
        for (zone, addresses) in [
            (
                NetworkZone::Public,
                "1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1 ::ffff:1.1.1.1 ::ffff:0:1.1.1.1 64:ff9b::101:101 \
                 168.63.129.17 2606:4700::5efe:101:101",
            ),
            (
                NetworkZone::Loopback,
                "127.0.0.1 127.255.0.9 ::1 ::ffff:127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
            ),
            (
                NetworkZone::Private,
                "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 198.18.0.1 192.0.2.1 203.0.113.9 fc00::1 \
                 fd12::1 fec0::1 2001:db8::1 2001::1 ::ffff:10.0.0.1 ::ffff:0:10.0.0.1 2002:a00:1:: 64:ff9b::a00:1 \
                 64:ff9b:1::1 64:ff9b:1::808:808 64:ff9b:1::7f00:1 \
                 2606:4700::5efe:a00:1 2606:4700::200:5efe:c0a8:101",
            ),
            (
                NetworkZone::LinkLocal,
                "169.254.169.254 169.254.0.1 168.63.129.16 fd00:42::42 2606:4700::5efe:a9fe:a9fe 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254 fe80::1 \
                 ::ffff:169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: \
                 64:ff9b:1::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:0:a9:fea9:fe00:0",
            ),
            (
                NetworkZone::Invalid,
                "0.0.0.0 0.1.2.3 224.0.0.1 240.0.0.1 255.255.255.255 :: ::2 ff02::1 ::ffff:0.0.0.0 ::127.0.0.1",
            ),
        ] {
            for address in addresses.split_whitespace() {
                assert_eq!(NetworkZone::from_ip(address.parse().unwrap()), zone, "{address}");
            }
        }
    }
}
