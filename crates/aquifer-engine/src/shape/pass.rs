//! Results of which nothing was asked: passed on as they are, except for text too long for one answer.

use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::LimitKind;
use aquifer_protocol::response::{Data, too_large};
use aquifer_query::shape::{Observation, from_text, into_text, plain_text};
use serde_json::Value;

use super::{Shaper, Shaping, outcome, value_of};
use crate::source::{Answer, Outcome};

/// Reading a larger text only to see what it looks like is not worth it.
const WORTH_A_LOOK: usize = 256 * 1_024;

impl Shaper {
    pub(super) async fn pass(&self, shaping: &Shaping, answer: Answer) -> Outcome {
        let size = match &answer.data {
            Data::Raw(raw) => raw.get().len(),
            Data::Value(value) => size(value),
        };
        self.look(shaping, &answer.data, size);
        if size <= self.settings.text_bytes || !shaping.offers("after") || !may_be_text(&answer.data) {
            return self.within_limit(shaping, size, answer);
        }
        let Answer { data, warnings, attachments } = answer;
        let value = match value_of(data) {
            Ok(value) => value,
            Err(failure) => return Outcome::Failed(failure),
        };
        let pages = plain_text(&value).is_some_and(|text| {
            text.len() > self.settings.text_bytes && self.held.has_room_for_text(text) && from_text(text).is_none()
        });
        match if pages { into_text(value) } else { Err(value) } {
            Ok(text) => outcome(self.first_text(shaping, text).await, warnings, attachments),
            Err(value) => self.within_limit(shaping, size, Answer { data: value.into(), warnings, attachments }),
        }
    }

    /// Notes what a result looks like, once: later calls that ask for something tell more.
    fn look(&self, shaping: &Shaping, data: &Data, size: usize) {
        let name = &shaping.operation.name;
        if size > WORTH_A_LOOK || self.observed.knows(name) {
            return;
        }
        let seen = match data {
            Data::Value(value) => Observation::of(value, shaping.rows()),
            Data::Raw(raw) => {
                serde_json::from_str(raw.get()).ok().and_then(|value: Value| Observation::of(&value, shaping.rows()))
            }
        };
        self.observed.note(name, seen);
    }

    /// An answer too large to be sent says what would make it smaller.
    fn within_limit(&self, shaping: &Shaping, size: usize, answer: Answer) -> Outcome {
        if size <= self.limits.max_response_size {
            return Outcome::Done(answer);
        }
        let failure = too_large(LimitKind::ResponseSize, self.limits.max_response_size, size);
        let helping: Vec<&str> =
            ["first", "fields", "filter", "aggregate"].into_iter().filter(|name| shaping.offers(name)).collect();
        if helping.is_empty() {
            return Outcome::Failed(failure);
        }
        let named: Vec<String> = helping.iter().map(|name| format!("'{name}'")).collect();
        let told = Failure::new(failure.code(), format!("{} with {}", failure.message(), named.join(", ")));
        let details = failure.details().iter();
        let told = details.fold(told, |told, (name, value)| told.detail(name, value.clone()));
        Outcome::Failed(told.detail("controls", helping))
    }
}

fn may_be_text(data: &Data) -> bool {
    match data {
        Data::Value(value) => plain_text(value).is_some(),
        // An object around a text begins like any other.
        Data::Raw(raw) => raw.get().starts_with(['"', '{']),
    }
}

/// How many bytes a value has as text, no more than that: escapes are not counted.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(|element| size(element) + 1).sum::<usize>(),
        Value::Object(fields) => 2 + fields.iter().map(|(name, field)| name.len() + 4 + size(field)).sum::<usize>(),
    }
}
