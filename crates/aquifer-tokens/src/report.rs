//! What was measured. Its JSON is promised: `docs/tokens.schema.json` describes it, and `FORMAT` grows when a reader of
//! before could not read it any more.

use serde::{Deserialize, Serialize};

use crate::count::Counts;
use crate::offender::Offender;
use crate::seen::Apart;

/// The revision of the shape.
pub const FORMAT: u32 = 1;

/// Everything that was measured of one subject.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The revision of this shape.
    pub format: u32,
    /// What was measured, as it was written on the command line.
    pub subject: String,
    /// What a model may be given, and what it costs at connect.
    pub surfaces: Vec<Surface>,
    /// What it costs to look around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection: Option<Introspection>,
    /// Whole tasks.
    pub tasks: Vec<Task>,
    /// The tools of the source itself that cost most.
    pub largest_tools: Vec<Offender>,
    /// The operations whose details cost most.
    pub largest_operations: Vec<Offender>,
    /// What could not be measured, and why.
    pub remarks: Vec<String>,
}

/// Which tools a model is given.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Those of the source itself, every one.
    Direct,
    /// One for each family of operations.
    Semantic,
    /// One for everything.
    Single,
    /// Both of the last.
    All,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }
}

/// What is shown at connect.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Which tools.
    pub surface: Kind,
    /// How many.
    pub tools: usize,
    /// What a model sees of them.
    pub connect: Counts,
    /// What the servers say about their use, which many clients show, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Counts>,
    /// The tools' icons.
    #[serde(default, skip_serializing_if = "Apart::is_empty")]
    pub apart: Apart,
}

/// What it costs to look around: requests and answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Introspection {
    /// Where it was measured.
    pub surface: Kind,
    /// How many operations there are.
    pub operations: usize,
    /// The list of all operations.
    pub list: List,
    /// A search: some operations by the words of their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Spread>,
    /// A look at one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Spread>,
}

/// A list as it is paged.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// How many pages it has.
    pub pages: usize,
    /// The first of them.
    pub first_page: Counts,
    /// All of them.
    pub all_pages: Counts,
}

/// Many of a kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// How many were measured.
    pub measured: usize,
    /// The middle.
    pub median: Counts,
    /// The largest.
    pub largest: Counts,
    /// Which that is.
    pub largest_name: String,
}

impl Spread {
    /// Of named costs; none of nothing.
    pub(crate) fn of(costs: &[(String, Counts)]) -> Option<Self> {
        let (name, largest) = costs.iter().max_by_key(|(_, counts)| counts.o200k_base)?;
        let all: Vec<Counts> = costs.iter().map(|(_, counts)| *counts).collect();
        let median = Counts::median(&all);
        Some(Self { measured: costs.len(), median, largest: *largest, largest_name: name.clone() })
    }
}

/// One task, done in several ways.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What it is called.
    pub name: String,
    /// The operation that does it.
    pub operation: String,
    /// The words it is searched with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Each way to do it.
    pub ways: Vec<Way>,
    /// The same answer in several shapes.
    pub answers: Vec<Answer>,
}

/// A task from connect to its answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// With which tools.
    pub surface: Kind,
    /// Whether the answer was asked for in the task's own shape.
    pub shaped: bool,
    /// What was paid for, in order.
    pub steps: Vec<Step>,
    /// All of it.
    pub total: Counts,
    /// Whether the search showed the operation in its first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<bool>,
    /// How the call came out.
    pub outcome: Outcome,
    /// Why, where it is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What came that is no text.
    #[serde(default, skip_serializing_if = "Apart::is_empty")]
    pub apart: Apart,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Answered,
    /// With a refusal, which was read and is counted.
    Refused,
    /// It was not made.
    NotCalled,
}

/// What a model does at once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// It is shown its tools.
    Connect,
    /// It searches for an operation.
    Search,
    /// It looks at one.
    Detail,
    /// It calls.
    Call,
}

/// One step of a task.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is done.
    pub step: Doing,
    /// What the model writes.
    pub wrote: Counts,
    /// What it reads.
    pub read: Counts,
}

/// An answer in one shape.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// `as it comes`; `fields`, `page` or `both`; or `shaped` with what the task says.
    pub shape: String,
    /// The parameters that make it so.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// What a model reads of it.
    pub read: Counts,
}
