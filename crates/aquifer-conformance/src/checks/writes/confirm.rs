//! Checks of confirmations.

use serde_json::json;

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

const NOTHING: &str = "the run created nothing whose deletion needs confirmation";

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "confirm.asked",
        "Operations do not run without their documented confirmation",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |context, tally| Box::pin(without_confirmation(context, tally)),
    )
    .for_feature(Feature::Confirmation)
    .applies_to(Feature::Deletion)
    .writes(),
    Check::new(
        "confirm.token",
        "An invented confirmation token is refused",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |context, tally| Box::pin(invented_token(context, tally)),
    )
    .for_feature(Feature::Confirmation)
    .applies_to(Feature::Deletion)
    .depends_on(&["confirm.asked"])
    .writes(),
];

/// Tries to delete each created row, optionally with an invented token, and checks that the row still exists.
async fn delete_each(context: &mut CheckContext<'_>, tally: &mut Tally, invented: Option<&str>, problem: &str) {
    let resources = context.resources.clone();
    for created in context.sandbox.remaining() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == created.noun) else { continue };
        let Some(delete) = resource.delete.as_ref().filter(|delete| delete.has_parameter("confirmation_token")) else {
            continue;
        };
        let mut params = created.key.clone();
        params.extend(invented.map(|invented| ("confirmation_token".to_owned(), json!(invented))));
        let (reply, is_asked) = context.call_unconfirmed(delete, params).await;
        let still_there = context.read_back(resource, &created.key).await.is_none_or(|(read, _)| !read.is_gone());
        tally.expect(reply.is_refused() && still_there, &delete.name, problem, Some(&reply));
        if invented.is_none() && !is_asked && reply.is_refused() && !reply.code().is_empty() {
            // A server may find that other rows prevent the deletion before it asks for confirmation.
            let impossible = reply.code().starts_with("CONFLICT_");
            let required = reply.code() == "CONFIRMATION_REQUIRED";
            let problem = "the code of the refusal is not CONFIRMATION_REQUIRED";
            tally.expect(required || impossible, &delete.name, problem, Some(&reply));
        }
    }
}

async fn without_confirmation(context: &mut CheckContext<'_>, tally: &mut Tally) {
    delete_each(context, tally, None, "it ran without confirmation").await;
}

async fn invented_token(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let invented = "conf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    delete_each(context, tally, Some(invented), "an invented token was accepted").await;
}
