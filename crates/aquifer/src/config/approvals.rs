//! The configuration section `[approvals]`.

use serde::Deserialize;

use super::Variables;

/// `[approvals]`: who is told that a call waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalsConfig {
    /// The address that is told about every approval. It may refer to variables.
    pub(crate) webhook: Option<String>,
    /// The secret that signs what is sent there. It may refer to variables.
    pub(crate) webhook_secret: Option<String>,
    /// The address at which people reach the explorer, for links to approvals.
    pub(crate) explorer_url: Option<String>,
    /// The variables from `env_file`.
    #[serde(skip)]
    pub(crate) variables: Variables,
}
