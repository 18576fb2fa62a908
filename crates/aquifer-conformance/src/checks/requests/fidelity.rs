//! Checks whether the descriptions of parameters are accurate.

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::collections::filter::fields_to_filter;
use crate::checks::collections::sort::sorted_by;
use crate::checks::feature::Feature;
use crate::context::{CheckContext, Collection};
use crate::description::{Operation, Parameter};
use crate::mcp::Reply;
use crate::mcp::rows::{Row, rows, without_volatile};
use crate::record::Purpose;
use crate::report::Category::IntrospectionFidelity;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "requests.accuracy",
        "Requests built from introspection alone succeed",
        IntrospectionFidelity,
        "operations",
        "there is no operation to call",
        |context, tally| Box::pin(accuracy(context, tally)),
    )
    .depends_on(&["introspection.type_references"]),
    Check::new(
        "requests.accepted",
        "Every documented parameter is accepted",
        IntrospectionFidelity,
        "parameters",
        "no working operation has an optional parameter",
        |context, tally| Box::pin(accepted(context, tally)),
    ),
    Check::new(
        "requests.undocumented",
        "Undocumented parameters are not accepted silently",
        IntrospectionFidelity,
        "parameters",
        "no READ operation works",
        |context, tally| Box::pin(undocumented(context, tally)),
    )
    .depends_on(&["parameters.unknown"]),
    Check::new(
        "requests.effect",
        "Documented parameters have an effect",
        IntrospectionFidelity,
        "parameters",
        "no parameter has an observable effect",
        |context, tally| Box::pin(effect(context, tally)),
    )
    .for_feature(Feature::Controls)
    .where_observable()
    .depends_on(&["requests.accepted"]),
];

async fn accuracy(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for (name, reason) in &context.unanswered {
        tally.count();
        tally.fail(name, format!("calling it lost the server ({reason}); no other check calls it"), None);
    }
    for operation in description.read_operations() {
        let Some(reply) = context.last_replies.get(&operation.name) else {
            tally.note(format!(
                "{}: no request could be built{}",
                operation.name,
                context.reason_no_request(operation)
            ));
            continue;
        };
        if reply.code().is_empty() && reply.says_not_found() {
            tally.note(format!("{}: no existing row was found to request", operation.name));
            continue;
        }
        tally.count();
        if !reply.is_success()
            && (reply.is_invalid_request() || reply.code().is_empty() || reply.code() == "INTERNAL_ERROR")
        {
            tally.fail(&operation.name, "a request that follows its description was refused", Some(reply));
        }
    }
    for (noun, reply) in &context.creations {
        tally.count();
        if reply.is_invalid_request() {
            tally.fail(format!("create_{noun}"), "a request that follows its description was refused", Some(reply));
        } else if !reply.is_success() {
            tally.note(format!("creating '{noun}' failed with {}", reply.code()));
        }
    }
}

/// The other parameters that a parameter requires; `None` if they are unknown.
fn companion_params(context: &CheckContext<'_>, operation: &Operation, name: &str) -> Option<Map<String, Value>> {
    let beside = match name {
        "after" => json!({"first": 1}),
        "before" => json!({"last": 1}),
        "order" => json!({"sort": some_field(context, operation)?}),
        "include_items" => json!({"aggregate": {"n": {"count": true}}}),
        "offset" => json!({"limit": 1}),
        "page" => json!({"page_size": 1}),
        _ => json!({}),
    };
    let beside = beside.as_object().cloned().unwrap_or_default();
    Some(beside.into_iter().filter(|(name, _)| operation.has_parameter(name)).collect())
}

/// The name of a field in the rows of an operation.
fn some_field(context: &CheckContext<'_>, operation: &Operation) -> Option<String> {
    let collection = context.collections.iter().find(|own| own.operation.name == operation.name);
    let plain = collection.and_then(|own| own.plain_fields().into_iter().next());
    plain.or_else(|| context.known_field(operation))
}

