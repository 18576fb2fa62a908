//! Any text is a file that can be read or refused: an adapter with and without its sidecar, a bundle, reviewed overrides, a
//! client's configuration.

use aquifer_discovery::{Adapter, Bundle, Overrides, Servers};

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (first, second) = text.split_once('\0').unwrap_or((text, ""));
    let _ = Adapter::read(first, None);
    let _ = Adapter::read(first, Some(second));
    let _ = Bundle::read(text);
    let _ = Overrides::read(text);
    if let Ok(servers) = Servers::read(text) {
        // Written for people to see: it must not show what is secret, and must not break.
        let _ = format!("{servers:?}");
    }
}
