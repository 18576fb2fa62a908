//! Checks that an operation is answered only by its own tool.

use serde_json::json;

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::record::Purpose;
use crate::report::Category::IntrospectionFidelity;
use crate::report::Tally;

pub(crate) const READ_CHECKS: &[Check] = &[Check::new(
    "routing.mismatch",
    "Operations sent to another family's tool are refused",
    IntrospectionFidelity,
    "misrouted requests",
    "there is no second family of tools, or no working operation",
    |context, tally| Box::pin(mismatch(context, tally)),
)
.for_feature(Feature::Families)];

pub(crate) const WRITE_CHECKS: &[Check] = &[Check::new(
    "routing.not_run",
    "Operations sent to the wrong tool do not run",
    IntrospectionFidelity,
    "misrouted writes",
    "no resource can be created and listed",
    |context, tally| Box::pin(not_run(context, tally)),
)
.for_feature(Feature::Families)
.applies_to(Feature::ListedCreation)
.depends_on(&["routing.mismatch"])
.writes()];

async fn mismatch(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let tools: Vec<String> = description.tools().into_iter().map(str::to_owned).collect();
    let working = context.valid_requests.clone();
    for tool in &tools {
        let others = working.iter().filter_map(|(name, params)| Some((description.operation(name)?, params)));
        for (operation, params) in others.filter(|(operation, _)| operation.tool != *tool).take(3) {
            let reply = context.send(tool, json!({"operation": operation.name, "params": params})).await;
            let problem = format!("'{tool}' answered it, but it belongs to '{}'", operation.tool);
            if tally.expect(reply.is_refused(), &operation.name, &problem, Some(&reply)) {
                context.monitor.expect_code(&operation.name, &["VALIDATION_ENDPOINT_MISMATCH"], &reply);
                let name = format!("misrouted {}", operation.name);
                context.record_exchange(Purpose::Error { name, must_mention: vec![operation.name.clone()] }, &reply);
            }
        }
    }
}

async fn not_run(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let (resources, tool) = (context.resources.clone(), context.description.tool.clone());
    let tried = tally.examined + 3;
    for resource in resources.iter().filter(|resource| resource.list.is_some()) {
        let Some(create) = resource.create.as_ref().filter(|_| tally.examined < tried) else { continue };
        if create.tool == tool {
            continue;
        }
        let Some(params) = context.creation_params(resource) else { continue };
        let Some(before) = context.count_rows(resource).await else { continue };
        let reply = context.send(&tool, create.request(params)).await;
        let after = context.count_rows(resource).await;
        let problem = format!("it ran although it was sent to '{tool}'");
        tally.expect(!reply.is_success() && after == Some(before), &create.name, &problem, Some(&reply));
    }
}
