//! The digest of a catalog. Catalogs with the same digest show and allow the same operations.

use std::sync::Arc;

use crate::introspect;
use crate::operation::{Operation, Origin, Routing, Safety};
use crate::schema::Types;
use crate::surface::Surface;

/// A digest of everything that introspection shows. It is the same in every process.
pub(super) fn digest(operations: &[Arc<Operation>], types: &Types, surface: &Surface) -> u64 {
    let mut hasher = Fnv::default();
    for operation in operations {
        let details = introspect::operation_details(Some(operation), types, surface, introspect::Detail::Standard);
        // Neither hashing nor serializing can fail.
        let _ = serde_json::to_writer(&mut hasher, &details);
        // These fields are not shown to callers, but policy depends on them, so a change makes a different catalog.
        let Operation { safety, origin, routing: Routing { generic_name, .. }, .. } = &**operation;
        let Safety { danger, safeguards, quarantine, .. } = safety;
        let Origin { trust, own_name, backing, .. } = origin;
        let judged = format_args!("{danger}{trust}{safeguards:?}{own_name}{generic_name:?}{backing:?}{quarantine:?}");
        let _ = std::io::Write::write_fmt(&mut hasher, judged);
    }
    for name in types.keys() {
        let _ = serde_json::to_writer(&mut hasher, &introspect::type_details(name, types));
    }
    hasher.0
}

/// FNV-1a. Unlike the standard hasher, it guarantees the same result in every process and version.
pub(super) struct Fnv(pub(super) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl std::io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
