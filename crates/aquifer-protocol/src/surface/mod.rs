//! The surface: the tools that a client sees, and the family that received a call (R-END-2 to R-END-5).

mod profile;
mod systems;
mod tool;

use std::str::FromStr;
use std::sync::Arc;

pub use profile::Profile;
pub use tool::Tool;

use crate::error::{Code, Failure};
use crate::operation::Operation;

/// How operations are grouped into tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One tool for each endpoint family.
    #[default]
    Semantic,
    /// One tool for everything.
    Single,
    /// Both.
    All,
}

/// The tools that a client sees.
#[derive(Debug, Clone)]
pub struct Surface {
    mode: Mode,
    profile: Profile,
    prefix: Arc<str>,
}

/// The tool that received a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// A tool that accepts all operations.
    Unified,
    /// The tool of one endpoint family.
    Family(Arc<str>),
}

/// Why a surface is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// The mode does not exist.
    #[error("unknown mode '{0}': use semantic, single or all")]
    UnknownMode(String),
    /// The prefix is invalid.
    #[error(
        "invalid tool prefix '{0}': use lower-case letters, digits and '_', and end in '_' (for example 'github_')"
    )]
    InvalidPrefix(String),
    /// The name of a family is not valid in a tool name.
    #[error("invalid endpoint family '{0}' in profile '{1}': use lower-case letters, digits and '_'")]
    InvalidFamily(String, String),
}

impl FromStr for Mode {
    type Err = SurfaceError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "semantic" => Ok(Mode::Semantic),
            "single" => Ok(Mode::Single),
            "all" => Ok(Mode::All),
            other => Err(SurfaceError::UnknownMode(other.to_owned())),
        }
    }
}

impl Mode {
    /// The name of the mode.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Semantic => "semantic",
            Mode::Single => "single",
            Mode::All => "all",
        }
    }
}

/// One tool for each CRUDE family, without a prefix.
impl Default for Surface {
    fn default() -> Self {
        Self { mode: Mode::default(), profile: Profile::default(), prefix: "".into() }
    }
}

impl Surface {
    /// The same surface in another mode.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// A surface with this mode, profile and tool prefix.
    pub fn new(mode: Mode, profile: Profile, prefix: &str) -> Result<Self, SurfaceError> {
        let word = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let valid_prefix = prefix.is_empty() || (prefix.ends_with('_') && word(prefix));
        if !valid_prefix {
            return Err(SurfaceError::InvalidPrefix(prefix.to_owned()));
        }
        if let Some(family) = profile.families().iter().find(|family| family.is_empty() || !word(family)) {
            return Err(SurfaceError::InvalidFamily(family.to_string(), profile.name().to_owned()));
        }
        Ok(Self { mode, profile, prefix: prefix.into() })
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The endpoint family of an operation.
    pub fn family_of(&self, operation: &Operation) -> &str {
        self.profile.family_of(operation)
    }

    /// The tool to call for an operation: that of its family, or the only tool in single mode (R-END-3a).
    pub fn tool_of(&self, operation: &Operation) -> String {
        match self.mode {
            Mode::Single => self.unified_tool(),
            Mode::Semantic | Mode::All => self.family_tool(self.family_of(operation)),
        }
    }

    fn unified_tool(&self) -> String {
        format!("{}mcp_aql", self.prefix)
    }

    fn family_tool(&self, family: &str) -> String {
        format!("{}mcp_aql_{family}", self.prefix)
    }

    /// The receiver of calls to this tool. `None` if the surface has no such tool.
    pub fn receiver(&self, tool: &str) -> Option<Receiver> {
        let rest = tool.strip_prefix(&*self.prefix)?.strip_prefix("mcp_aql")?;
        match (rest.strip_prefix('_'), self.mode) {
            (None, Mode::Single | Mode::All) if rest.is_empty() => Some(Receiver::Unified),
            (Some(family), Mode::Semantic | Mode::All) => {
                self.profile.families().iter().find(|known| &***known == family).cloned().map(Receiver::Family)
            }
            _ => None,
        }
    }

    /// Refuses an operation that was sent to the tool of another family (R-END-4).
    pub fn admit(&self, operation: &Operation, receiver: &Receiver) -> Result<(), Failure> {
        let Receiver::Family(actual) = receiver else { return Ok(()) };
        let expected = self.family_of(operation);
        if expected == &**actual {
            return Ok(());
        }
        let (expected, actual) = (expected.to_uppercase(), actual.to_uppercase());
        let mut message = format!("Operation '{}' must use {expected} endpoint, not {actual}", operation.name);
        if operation.class().has_bare_answers() {
            // The answer has no details, so the message names the tool.
            message.push_str(&format!(": call the tool '{}'", self.tool_of(operation)));
        }
        Err(Failure::new(Code::ValidationEndpointMismatch, message)
            .detail("operation", &*operation.name)
            .detail("expected_endpoint", expected)
            .detail("actual_endpoint", actual)
            .detail("expected_tool", self.tool_of(operation)))
    }
}