/// A value for a documented parameter: from existing rows, or generated from the description.
fn value_for(
    context: &CheckContext<'_>,
    operation: &Operation,
    parameter: &Parameter,
    first: Option<&Reply>,
) -> Option<Value> {
    let collection = context.collections.iter().find(|own| own.operation.name == operation.name);
    let field = some_field(context, operation);
    let page = |key: &str| first.and_then(|reply| reply.data().pointer(&format!("/pageInfo/{key}")).cloned());
    match parameter.name.as_str() {
        "filter" => {
            let collection = collection?;
            let field = fields_to_filter(context, collection).into_iter().next()?;
            let value = collection.rows.iter().filter_map(|row| row.get(&field)).find(|value| !value.is_null())?;
            Some(json!({field: value}))
        }
        "sort" => sorted_by(operation, &Map::new(), &field?, "asc").remove("sort"),
        "fields" if !parameter.accepts_list() => crate::checks::feature::presets(operation)
            .first()
            .map(|preset| json!(preset))
            .or_else(|| field.map(Value::from)),
        "fields" => Some(json!([field?])),
        "preset" if parameter.allowed.is_empty() => {
            let known = crate::checks::feature::presets(operation).first().map(|preset| json!(preset));
            known.or_else(|| context.generate_value(parameter))
        }
        "aggregate" => Some(json!({"n": {"count": true}})),
        "after" | "cursor" => page("endCursor").or_else(|| page("startCursor")).filter(Value::is_string),
        "before" => page("endCursor").filter(Value::is_string),
        "confirmation_token" | "if_match" => None,
        _ => context
            .known_value(operation, parameter)
            .or_else(|| parameter.default.clone())
            .or_else(|| context.generate_value(parameter)),
    }
}

async fn accepted(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut left_out = 0;
    for operation in description.read_operations() {
        let Some(base) = context.valid_requests.get(&operation.name).cloned() else { continue };
        let mut first = base.clone();
        first.extend(operation.has_parameter("first").then(|| ("first".to_owned(), json!(1))));
        let page = context.call(operation, first).await;
        for parameter in operation.parameters.iter().filter(|parameter| !parameter.required) {
            let Some(value) = value_for(context, operation, parameter, Some(&page)) else {
                left_out += 1;
                continue;
            };
            let Some(mut params) = companion_params(context, operation, &parameter.name) else {
                left_out += 1;
                continue;
            };
            params.extend(base.clone());
            params.insert(parameter.name.clone(), value);
            let reply = context.call(operation, params).await;
            tally.count();
            let subject = format!("{}.{}", operation.name, parameter.name);
            if reply.is_refused() && !reply.is_not_found() {
                tally.warn(&subject, "it is documented, but a request with it was refused", Some(&reply));
            }
            let (operation, parameter) = (operation.name.clone(), parameter.name.clone());
            context.record_exchange(Purpose::Accepted { operation, parameter }, &reply);
        }
    }
    if left_out > 0 {
        tally.note(format!("{left_out} parameters were left out: no value could be generated"));
    }
}

async fn undocumented(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let cross_cutting = [
        ("fields", json!(["id"])),
        ("filter", json!({})),
        ("sort", json!("id")),
        ("first", json!(1)),
        ("limit", json!(1)),
        ("offset", json!(0)),
        ("page_size", json!(1)),
        ("query", json!("text")),
        ("total", json!(true)),
        ("dry_run", json!(true)),
    ];
    for operation in description.read_operations() {
        let Some(base) = context.valid_requests.get(&operation.name).cloned() else { continue };
        for (name, value) in cross_cutting.iter().filter(|(name, _)| !operation.has_parameter(name)) {
            let mut params = base.clone();
            params.insert((*name).to_owned(), value.clone());
            let reply = context.call(operation, params).await;
            tally.count();
            if reply.is_success() && reply.warnings().is_empty() {
                let subject = format!("{}.{name}", operation.name);
                tally.fail(subject, "it is undocumented, but accepted without a warning", Some(&reply));
            }
        }
    }
}

const IGNORED: &str = "it is documented and accepted, but has no effect";

