//! The result budget of a call (R-EXT-3): where it comes from, and how answers are shortened to fit it.

use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::Data;
use aquifer_query::budget::{
    self, MAX_TOKENS, Remedy, estimate_text, estimate_value_up_to, room_for_value, shrink_answer,
};
use serde_json::{Map, Value};

use super::pages::exact_data;
use super::{Shaper, Shaping, is_large, may_hold_exact, run_blocking};
use crate::call::{Answer, Outcome};

impl Shaper {
    /// Removes the budget from the parameters of a call, if the operation offers it. Otherwise the configured budget
    /// applies to operations that read.
    pub(crate) fn take_budget(
        &self,
        operation: &Operation,
        params: &mut Map<String, Value>,
    ) -> Result<Option<usize>, Failure> {
        if operation.category != Category::Read {
            return Ok(None);
        }
        // Comparing the few names costs less than hashing one.
        let chosen = params.iter().find(|(name, _)| *name == MAX_TOKENS).filter(|_| budget::is_offered(operation));
        match chosen.map(|(_, value)| budget::parse(value)).transpose()? {
            None => Ok(self.settings.max_tokens),
            chosen => {
                params.shift_remove(MAX_TOKENS);
                Ok(chosen)
            }
        }
    }

    /// Whether an answer already fits the budget of its call.
    pub(super) fn fits(&self, shaping: &Shaping, answer: &Answer) -> bool {
        shaping
            .request
            .max_tokens()
            .is_none_or(|max_tokens| fits(&answer.data, room_for_value(max_tokens, &answer.warnings)))
    }

    /// Shortens an answer that exceeds its budget, unless it consists of pages or groups, which already fit.
    pub(crate) fn keep_budget(&self, operation: &Operation, mut answer: Answer, max_tokens: usize) -> Outcome {
        let room = room_for_value(max_tokens, &answer.warnings);
        if answer.keeps_budget || fits(&answer.data, room) {
            return Outcome::Done(answer);
        }
        let may_hold_exact = may_hold_exact(&answer.data);
        let shrunk = run_blocking(is_large(&answer.data), || {
            let value = super::into_value(answer.data)?;
            Ok(shrink_answer(value, room, max_tokens, remedy(operation)))
        });
        match shrunk {
            Ok((value, warning)) => {
                answer.data = exact_data(value, may_hold_exact);
                answer.warnings.push(warning);
                Outcome::Done(answer)
            }
            Err(failure) => Outcome::Failed(failure),
        }
    }
}

/// How a caller of this operation gets the rest of a shortened answer.
fn remedy(operation: &Operation) -> Remedy {
    let offers_fields = || operation.parameter("fields").is_some_and(|parameter| parameter.is_shared);
    match budget::is_offered(operation) {
        true if offers_fields() => Remedy::Fields,
        true => Remedy::MoreTokens,
        false => Remedy::OwnParameters,
    }
}

/// Whether data takes no more than this many tokens. A token has at least one byte, so short text is not examined.
fn fits(data: &Data, room: usize) -> bool {
    match data {
        Data::Text(text) => text.get().len() <= room || estimate_text(text.get().as_bytes()) <= room,
        Data::Value(value) => estimate_value_up_to(value, room) <= room,
    }
}
