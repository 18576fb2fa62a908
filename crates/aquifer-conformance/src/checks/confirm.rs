//! Operations that want to be confirmed.

use serde_json::json;

use super::Check;
use crate::feature::Feature;
use crate::lab::Lab;
use crate::report::Category::LevelTwoFeatures;
use crate::tally::Tally;

const NOTHING: &str = "nothing of ours is left that wants to be confirmed";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "confirm.asked",
        "What documents a confirmation does not run without it",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |lab, tally| Box::pin(asked(lab, tally)),
    )
    .of(Feature::Confirmation)
    .writes(),
    Check::new(
        "confirm.token",
        "An invented confirmation is refused",
        LevelTwoFeatures,
        "operations",
        NOTHING,
        |lab, tally| Box::pin(token(lab, tally)),
    )
    .of(Feature::Confirmation)
    .needs(&["confirm.asked"])
    .writes(),
];

/// Sends each delete of a row of ours with these parameters beside the key, and looks whether the row is still there.
async fn try_each(lab: &mut Lab<'_>, tally: &mut Tally, invented: Option<&str>, problem: &str) {
    let resources = lab.resources.clone();
    for made in lab.sandbox.left() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == made.noun) else { continue };
        let Some(delete) = resource.delete.as_ref().filter(|delete| delete.has("confirmation_token")) else { continue };
        let mut params = made.key.clone();
        params.extend(invented.map(|invented| ("confirmation_token".to_owned(), json!(invented))));
        let reply = lab.call(delete, params).await;
        let still = lab.read_back(resource, &made.key).await.is_none_or(|(read, _)| !read.absent());
        tally.holds(reply.refused() && still, &delete.name, problem, Some(&reply));
        if invented.is_none() && reply.refused() && !reply.code().is_empty() {
            let required = reply.code() == "CONFIRMATION_REQUIRED";
            let problem = "the refusal does not say CONFIRMATION_REQUIRED";
            tally.holds(required, &delete.name, problem, Some(&reply));
        }
    }
}

async fn asked(lab: &mut Lab<'_>, tally: &mut Tally) {
    try_each(lab, tally, None, "it ran without being confirmed").await;
}

async fn token(lab: &mut Lab<'_>, tally: &mut Tally) {
    let invented = "conf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    try_each(lab, tally, Some(invented), "an invented token was taken for a confirmation").await;
}
