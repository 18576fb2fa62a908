//! Replaces `aquifer conformance` in builds without the feature `conformance`.

use crate::CommandOutcome;
use crate::cli::{BAD_USAGE, ConformanceArgs};
use crate::config::feature;

pub(crate) async fn run(_arguments: ConformanceArgs) -> CommandOutcome {
    note!("aquifer: {}", feature::missing("conformance runner", "conformance"));
    CommandOutcome::Code(BAD_USAGE)
}
