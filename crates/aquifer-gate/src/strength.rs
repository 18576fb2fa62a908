//! How strong a confirmation is: who can give it, and how long it may have to wait. Policy decides this, and confirmations
//! follow it.

use std::time::Duration;

use aquifer_protocol::danger::Danger;
use serde::{Deserialize, Serialize};

/// Maximum cooldown. Longer ones are cut, so that a token ends.
pub(crate) const MAX_COOLDOWN: Duration = Duration::from_secs(5 * 60);

/// How a confirmation is given, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// The caller repeats the request with a token. A model can do that by itself.
    Token,
    /// The client asks its human.
    Elicit,
    /// A person approves in a channel that the model does not have.
    Approval,
}

impl Strength {
    /// The strength as configuration spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Strength::Token => "token",
            Strength::Elicit => "elicit",
            Strength::Approval => "approval",
        }
    }
}

/// Which strength applies where the client can ask its human, and which where it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct RequiredStrength {
    /// With a client that can ask.
    pub interactive: Strength,
    /// With any other.
    pub otherwise: Strength,
}

impl RequiredStrength {
    /// Unless anybody says otherwise: the human is asked through the client; where it cannot, a token is enough up to
    /// destructive, and nothing but an approval above.
    pub fn default_for(danger: Danger) -> Self {
        let otherwise = if danger <= Danger::Destructive { Strength::Token } else { Strength::Approval };
        Self { interactive: Strength::Elicit, otherwise }
    }

    /// What is to be done with a client of this kind.
    pub fn for_client(self, interactive: bool) -> Strength {
        if interactive { self.interactive } else { self.otherwise }
    }

    /// The stronger of both, for either kind of client.
    #[must_use]
    pub fn stronger(self, other: Self) -> Self {
        Self { interactive: self.interactive.max(other.interactive), otherwise: self.otherwise.max(other.otherwise) }
    }
}

impl From<Strength> for RequiredStrength {
    /// Who wants the human asked does not want less where the client cannot: then it takes an approval.
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
