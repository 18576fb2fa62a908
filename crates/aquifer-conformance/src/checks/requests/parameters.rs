//! Checks of required, unknown and default parameters, and of their names.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::context::values::wrong_type;
use crate::description::Operation;
use crate::mcp::rows::without_volatile;
use crate::published::SNAKE_CASE;
use crate::record::Purpose;
use crate::report::Category::ParameterHandling;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "parameters.required",
        "Required parameters are enforced",
        ParameterHandling,
        "required parameters",
        "no operation has a required parameter",
        |context, tally| Box::pin(required(context, tally)),
    ),
    Check::new(
        "parameters.required_named",
        "A missing parameter is named in the error",
        ParameterHandling,
        "required parameters",
        "no operation has a required parameter",
        |context, tally| Box::pin(required_named(context, tally)),
    )
    .depends_on(&["parameters.required"]),
    Check::new(
        "parameters.unknown",
        "Unknown parameters are handled explicitly",
        ParameterHandling,
        "operations",
        "no operation could be called",
        |context, tally| Box::pin(unknown(context, tally)),
    ),
    Check::new(
        "parameters.types",
        "Values of the wrong type are refused",
        ParameterHandling,
        "parameters",
        "no parameter has a type to violate",
        |context, tally| Box::pin(types(context, tally)),
    ),
    Check::new(
        "parameters.defaults",
        "Documented defaults are observable",
        ParameterHandling,
        "defaults",
        "no working operation documents a default",
        |context, tally| Box::pin(defaults(context, tally)),
    )
    .for_feature(Feature::Defaults)
    .where_observable()
    .depends_on(&["requests.accepted"]),
    Check::new(
        "parameters.snake_case",
        "Canonical parameter names use snake_case",
        ParameterHandling,
        "parameters",
        "no operation has parameters",
        |context, tally| Box::pin(names(context, tally)),
    ),
    Check::new(
        "parameters.aliases",
        "camelCase variants are accepted as aliases",
        ParameterHandling,
        "parameters",
        "no working operation has a parameter name of several words",
        |context, tally| Box::pin(aliases(context, tally)),
    )
    .for_feature(Feature::LongNames)
    .depends_on(&["parameters.snake_case"]),
    Check::new(
        "parameters.precedence",
        "A value in 'params' takes precedence over one beside it",
        ParameterHandling,
        "requests",
        "no tool answers introspection",
        |context, tally| Box::pin(precedence(context, tally)),
    ),
];

/// Notes how many operations were omitted because writes are not allowed.
fn note_left_out(left_out: usize, tally: &mut Tally) {
    if left_out > 0 {
        tally.note(format!("{left_out} operations were left out because writes are not allowed"));
    }
}

async fn required(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut left_out = 0;
    for operation in &description.operations {
        if !operation.is_read() && !context.options.allow_writes {
            left_out += usize::from(operation.required_parameters().next().is_some());
            continue;
        }
        for parameter in operation.required_parameters() {
            let Some(mut params) = context.params_to_break(operation) else {
                tally.note(format!("{}: no request could be built", operation.name));
                break;
            };
            params.remove(&parameter.name);
            let reply = context.call(operation, params).await;
            let subject = format!("{}.{}", operation.name, parameter.name);
            if tally.expect(reply.is_refused(), &subject, "a request without it was not refused", Some(&reply)) {
                context.monitor.expect_code(&subject, &["VALIDATION_MISSING_PARAM"], &reply);
            }
            let (operation, parameter) = (operation.name.clone(), parameter.name.clone());
            context.record_exchange(Purpose::MissingParameter { operation, parameter }, &reply);
        }
    }
    note_left_out(left_out, tally);
}

async fn required_named(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for seen in &context.record.exchanges {
        let Purpose::MissingParameter { operation, parameter } = &seen.purpose else { continue };
        let answer = &seen.exchange.answer;
        if answer.get("success") == Some(&Value::Bool(true)) || answer.is_null() {
            continue;
        }
        tally.count();
        let message =
            answer.pointer("/error/message").or_else(|| answer.get("message")).or_else(|| answer.get("error"));
        if !message.and_then(Value::as_str).is_some_and(|message| message.contains(parameter.as_str())) {
            let reply = crate::mcp::Reply {
                exchange: seen.exchange.clone(),
                kind: crate::mcp::ReplyKind::Failure,
                texts_agree: None,
            };
            tally.fail(
                format!("{operation}.{parameter}"),
                "the message does not name the missing parameter",
                Some(&reply),
            );
        }
    }
}

