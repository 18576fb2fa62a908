//! Cargo features that a build may leave out, and the error for a user who needs one that was left out.

/// The error of a build without a feature.
pub(crate) fn missing(support: &str, feature: &str) -> anyhow::Error {
    anyhow::anyhow!("this build has no {support}: it was compiled without the feature '{feature}'")
}

#[cfg(not(feature = "sqlite"))]
compile_error!("the feature 'sqlite' cannot be left out: the state store and the demo are SQLite databases");
