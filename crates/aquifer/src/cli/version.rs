//! What `aquifer --version` prints. `aquifer -V` prints only the name and the version.

/// The version, and what the binary was built from (see `build.rs`).
pub(super) const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("AQUIFER_BUILD_COMMIT"),
    "\ntarget: ",
    env!("AQUIFER_BUILD_TARGET"),
    "\nprofile: ",
    env!("AQUIFER_BUILD_PROFILE"),
    "\nfeatures: ",
    env!("AQUIFER_BUILD_FEATURES"),
);