async fn unknown(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_parameter_7f3a";
    let description = context.description.clone();
    let mut left_out = 0;
    let mut without_row: Vec<&str> = Vec::new();
    for operation in &description.operations {
        if !operation.is_read() && !context.options.allow_writes {
            left_out += 1;
            continue;
        }
        let Some(mut params) = context.harmless_params(operation) else {
            if !operation.is_read() {
                without_row.push(&operation.name);
            }
            continue;
        };
        params.insert(NAME.to_owned(), json!("x"));
        let reply = context.call(operation, params).await;
        let problem = "an unknown parameter was neither refused by name nor reported as a warning";
        if tally.expect(reply.reports_unknown(NAME), &operation.name, problem, Some(&reply)) {
            context.monitor.expect_code(&operation.name, &["VALIDATION_UNKNOWN_PARAM"], &reply);
            let name = format!("unknown parameter of {}", operation.name);
            context.record_exchange(Purpose::Error { name, must_mention: vec![NAME.to_owned()] }, &reply);
        }
        let operation = operation.name.clone();
        context.record_exchange(Purpose::UnknownParameter { operation, parameter: NAME.to_owned() }, &reply);
    }
    if !without_row.is_empty() {
        let names = without_row.join(", ");
        tally.note(format!("left out, because the run created no row for them: {names}"));
    }
    note_left_out(left_out, tally);
}

async fn types(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut left_out = 0;
    for operation in &description.operations {
        if !operation.is_read() && !context.options.allow_writes {
            left_out += 1;
            continue;
        }
        for parameter in &operation.parameters {
            let Some(wrong) = wrong_type(parameter, &description.types) else { continue };
            let Some(mut params) = context.params_to_break(operation) else { break };
            params.insert(parameter.name.clone(), wrong);
            let reply = context.call(operation, params).await;
            let subject = format!("{}.{}", operation.name, parameter.name);
            let problem = format!("a value other than '{}' was not refused", parameter.type_text);
            if !tally.expect(reply.is_refused(), &subject, &problem, Some(&reply)) {
                continue;
            }
            // The server may report the violated enum instead of the type.
            if parameter.allowed.is_empty() {
                context.monitor.expect_code(&subject, &["VALIDATION_INVALID_TYPE"], &reply);
            }
            let expected: Vec<String> = expected_words(parameter);
            context.monitor.expect_words(&subject, &[std::slice::from_ref(&parameter.name), &expected], &reply);
            let name = format!("wrong type of {subject}");
            context.record_exchange(Purpose::Error { name, must_mention: vec![parameter.name.clone()] }, &reply);
        }
    }
    note_left_out(left_out, tally);
}

/// Words, at least one of which the message about a wrong type should contain.
fn expected_words(parameter: &crate::description::Parameter) -> Vec<String> {
    let words = parameter.type_text.split(['|', ' ', '[', ']', '<', '>']).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.extend(["array", "list"].into_iter().filter(|_| parameter.accepts_list()).map(str::to_owned));
    if !parameter.named_types().is_empty() {
        words.extend(["object", "array", "string"].map(str::to_owned));
    }
    words.extend(parameter.allowed.iter().filter_map(Value::as_str).map(str::to_owned));
    words
}

async fn defaults(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in description.read_operations() {
        let Some(base) = context.valid_requests.get(&operation.name).cloned() else { continue };
        for parameter in operation.parameters.iter().filter(|parameter| !parameter.required) {
            let Some(default) = parameter.default.clone().filter(|default| !default.is_null()) else { continue };
            let mut base = base.clone();
            base.remove(&parameter.name);
            if let Some((beside, value)) =
                page_style(&parameter.name).filter(|(name, _)| operation.parameter(name).is_some())
            {
                base.insert(beside.to_owned(), value.into());
            }
            let without = context.call(operation, base.clone()).await;
            let mut params = base.clone();
            params.insert(parameter.name.clone(), default.clone());
            let with = context.call(operation, params).await;
            if !with.is_success() || !without.is_success() {
                continue;
            }
            let subject = format!("{}.{}", operation.name, parameter.name);
            let same = without_volatile(with.data()) == without_volatile(without.data());
            if !same && context.answers_vary(operation, &base, &without).await {
                tally.note(format!("{} was left out because its answers vary", operation.name));
                continue;
            }
            let problem = format!("leaving it out differs from giving the default {default}");
            tally.expect(same, &subject, &problem, Some(&without));
            if let Some(path) = shown_at(without.data(), &parameter.name, &default) {
                let path = format!("data.{path}");
                let (operation, parameter) = (operation.name.clone(), parameter.name.clone());
                context.record_exchange(Purpose::Default { operation, parameter, path, value: default }, &without);
            }
        }
    }
}

