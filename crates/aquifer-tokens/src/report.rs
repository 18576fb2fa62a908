//! The report of a measurement. Its JSON format is stable: `docs/tokens.schema.json` describes it, and `FORMAT` is
//! incremented on breaking changes.

use serde::{Deserialize, Serialize};

use crate::count::TokenCounts;
use crate::definition_cost::DefinitionCost;
use crate::model_view::NonText;

/// The version of the JSON format.
pub const FORMAT: u32 = 1;

/// The report of a measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of the JSON format.
    pub format: u32,
    /// What was measured, as written on the command line.
    pub subject: String,
    /// The tool sets a model may be given, and their cost at connect.
    pub surfaces: Vec<Surface>,
    /// The cost of introspection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection: Option<Introspection>,
    /// Whole tasks.
    pub tasks: Vec<Task>,
    /// The most expensive tools of the source itself.
    pub largest_tools: Vec<DefinitionCost>,
    /// The operations with the most expensive details.
    pub largest_operations: Vec<DefinitionCost>,
    /// Notes on what could not be measured, and why.
    pub remarks: Vec<String>,
}

/// Which tools a model is given.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SurfaceKind {
    /// All tools of the source itself.
    Direct,
    /// One tool for each family of operations.
    Semantic,
    /// One tool for all operations.
    Single,
    /// Both the semantic tools and the single tool.
    All,
}

impl SurfaceKind {
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

/// A set of tools and its cost at connect.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Which tools.
    #[serde(rename = "surface")]
    pub kind: SurfaceKind,
    /// How many tools.
    pub tools: usize,
    /// The cost of the tool list.
    pub connect: TokenCounts,
    /// The cost of the servers' instructions, which many clients show to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<TokenCounts>,
    /// The tools' icons.
    #[serde(rename = "apart", default, skip_serializing_if = "NonText::is_empty")]
    pub non_text: NonText,
}

/// The cost of introspection, requests and answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Introspection {
    /// The tools it was measured with.
    pub surface: SurfaceKind,
    /// How many operations there are.
    pub operations: usize,
    /// The list of all operations.
    pub list: ListCost,
    /// Searches for some operations by the words of their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<CostSummary>,
    /// The details of one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<CostSummary>,
}

/// The cost of a paged list.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ListCost {
    /// How many pages it has.
    pub pages: usize,
    /// The first page.
    pub first_page: TokenCounts,
    /// All pages.
    pub all_pages: TokenCounts,
}

/// Summary of several costs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CostSummary {
    /// The number of measurements.
    pub measured: usize,
    /// The median.
    pub median: TokenCounts,
    /// The largest.
    pub largest: TokenCounts,
    /// The name of the most expensive one.
    pub largest_name: String,
}

impl CostSummary {
    /// Summarizes named costs; `None` if there are none.
    pub(crate) fn from_costs(costs: &[(String, TokenCounts)]) -> Option<Self> {
        let (name, largest) = costs.iter().max_by_key(|(_, counts)| counts.o200k_base)?;
        let all: Vec<TokenCounts> = costs.iter().map(|(_, counts)| *counts).collect();
        let median = TokenCounts::median(&all);
        Some(Self { measured: costs.len(), median, largest: *largest, largest_name: name.clone() })
    }
}

/// One task, run with each set of tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name of the task.
    pub name: String,
    /// The operation to call.
    pub operation: String,
    /// The words to search for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// One run for each set of tools.
    #[serde(rename = "ways")]
    pub runs: Vec<TaskRun>,
    /// The cost of the answer in several shapes.
    pub answers: Vec<Answer>,
}

/// One run of a task, from connect to the answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRun {
    /// The tools that were used.
    pub surface: SurfaceKind,
    /// Whether the task's shape was requested.
    pub shaped: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The total cost.
    pub total: TokenCounts,
    /// Whether the first page of search results contains the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<bool>,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The reason, if the call was refused or not made.
    #[serde(rename = "why", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Binary content of the answer.
    #[serde(rename = "apart", default, skip_serializing_if = "NonText::is_empty")]
    pub non_text: NonText,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call was answered.
    Answered,
    /// The call was refused. The refusal is counted.
    Refused,
    /// The call was not made.
    NotCalled,
}

/// A step that a model takes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// It receives the tool list.
    Connect,
    /// It searches for an operation.
    Search,
    /// It reads the details of an operation.
    Detail,
    /// It calls the operation.
    Call,
}

/// One step of a task.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Which step.
    #[serde(rename = "step")]
    pub kind: StepKind,
    /// The tokens that the model writes.
    pub wrote: TokenCounts,
    /// The tokens that the model reads.
    pub read: TokenCounts,
}

/// The cost of an answer in one shape.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// `as it comes`; `fields`, `page` or `both`; or `shaped` for the task's own shape.
    pub shape: String,
    /// The parameters that request this shape.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// The tokens that the model reads.
    pub read: TokenCounts,
}
