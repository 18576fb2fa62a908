//! What held, or did not, for every answer of the run.

use super::Check;
use crate::lab::Lab;
use crate::report::Category::ErrorQuality;
use crate::tally::Tally;
use crate::watch::Watch;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "answers.envelope",
        "Answers match the discriminated union",
        ErrorQuality,
        "answers",
        "nothing was answered",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.envelope)),
    ),
    Check::new(
        "answers.texts",
        "Structured content and text say the same",
        ErrorQuality,
        "answers",
        "no answer has both forms",
        |lab, tally| Box::pin(texts(lab, tally)),
    ),
    Check::new(
        "errors.tool_results",
        "Failures are tool results, not JSON-RPC errors",
        ErrorQuality,
        "failures",
        "nothing failed",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.transport)),
    ),
    Check::new(
        "errors.codes",
        "Error codes are written in capitals",
        ErrorQuality,
        "failures",
        "nothing failed with a code",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.codes)),
    )
    .needs(&["answers.envelope"]),
    Check::new(
        "errors.registry",
        "Failures have the published codes",
        ErrorQuality,
        "failures",
        "no failure of a published kind had a code",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.registry)),
    )
    .needs(&["errors.codes", "answers.envelope", "requests.accepted"]),
    Check::new(
        "errors.leaks",
        "Error messages do not leak implementation internals",
        ErrorQuality,
        "messages",
        "no message was seen",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.leaks)),
    ),
    Check::new(
        "errors.actionable",
        "Error messages remain actionable",
        ErrorQuality,
        "messages",
        "no message on a parameter was seen",
        |lab, tally| Box::pin(hand_over(lab, tally, |watch| &mut watch.actionable)),
    )
    .needs(&["parameters.required_named", "errors.leaks", "requests.accepted"]),
];

/// What was counted on the way becomes what this check counted.
async fn hand_over(lab: &mut Lab<'_>, tally: &mut Tally, which: fn(&mut Watch) -> &mut Tally) {
    *tally = std::mem::take(which(&mut lab.watch));
}

async fn texts(lab: &mut Lab<'_>, tally: &mut Tally) {
    *tally = std::mem::take(&mut lab.watch.texts);
    if tally.looked_at == 0 && lab.calls() > 1 {
        // A server that sends one form only cannot contradict itself.
        tally.look();
        tally.note("the server sends one form only");
    }
}
