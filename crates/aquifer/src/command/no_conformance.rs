//! Replaces `aquifer conformance` in builds without the feature `conformance`.

use crate::Ending;
use crate::cli::{BAD_USAGE, ConformanceArgs};
use crate::feature;

pub(crate) async fn run(_arguments: ConformanceArgs) -> Ending {
    eprintln!("aquifer: {}", feature::missing("conformance runner", "conformance"));
    Ending::Code(BAD_USAGE)
}
