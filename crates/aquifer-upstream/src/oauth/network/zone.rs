//! Which network zones a server's metadata may name. A public server must not name a private address: that could be a
//! router, a cloud's credential service or a service on this machine.

use aquifer_net::NetworkZone;

/// Whether an address in this zone is never a login server.
pub(crate) fn is_forbidden(zone: NetworkZone) -> bool {
    matches!(zone, NetworkZone::LinkLocal | NetworkZone::Invalid)
}

/// Whether a server in one zone may name a URL in another one.
pub(crate) fn may_name(own: NetworkZone, other: NetworkZone) -> bool {
    match (own, other) {
        (_, other) if is_forbidden(other) => false,
        (_, NetworkZone::Public) | (NetworkZone::Loopback, _) => true,
        (own, other) => own == other,
    }
}

#[cfg(test)]
mod tests {
    use NetworkZone::{Invalid, LinkLocal, Loopback, Private, Public};

    use super::*;

    #[test]
    fn public_servers_may_not_name_private_addresses() {
        for own in [Public, Private, Loopback, LinkLocal, Invalid] {
            assert!(may_name(own, Public) && !may_name(own, LinkLocal) && !may_name(own, Invalid), "{own:?}");
        }
        assert!(!may_name(Public, Private) && !may_name(Public, Loopback));
        assert!(may_name(Private, Private) && !may_name(Private, Loopback));
        assert!(may_name(Loopback, Loopback) && may_name(Loopback, Private));
    }
}
