//! Constraints are enforced as documented, and documented as enforced.

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::context::CheckContext;
use crate::context::values::breaches;
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
    .needs(&["introspection.bad_query"]),
    Check::new(
        "constraints.identifiers",
        "An identifier cannot be changed, and introspection says so",
        ConstraintDocumentation,
        "operations",
        "there is no row of ours that can be updated",
        |context, tally| Box::pin(identifiers(context, tally)),
    )
    .writes(),
    Check::new(
        "constraints.input_fields",
        "Unknown fields of 'input' are refused or warned of",
        ConstraintDocumentation,
        "operations",
        "there is no row of ours that can be updated through 'input'",
        |context, tally| Box::pin(input_fields(context, tally)),
    )
    .writes(),
];

/// The codes that are published for a value of the right type that is not allowed: the registry has none but that of a
/// wrong type, the chapter on MCP and the list of future codes have the others.
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
    let described = context.described.clone();
    let mut left_out = 0;
    for operation in &described.operations {
        if !operation.reads() && !context.options.allow_writes {
            left_out += 1;
            continue;
        }
        for parameter in &operation.parameters {
            for (constraint, value) in breaches(parameter) {
                let Some(mut params) = context.breakable(operation) else { break };
                params.insert(parameter.name.clone(), value);
                let reply = context.call(operation, params).await;
                let subject = format!("{}.{}", operation.name, parameter.name);
                tally.look();
                // A page that is too large may be cut down, as long as that is said.
                let handled = reply.refused() || (constraint == "maximum" && !reply.warnings().is_empty());
                match (handled, constraint) {
                    (false, "format") => tally.warn(&subject, "a value of another format was accepted", Some(&reply)),
                    (false, _) => {
                        tally.fail(&subject, format!("a value against its '{constraint}' was accepted"), Some(&reply));
                    }
                    (true, _) => {
                        context.watch.expect_code(&subject, BREACHED, &reply);
                        context.watch.expect_words(&subject, &[std::slice::from_ref(&parameter.name)], &reply);
                    }
                }
            }
        }
    }
    if left_out > 0 {
        tally.note(format!("{left_out} operations that write were left out: writes are not allowed"));
    }
}

async fn identifiers(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(made)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some(key) = resource.key.first().filter(|_| update.has("input")) else { continue };
        let other = match made.key.get(key) {
            Some(Value::Number(_)) => json!(2_147_483_002),
            _ => json!("another-key-7f3a"),
        };
        let mut params = made.key.clone();
        params.insert("input".into(), json!({key: other}));
        let reply = context.call(update, params).await;
        let subject = format!("{}.input.{key}", update.name);
        let field = context.updatable(update).into_iter().find(|field| field.name == *key);
        let words = field.as_ref().map(|field| field.description.to_lowercase()).unwrap_or_default();
        let documented = field.is_none() || words.contains("read-only") || words.contains("read only");
        let unharmed = match context.read_back(resource, &made.key).await {
            Some((read, _)) => !read.absent(),
            None => true,
        };
        if tally.holds(reply.refused() && unharmed, &subject, "the identifier could be changed", Some(&reply)) {
            if !documented {
                tally.warn(&subject, "it is refused, but introspection lists it as a field to change", Some(&reply));
            }
            let name = format!("identifier of {}", update.name);
            context.keep(Purpose::Constraint { name, documented }, &reply);
        }
    }
}

async fn input_fields(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_field_7f3a";
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(made)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        if !update.has("input") {
            continue;
        }
        let mut params: Map<String, Value> = made.key.clone();
        params.insert("input".into(), json!({NAME: "x"}));
        let reply = context.call(update, params).await;
        let problem = "an unknown field was neither refused by name nor warned of";
        tally.holds(reply.tells_of(NAME), &update.name, problem, Some(&reply));
        context
            .keep(Purpose::Constraint { name: format!("unknown field of {}", update.name), documented: true }, &reply);
    }
}
