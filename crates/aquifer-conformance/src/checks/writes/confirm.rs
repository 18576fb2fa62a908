//! Operations that want to be confirmed.

use serde_json::json;

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

const NOTHING: &str = "nothing of ours is left that wants to be confirmed";

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "confirm.asked",
        "What documents a confirmation does not run without it",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |context, tally| Box::pin(asked(context, tally)),
    )
    .of(Feature::Confirmation)
    .writes(),
    Check::new(
        "confirm.token",
        "An invented confirmation is refused",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |context, tally| Box::pin(token(context, tally)),
    )
    .of(Feature::Confirmation)
    .needs(&["confirm.asked"])
    .writes(),
];

/// Sends each delete of a row of ours with these parameters beside the key, and looks whether the row is still there.
async fn try_each(context: &mut CheckContext<'_>, tally: &mut Tally, invented: Option<&str>, problem: &str) {
    let resources = context.resources.clone();
    for made in context.sandbox.left() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == made.noun) else { continue };
        let Some(delete) = resource.delete.as_ref().filter(|delete| delete.has("confirmation_token")) else { continue };
        let mut params = made.key.clone();
        params.extend(invented.map(|invented| ("confirmation_token".to_owned(), json!(invented))));
        let reply = context.call(delete, params).await;
        let still = context.read_back(resource, &made.key).await.is_none_or(|(read, _)| !read.absent());
        tally.holds(reply.refused() && still, &delete.name, problem, Some(&reply));
        if invented.is_none() && reply.refused() && !reply.code().is_empty() {
            let required = reply.code() == "CONFIRMATION_REQUIRED";
            let problem = "the refusal does not say CONFIRMATION_REQUIRED";
            tally.holds(required, &delete.name, problem, Some(&reply));
        }
    }
}

async fn asked(context: &mut CheckContext<'_>, tally: &mut Tally) {
    try_each(context, tally, None, "it ran without being confirmed").await;
}

async fn token(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let invented = "conf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    try_each(context, tally, Some(invented), "an invented token was taken for a confirmation").await;
}
