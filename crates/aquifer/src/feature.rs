//! Cargo features that a build may leave out. Each optional backend is one module with a stand-in of the same signature;
//! this is what a person reads who asks for one that is not there.

/// The error of a build without a feature.
pub(crate) fn missing(support: &str, feature: &str) -> anyhow::Error {
    anyhow::anyhow!("this build has no {support}: it was compiled without the feature '{feature}'")
}

#[cfg(not(feature = "sqlite"))]
compile_error!("the feature 'sqlite' cannot be left out: the state store and the demo are SQLite databases");
