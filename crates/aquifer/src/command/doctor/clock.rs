//! The clock of this machine. Approvals, tokens and cursors expire by it.

use std::time::Duration;

use jiff::Timestamp;

use super::Finding;
use crate::sources::ago;

/// 1 November 2026, when this version was written. No correct clock is earlier.
const RELEASED_SECONDS: i64 = 1_793_491_200;
/// How far the clock may have moved back since the state was used.
const MAX_STEP_BACK: Duration = Duration::from_secs(120);

/// `last_use` is when the state was last used, as far as that is known.
pub(super) fn check(now: Timestamp, last_use: Option<Timestamp>) -> Vec<Finding> {
    let advice = "Set the clock of this machine, best with a time service (timedatectl set-ntp true)";
    if now.as_second() < RELEASED_SECONDS {
        let message = format!("it says {now:.0}, which is earlier than this version of Aquifer");
        return vec![Finding::problem("clock", message, advice)];
    }
    let ahead = last_use.and_then(|last_use| Duration::try_from(last_use.duration_since(now)).ok());
    match ahead.filter(|ahead| *ahead > MAX_STEP_BACK) {
        Some(ahead) => {
            let ahead = ago(ahead);
            let message = format!(
                "the state was last used {} in the future, so the clock was or is wrong; until it catches up, nothing \
                 expires",
                ahead.trim_end_matches(" ago")
            );
            vec![Finding::problem("clock", message, advice)]
        }
        None => vec![Finding::ok("clock", "plausible")],
    }
}
