//! The interface to sources: a [`Source`] offers operations and answers calls to them. What only some sources have is in
//! traits of its own: [`LiveSource`], [`TableSource`] and [`ResourceSource`].

mod call;
mod interface;
mod offering;
mod resources;
mod status;
pub mod table_model;
mod tables;

pub use call::{Call, TargetCheck};
pub(crate) use call::{TargetJudge, target_gone};
pub use interface::{LiveSource, ResourceSource, Source, TableSource};
pub use offering::{Offering, Resolution};
pub use resources::{FetchRequest, SourceCapabilities};
pub use status::{CatalogState, SourceStatus, starting_failure};
pub use tables::{TableLines, TableSummary};

pub use crate::call::{
    Answer, ClientCapability, ClientSide, Context, InputRequest, Interaction, Outcome, PageRequest, Progress,
    ProgressUpdate,
};
