//! Checks over all answers of the run.

use crate::checks::Check;
use crate::context::{AnswerMonitor, CheckContext};
use crate::report::Category::{ErrorQuality, IntrospectionFidelity};
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "introspection.published",
        "Answers of introspection have the published members and values",
        IntrospectionFidelity,
        "answers",
        "introspection was not answered",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.introspection)),
    )
    .depends_on(&[
        "answers.envelope",
        "details.permissions",
        "details.shape",
        "errors.codes",
        "introspection.operations",
        "introspection.protocol",
        "introspection.type_details",
        "introspection.types",
    ]),
    Check::new(
        "answers.envelope",
        "Answers match the discriminated union",
        ErrorQuality,
        "answers",
        "nothing was answered",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.envelope)),
    )
    .depends_on(&["errors.codes"]),
    Check::new(
        "answers.texts",
        "Structured content and text agree",
        ErrorQuality,
        "answers",
        "no answer has both forms",
        |context, tally| Box::pin(texts(context, tally)),
    ),
    Check::new(
        "errors.tool_results",
        "Failures are tool results, not JSON-RPC errors",
        ErrorQuality,
        "failures",
        "nothing failed",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.transport)),
    ),
    Check::new(
        "errors.codes",
        "Error codes use UPPER_SNAKE_CASE",
        ErrorQuality,
        "failures",
        "nothing failed with a code",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.codes)),
    )
    .depends_on(&["answers.envelope"]),
    Check::new(
        "errors.registry",
        "Failures use the published codes",
        ErrorQuality,
        "failures",
        "no failure of a published kind had a code",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.registry)),
    )
    .depends_on(&["errors.codes", "answers.envelope", "requests.accepted"]),
    Check::new(
        "errors.leaks",
        "Error messages do not leak implementation internals",
        ErrorQuality,
        "messages",
        "no message was received",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.leaks)),
    ),
    Check::new(
        "errors.actionable",
        "Error messages remain actionable",
        ErrorQuality,
        "messages",
        "no message about a parameter was received",
        |context, tally| Box::pin(take_tally(context, tally, |monitor| &mut monitor.actionable)),
    )
    .depends_on(&["parameters.required_named", "errors.leaks", "requests.accepted"]),
];

/// Takes a tally from the answer monitor.
async fn take_tally(context: &mut CheckContext<'_>, tally: &mut Tally, which: fn(&mut AnswerMonitor) -> &mut Tally) {
    *tally = std::mem::take(which(&mut context.monitor));
}

async fn texts(context: &mut CheckContext<'_>, tally: &mut Tally) {
    *tally = std::mem::take(&mut context.monitor.texts);
    if tally.examined == 0 && context.calls() > 1 {
        // A server that sends only one form cannot contradict itself.
        tally.count();
        tally.note("the server sends only one form");
    }
}
