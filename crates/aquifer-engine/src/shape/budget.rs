//! The result budget of a call (R-EXT-3): where it comes from, and the answers that keep it by being shortened.

use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::Data;
use aquifer_query::budget::{self, MAX_TOKENS, estimate_text, estimate_value, room_for_value, shrink_answer};
use serde_json::{Map, Value};

use super::{Shaper, Shaping};
use crate::source::{Answer, Outcome};

/// Members of answers that have pages or groups. Their source has ended them in time, and their cursors must stay whole.
const PAGE_MEMBERS: &[&str] = &["pageInfo", "pagination", "aggregations"];

impl Shaper {
    /// Removes the budget from the parameters of a call, if the operation offers it. Otherwise the configured one applies,
    /// to answers of operations that read.
    pub(crate) fn take_budget(
        &self,
        operation: &Operation,
        params: &mut Map<String, Value>,
    ) -> Result<Option<usize>, Failure> {
        if operation.category != Category::Read {
            return Ok(None);
        }
        // A parameter of the same name may belong to the source.
        let is_ours = operation.parameter(MAX_TOKENS).is_some_and(|parameter| parameter.is_shared);
        match params.get(MAX_TOKENS).filter(|_| is_ours).map(budget::parse).transpose()? {
            None => Ok(self.settings.max_tokens),
            chosen => {
                params.shift_remove(MAX_TOKENS);
                Ok(chosen)
            }
        }
    }

    /// Whether an answer keeps the budget of its call as it is.
    pub(super) fn fits(&self, shaping: &Shaping, answer: &Answer) -> bool {
        shaping
            .request
            .max_tokens()
            .is_none_or(|max_tokens| fits(&answer.data, room_for_value(max_tokens, &answer.warnings)))
    }

    /// Shortens an answer that does not keep its budget and has no pages of its own.
    pub(crate) fn keep_budget(&self, outcome: Outcome, max_tokens: usize) -> Outcome {
        let Outcome::Done(mut answer) = outcome else { return outcome };
        let room = room_for_value(max_tokens, &answer.warnings);
        if fits(&answer.data, room) {
            return Outcome::Done(answer);
        }
        let value = match super::into_value(answer.data) {
            Ok(value) => value,
            Err(failure) => return Outcome::Failed(failure),
        };
        if PAGE_MEMBERS.iter().any(|name| value.get(name).is_some()) {
            answer.data = value.into();
            return Outcome::Done(answer);
        }
        let (value, warning) = shrink_answer(value, room, max_tokens);
        answer.data = value.into();
        answer.warnings.push(warning);
        Outcome::Done(answer)
    }
}

/// Whether data takes no more than this many tokens. A token has at least one byte, so short text is not looked at.
fn fits(data: &Data, room: usize) -> bool {
    match data {
        Data::Text(text) => text.get().len() <= room || estimate_text(text.get().as_bytes()) <= room,
        Data::Value(value) => estimate_value(value) <= room,
    }
}