async fn effect(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let collections = context.collections.clone();
    for collection in collections.iter().filter(|own| own.rows.len() > 1) {
        let operation = &collection.operation;
        let plain = context.call(operation, collection.params.clone()).await;
        let page = rows(plain.data()).unwrap_or_default();
        let row_count = page.len();
        let mut sorted = false;
        let mut unsorted: Option<Reply> = None;
        for (name, params) in visible_changes(context, collection, &page) {
            let reply = context.call(operation, params).await;
            if !reply.is_success() {
                continue;
            }
            if name == "sort" {
                let changed = rows(reply.data()) != rows(plain.data());
                sorted |= changed;
                unsorted = unsorted.or(Some(reply));
                continue;
            }
            tally.count();
            let now = rows(reply.data()).map(|rows| rows.len()).unwrap_or_default();
            let ignored = match name {
                "first" | "last" | "limit" | "page_size" => now == row_count && now > 1,
                "total" | "aggregate" => without_volatile(reply.data()) == without_volatile(plain.data()),
                _ => rows(reply.data()) == rows(plain.data()),
            };
            if ignored {
                let subject = format!("{}.{name}", operation.name);
                tally.fail(subject, IGNORED, Some(&reply));
            }
        }
        if let Some(reply) = unsorted {
            tally.expect(sorted, &format!("{}.sort", operation.name), IGNORED, Some(&reply));
        }
    }
}

/// Requests whose answers must differ from the plain one, with the parameter under test.
fn visible_changes(
    context: &CheckContext<'_>,
    collection: &Collection,
    page: &[Row],
) -> Vec<(&'static str, Map<String, Value>)> {
    let operation = &collection.operation;
    let mut found: Vec<(&'static str, Map<String, Value>)> = Vec::new();
    let mut add = |name: &'static str, value: Value| {
        if operation.has_parameter(name) {
            let mut params = collection.params.clone();
            params.insert(name.to_owned(), value);
            found.push((name, params));
        }
    };
    for size in ["first", "last", "limit", "page_size"] {
        add(size, json!(1));
    }
    add("total", json!(true));
    add("aggregate", json!({"n": {"count": true}}));
    let names = collection.rows.first().map(|row| row.keys().filter(|key| !key.starts_with('_')).count());
    let fields = collection.plain_fields();
    if let Some(field) = fields.first().filter(|_| names.unwrap_or_default() > 1) {
        let listed = operation.parameter("fields").is_some_and(Parameter::accepts_list);
        add("fields", if listed { json!([field]) } else { json!(field) });
    }
    if let Some((field, value)) = visible_filter(context, collection, page) {
        add("filter", json!({field: value}));
    }
    if operation.has_parameter("sort")
        && let Some(field) = fields.iter().find(|field| several_values(collection, field))
    {
        // At least one direction differs from the default order. If neither changes the order, the parameter is
        // ignored.
        found.push(("sort", sorted_by(operation, &collection.params, field, "asc")));
        found.push(("sort", sorted_by(operation, &collection.params, field, "desc")));
    }
    if operation.has_parameter("offset") && operation.has_parameter("limit") {
        let mut params = collection.params.clone();
        params.insert("limit".into(), json!(page.len()));
        params.insert("offset".into(), json!(1));
        found.push(("offset", params));
    }
    found
}

/// Whether a field has several values besides null. Null may come last in both directions.
fn several_values(collection: &Collection, field: &str) -> bool {
    let mut values = collection.rows.iter().filter_map(|row| row.get(field)).filter(|value| !value.is_null());
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// A filter that must change the first page, because at least one row on it does not match.
fn visible_filter(context: &CheckContext<'_>, collection: &Collection, page: &[Row]) -> Option<(String, Value)> {
    fields_to_filter(context, collection).into_iter().find_map(|field| {
        let differs = |value: &Value| page.iter().any(|row| row.get(&field) != Some(value));
        let values = collection.rows.iter().filter_map(|row| row.get(&field)).filter(|value| !value.is_null());
        let value = values.into_iter().find(|value| differs(value))?.clone();
        Some((field, value))
    })
}
