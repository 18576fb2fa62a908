//! The strength of a confirmation: who can give it, and how long it may have to wait. Policy sets it, and confirmations
//! enforce it.

use std::time::Duration;

use aquifer_engine::Interaction;
use aquifer_protocol::danger::Danger;
use serde::{Deserialize, Serialize};

/// Maximum cooldown. Longer ones are shortened, so that a token can expire.
pub(crate) const MAX_COOLDOWN: Duration = Duration::from_secs(5 * 60);

/// How a confirmation is given, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// The caller repeats the request with a token. A model can do that by itself.
    Token,
    /// The client asks its user.
    Elicit,
    /// A person approves through a channel that no model can use.
    Approval,
}

impl Strength {
    /// The strength as written in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Strength::Token => "token",
            Strength::Elicit => "elicit",
            Strength::Approval => "approval",
        }
    }
}

/// The strength for clients that can ask their user, and for those that cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct RequiredStrength {
    /// For clients that can ask.
    pub interactive: Strength,
    /// For all others.
    pub otherwise: Strength,
}

impl RequiredStrength {
    /// The default: a person confirms, asked by the client or through an approval. If the operator lets the model
    /// confirm where the client cannot ask, a token is enough up to destructive.
    pub fn default_for(danger: Danger, model_confirms: bool) -> Self {
        let is_token_enough = model_confirms && danger <= Danger::Destructive;
        let otherwise = if is_token_enough { Strength::Token } else { Strength::Approval };
        Self { interactive: Strength::Elicit, otherwise }
    }

    /// Whether a model can give the confirmation by itself.
    pub fn lets_model_confirm(self) -> bool {
        self.interactive == Strength::Token || self.otherwise == Strength::Token
    }

    /// The strength for this kind of client.
    pub fn for_client(self, interactive: bool) -> Strength {
        if interactive { self.interactive } else { self.otherwise }
    }

    /// The strength for a call in this situation. A batch does not lower it for a client that can ask its user. A
    /// person who is asked need not be asked by somebody else.
    pub(crate) fn for_interaction(self, interaction: Interaction) -> Strength {
        match self.for_client(interaction.is_person() || interaction.can_ask_outside_batch()) {
            Strength::Elicit if interaction.is_person() => Strength::Token,
            strength => strength,
        }
    }

    /// The stronger of both, for each kind of client.
    #[must_use]
    pub fn stronger(self, other: Self) -> Self {
        Self { interactive: self.interactive.max(other.interactive), otherwise: self.otherwise.max(other.otherwise) }
    }
}

impl From<Strength> for RequiredStrength {
    /// A rule may require that the user is asked; if the client cannot ask, an approval is needed.
    fn from(strength: Strength) -> Self {
        let otherwise = if strength == Strength::Elicit { Strength::Approval } else { strength };
        Self { interactive: strength, otherwise }
    }
}

impl std::fmt::Display for RequiredStrength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.interactive == self.otherwise {
            return f.write_str(self.interactive.as_str());
        }
        write!(f, "{}, else {}", self.interactive.as_str(), self.otherwise.as_str())
    }
}
