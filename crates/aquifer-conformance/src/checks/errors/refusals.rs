//! Checks of the most common failures.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::description::Parameter;
use crate::record::Purpose;
use crate::report::Category::ErrorQuality;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "errors.unknown_operation",
        "An unknown operation is refused by name",
        ErrorQuality,
        "tools",
        "no tool answers introspection",
        |context, tally| Box::pin(unknown_operation(context, tally)),
    ),
    Check::new(
        "errors.not_found",
        "Requests for missing resources are refused",
        ErrorQuality,
        "operations",
        "no get operation has a key of a known type",
        |context, tally| Box::pin(not_found(context, tally)),
    )
    .for_feature(Feature::Getting),
];

async fn unknown_operation(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_operation_7f3a";
    if context.description.operations_list.is_empty() {
        return;
    }
    for tool in context.client.aql_tools() {
        let reply = context.send(&tool, json!({"operation": NAME, "params": {}})).await;
        let named = reply.is_refused() && reply.message().contains(NAME);
        if tally.expect(named, &tool, "an unknown operation was not refused by its name", Some(&reply)) {
            context.monitor.expect_code(&tool, &["NOT_FOUND_OPERATION", "VALIDATION_UNKNOWN_OPERATION"], &reply);
            let name = format!("unknown operation on {tool}");
            context.record_exchange(Purpose::Error { name, must_mention: vec![NAME.to_owned()] }, &reply);
        }
    }
}

/// Text that no existing key equals or ends with.
const UNUSED_TEXT: &str = "no-such-key-7f3a";

/// A number that is probably no key.
const UNUSED_NUMBER: i64 = 2_147_483_001;

/// How many values are tried until one is not a key.
const MAX_TRIED: usize = 300;

/// A key that does not exist, of the same type as an existing one. It follows the description of the parameter, because an
/// invalid key would be refused for another reason, and is no longer than the existing one, because the length of keys may
/// be limited.
fn unused_key(
    value: &Value,
    known: &[Value],
    parameter: Option<&Parameter>,
    generate: impl Fn(&Parameter, usize) -> Option<Value>,
) -> Option<Value> {
    let is_unused = |candidate: &Value| candidate != value && !known.contains(candidate);
    let described = parameter.filter(|own| own.pattern.is_some() || !own.allowed.is_empty());
    match value {
        Value::Number(_) => {
            let low = parameter.and_then(|own| own.minimum).map_or(i64::MIN, |minimum| minimum.ceil() as i64);
            let high = parameter.and_then(|own| own.maximum).map_or(i64::MAX, |maximum| maximum.floor() as i64);
            let first = UNUSED_NUMBER.clamp(low, high.max(low));
            (low..=first).rev().take(MAX_TRIED).map(Value::from).find(is_unused)
        }
        Value::String(_) if described.is_some() => {
            let generated = (1..=MAX_TRIED).filter_map(|variant| generate(described?, variant));
            generated.into_iter().find(is_unused)
        }
        Value::String(text) if text.len() == 36 && text.matches('-').count() == 4 => {
            Some(json!("00000000-0000-4000-8000-000000007f3a"))
        }
        Value::String(text) => {
            let extra = UNUSED_TEXT.len().saturating_sub(text.chars().count());
            let ending = UNUSED_TEXT.get(extra..)?;
            (ending != text).then(|| json!(ending))
        }
        _ => None,
    }
}

async fn not_found(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter().filter(|resource| resource.is_stored()) {
        let Some(get) = &resource.get else { continue };
        let Some(mut params) = context.minimal_params(get) else { continue };
        let Some(key) = resource.key.first() else { continue };
        let known = context.values_in(resource, key);
        let Some(value) = params.get(key) else { continue };
        let Some(other) =
            unused_key(value, &known, get.parameter(key), |own, variant| context.generate_variant(own, variant))
        else {
            continue;
        };
        let shown = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
        params.insert(key.clone(), other);
        let reply = context.call(get, params).await;
        let problem = "a missing resource was answered with success";
        if tally.expect(reply.is_refused(), &get.name, problem, Some(&reply)) {
            context.monitor.expect_code(&get.name, &["NOT_FOUND_RESOURCE"], &reply);
            let mut words = vec![shown, resource.noun.clone()];
            words.extend(resource.noun.split('_').filter(|word| word.len() > 3).map(str::to_owned));
            context.monitor.expect_words(&get.name, &[&words], &reply);
            let name = format!("not found by {}", get.name);
            context.record_exchange(Purpose::Error { name, must_mention: Vec::new() }, &reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_keys_are_as_short_as_existing_ones() {
        let plain = |value: Value| unused_key(&value, &[], None, |_, _| None);
        assert_eq!(plain(json!("CH")), Some(json!("3a")));
        assert_eq!(plain(json!("3a")), None, "it is in use");
        assert_eq!(plain(json!("Zürich")), Some(json!("y-7f3a")));
        assert_eq!(plain(json!("a much longer key than that")), Some(json!(UNUSED_TEXT)));
    }

    #[test]
    fn unused_keys_follow_their_description() {
        let byte = Parameter { minimum: Some(0.0), maximum: Some(255.0), ..Parameter::default() };
        let known = [json!(1), json!(255), json!(254)];
        assert_eq!(unused_key(&json!(1), &known, Some(&byte), |_, _| None), Some(json!(253)));
        assert_eq!(unused_key(&json!(1), &[], None, |_, _| None), Some(json!(UNUSED_NUMBER)));
        let coded = Parameter { pattern: Some("^[A-Z]{2}$".to_owned()), ..Parameter::default() };
        let generate = |_: &Parameter, variant: usize| Some(json!(["AA", "AB", "AC"].get(variant)?));
        assert_eq!(unused_key(&json!("AA"), &[json!("AB")], Some(&coded), generate), Some(json!("AC")));
    }
}
