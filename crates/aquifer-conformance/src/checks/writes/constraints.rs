//! Checks that constraints are enforced and documented.

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::context::values::constraint_violations;
use crate::record::Purpose;
use crate::report::Category::ConstraintDocumentation;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "constraints.enforced",
        "Constraints are enforced with structured errors",
        ConstraintDocumentation,
        "constraints",
        "no parameter has a constraint",
        |context, tally| Box::pin(enforced(context, tally)),
    )
    .depends_on(&["introspection.bad_query"]),
    Check::new(
        "constraints.identifiers",
        "An identifier cannot be changed, and introspection says so",
        ConstraintDocumentation,
        "operations",
        "no created row can be updated",
        |context, tally| Box::pin(identifiers(context, tally)),
    )
    .applies_to(Feature::InputUpdates)
    .writes(),
    Check::new(
        "constraints.input_fields",
        "Unknown fields of 'input' are refused or cause a warning",
        ConstraintDocumentation,
        "operations",
        "no created row can be updated through 'input'",
        |context, tally| Box::pin(input_fields(context, tally)),
    )
    .applies_to(Feature::InputUpdates)
    .writes(),
    Check::new(
        "updates.input",
        "UPDATE operations take their changes in 'input'",
        ConstraintDocumentation,
        "operations",
        "no operation updates anything",
        |context, tally| Box::pin(update_inputs(context, tally)),
    )
    .applies_to(Feature::UpdateOperations)
    .depends_on(&["details.agreement"]),
];

/// The published codes for a value of the right type that is not allowed. The registry has only the code for a wrong
/// type; the others come from the chapter on MCP and the list of future codes.
const BREACHED: &[&str] = &[
    "VALIDATION_INVALID_VALUE",
    "VALIDATION_INVALID_TYPE",
    "VALIDATION_INVALID_ENUM",
    "VALIDATION_OUT_OF_RANGE",
    "VALIDATION_PATTERN_MISMATCH",
    "VALIDATION_PAYLOAD_TOO_LARGE",
    "INTROSPECTION_ERROR",
];

async fn enforced(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut left_out = 0;
    for operation in &description.operations {
        if !operation.is_read() && !context.options.allow_writes {
            left_out += 1;
            continue;
        }
        for parameter in &operation.parameters {
            for (constraint, value) in constraint_violations(parameter) {
                let Some(mut params) = context.params_to_break(operation) else { break };
                params.insert(parameter.name.clone(), value);
                let reply = context.call(operation, params).await;
                let subject = format!("{}.{}", operation.name, parameter.name);
                tally.count();
                // A page size above the maximum may be reduced, with a warning.
                let handled = reply.is_refused() || (constraint == "maximum" && !reply.warnings().is_empty());
                match (handled, constraint) {
                    (false, "format") => tally.warn(&subject, "a value of another format was accepted", Some(&reply)),
                    (false, _) => {
                        tally.fail(
                            &subject,
                            format!("a value violating its '{constraint}' was accepted"),
                            Some(&reply),
                        );
                    }
                    (true, _) => {
                        let name = format!("{constraint} of {subject}");
                        context.record_exchange(Purpose::Constraint { name, documented: true }, &reply);
                        context.monitor.expect_code(&subject, BREACHED, &reply);
                        context.monitor.expect_words(&subject, &[std::slice::from_ref(&parameter.name)], &reply);
                    }
                }
            }
        }
    }
    if left_out > 0 {
        tally.note(format!("{left_out} operations were left out because writes are not allowed"));
    }
}

async fn update_inputs(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in description.operations.iter().filter(|operation| operation.category == "UPDATE") {
        let problem = "its changes are parameters of their own";
        tally.expect(operation.has_parameter("input"), &operation.name, problem, None);
    }
}

async fn identifiers(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(created)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some(key) = resource.key.first().filter(|_| update.has_parameter("input")) else { continue };
        let other = match created.key.get(key) {
            Some(Value::Number(_)) => json!(2_147_483_002),
            _ => json!("another-key-7f3a"),
        };
        let mut params = created.key.clone();
        params.insert("input".into(), json!({key: other}));
        let reply = context.call(update, params).await;
        let subject = format!("{}.input.{key}", update.name);
        let field = context.updatable_fields(update).into_iter().find(|field| field.name == *key);
        let words = field.as_ref().map(|field| field.description.to_lowercase()).unwrap_or_default();
        let documented = field.is_none() || words.contains("read-only") || words.contains("read only");
        let unharmed = match context.read_back(resource, &created.key).await {
            Some((read, _)) => !read.is_gone(),
            None => true,
        };
        if tally.expect(reply.is_refused() && unharmed, &subject, "the identifier could be changed", Some(&reply)) {
            if !documented {
                tally.warn(&subject, "it is refused, but introspection lists it as changeable", Some(&reply));
            }
            let name = format!("identifier of {}", update.name);
            context.record_exchange(Purpose::Constraint { name, documented }, &reply);
        }
    }
}

async fn input_fields(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_field_7f3a";
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(created)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        if !update.has_parameter("input") {
            continue;
        }
        let mut params: Map<String, Value> = created.key.clone();
        params.insert("input".into(), json!({NAME: "x"}));
        let reply = context.call(update, params).await;
        let problem = "an unknown field was neither refused by name nor reported as a warning";
        tally.expect(reply.reports_unknown(NAME), &update.name, problem, Some(&reply));
        context.record_exchange(
            Purpose::Constraint { name: format!("unknown field of {}", update.name), documented: true },
            &reply,
        );
    }
}
