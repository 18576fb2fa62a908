//! Results of calls without controls: passed on unchanged, except for text that is too long for one response.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aquifer_protocol::limits::LimitKind;
use aquifer_protocol::operation::RowPlace;
use aquifer_protocol::response::{Data, too_large};
use aquifer_protocol::warning::Warning;
use aquifer_query::shape::{Observation, into_text, parse_json_text, plain_text};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ResultShape, Shaper, Shaping, is_large, outcome, run_blocking};
use crate::call::{Answer, Outcome};

impl Shaper {
    pub(super) async fn pass_through(
        &self,
        shaping: &Shaping,
        mut answer: Answer,
        on_observed: &(dyn Fn(&ResultShape) -> bool + Sync),
    ) -> Outcome {
        let size = match &answer.data {
            Data::Text(text) => text.get().len(),
            Data::Value(value) => text_size(value),
        };
        if self.observe(shaping, &answer.data, size, on_observed) {
            answer
                .warnings
                .push(Warning::new("CONTROLS_ADDED", "It has rows: 'fields', 'filter', 'first' apply from now on"));
        }
        if size <= self.settings.max_text_bytes || !shaping.is_offered("after") {
            return self.check_size(shaping, size, answer);
        }
        let Answer { data, warnings, attachments, .. } = answer;
        let fits = |text: &str| {
            text.len() > self.settings.max_text_bytes
                && self.held.has_room_for_text(text)
                && parse_json_text(text).is_none()
        };
        match long_text(data, fits) {
            Ok(text) => outcome(self.first_text(shaping, text).await, warnings, attachments),
            Err(data) => self.check_size(shaping, size, Answer { warnings, attachments, ..Answer::new(data) }),
        }
    }

    /// Records the shape of a result, once for each caller. Later calls with controls provide more. Returns whether the
    /// operation has controls for rows from now on.
    fn observe(
        &self,
        shaping: &Shaping,
        data: &Data,
        size: usize,
        on_observed: &(dyn Fn(&ResultShape) -> bool + Sync),
    ) -> bool {
        let name = &shaping.operation.name;
        let place = shaping.rows();
        if size > self.observations.max_observed_bytes(&shaping.caller, name, place.is_known()) {
            return false;
        }
        let look = |value: &Value| {
            let observation = Observation::from_result(value, place);
            let shape = observation.as_ref().map(Observation::shape).unwrap_or_default();
            // An earlier result may have had its rows elsewhere.
            let is_elsewhere = matches!(place, RowPlace::Path { is_configured: false, .. }) && !shape.rows().is_known();
            match is_elsewhere {
                true => Observation::from_result(value, &RowPlace::Unknown),
                false => observation,
            }
        };
        let observation = run_blocking(is_large(data), || match data {
            Data::Value(value) => look(value),
            Data::Text(text) => serde_json::from_str(text.get()).ok().and_then(|value: Value| look(&value)),
        });
        let shape = observation.as_ref().map(Observation::shape);
        self.observations.record(&shaping.caller, name, observation, size);
        shape.is_some_and(|shape| is_news(place, &shape) && on_observed(&shape))
    }

    /// Refuses an answer that is too large, and names the controls that would make it smaller.
    fn check_size(&self, shaping: &Shaping, size: usize, answer: Answer) -> Outcome {
        if size <= self.limits.max_response_size {
            return Outcome::Done(answer);
        }
        let failure = too_large(LimitKind::ResponseSize, self.limits.max_response_size, size);
        let helpful: Vec<&str> =
            ["first", "fields", "filter", "aggregate"].into_iter().filter(|name| shaping.is_offered(name)).collect();
        if helpful.is_empty() {
            return Outcome::Failed(failure);
        }
        let named: Vec<String> = helpful.iter().map(|name| format!("'{name}'")).collect();
        let message = format!("{} with {}", failure.message(), named.join(", "));
        Outcome::Failed(failure.with_message(message).detail("controls", helpful))
    }
}

/// Whether a result says more about rows than what is known.
fn is_news(known: &RowPlace, seen: &ResultShape) -> bool {
    match (known, seen.rows()) {
        (RowPlace::Unknown, _) => true,
        (RowPlace::Path { path, is_configured: false, .. }, RowPlace::Path { path: seen, .. }) => *path != seen,
        (RowPlace::Path { .. } | RowPlace::Detected, _) => false,
    }
}

/// The text of a result that consists of text alone, if it fits; otherwise returns the result as the error.
fn long_text(data: Data, fits: impl Fn(&str) -> bool) -> Result<String, Data> {
    match data {
        Data::Value(value) if plain_text(&value).is_some_and(&fits) => into_text(value).map_err(Data::Value),
        Data::Value(value) => Err(Data::Value(value)),
        Data::Text(json) => string_from_json(json.get()).filter(|text| fits(text)).ok_or(Data::Text(json)),
    }
}

/// The string in a JSON text, without parsing more than needed: a string, or an object around one.
fn string_from_json(json: &str) -> Option<String> {
    if json.starts_with('"') {
        return serde_json::from_str(json).ok();
    }
    if !json.starts_with('{') {
        return None;
    }
    let parts: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).ok()?;
    match (parts.len(), parts.values().next()) {
        (1, Some(only)) if only.get().starts_with('"') => serde_json::from_str(only.get()).ok(),
        _ => None,
    }
}

/// A lower bound for the size of a value as text: escapes are not counted.
fn text_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(|element| text_size(element) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, field)| name.len() + 4 + text_size(field)).sum::<usize>()
        }
    }
}