/// The parameter that selects the style of paging to which a page size belongs. Without it the answer has another style,
/// and the default of the page size does not apply.
fn page_style(page_size: &str) -> Option<(&'static str, u32)> {
    match page_size {
        "limit" => Some(("offset", 0)),
        "page_size" | "per_page" => Some(("page", 1)),
        _ => None,
    }
}

/// The path at which an answer shows the value of a parameter, under its name in snake_case or camelCase.
fn shown_at(data: &Value, name: &str, value: &Value) -> Option<String> {
    let inside = |(key, inner): (String, &Value)| Some(format!("{key}.{}", shown_at(inner, name, value)?));
    match data {
        Value::Object(members) => {
            let own = [name.to_owned(), camel_case(name)].into_iter().find(|key| members.get(key) == Some(value));
            own.or_else(|| members.iter().map(|(key, inner)| (key.clone(), inner)).find_map(inside))
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(place, inner)| (place.to_string(), inner)).find_map(inside)
        }
        _ => None,
    }
}

async fn names(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in &description.operations {
        for parameter in &operation.parameters {
            let subject = format!("{}.{}", operation.name, parameter.name);
            tally.expect((SNAKE_CASE.matches)(&parameter.name), &subject, "the name is not snake_case", None);
        }
    }
}

fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for (place, word) in name.split('_').enumerate() {
        let mut characters = word.chars();
        match characters.next() {
            Some(first) if place > 0 => camel.extend(first.to_uppercase()),
            Some(first) => camel.push(first),
            None => {}
        }
        camel.push_str(characters.as_str());
    }
    camel
}

/// Parameters whose names have several words, each with a value.
fn long_parameters(context: &CheckContext<'_>, operation: &Operation) -> Vec<(String, Value)> {
    let long = operation.parameters.iter().filter(|own| own.name.contains('_') && (SNAKE_CASE.matches)(&own.name));
    long.filter_map(|own| Some((own.name.clone(), context.generate_value(own)?))).take(2).collect()
}

async fn aliases(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let works = |operation: &&Operation| context.valid_requests.contains_key(&operation.name);
    let named =
        description.read_operations().filter(works).map(|operation| (operation, long_parameters(context, operation)));
    let named: Vec<_> = named.filter(|(_, parameters)| !parameters.is_empty()).take(10).collect();
    for (operation, parameters) in named {
        let Some(base) = context.valid_requests.get(&operation.name).cloned() else { continue };
        for (name, value) in parameters {
            let mut snake = base.clone();
            snake.insert(name.clone(), value.clone());
            if !context.call(operation, snake).await.is_success() {
                continue;
            }
            let mut camel = base.clone();
            camel.remove(&name);
            camel.insert(camel_case(&name), value);
            let reply = context.call(operation, camel).await;
            tally.count();
            if !reply.is_success() {
                let problem = format!("'{}' is not accepted as an alias", camel_case(&name));
                tally.warn(format!("{}.{name}", operation.name), problem, Some(&reply));
            }
        }
    }
}

async fn precedence(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    let tool = context.description.tool.clone();
    let asked = json!({"operation": "introspect", "query": "types", "params": {"query": "operations"}});
    let reply = context.send(&tool, asked).await;
    let right = reply.is_success() && reply.data().get("operations").is_some();
    tally.expect(right, "introspect.query", "the value in 'params' did not take precedence", Some(&reply));
    let reply = context.send(&tool, json!({"operation": "introspect", "query": "types"})).await;
    tally.count();
    if !(reply.is_success() && reply.data().get("types").is_some()) {
        tally.warn("introspect.query", "a parameter beside 'operation' is ignored", Some(&reply));
    }
}
