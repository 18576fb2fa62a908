//! How much of a quota a call uses.

use aquifer_engine::Caller;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::validate::Checked;
use serde_json::{Map, Value};

use super::{MICROS_PER_UNIT, Metric, Quota};
use crate::destination::CallDestinations;

/// A call, as far as limits count it.
#[derive(Clone, Copy)]
pub(crate) struct CountedCall<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) caller: &'a Caller,
    /// The parameters and their types. A page of an answer, for example, has none.
    parameters: Option<(&'a Map<String, Value>, &'a Types)>,
}

/// How much of a quota calls of an operation use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Each the same.
    Fixed(u64),
    /// It depends on the parameters.
    OfCall,
}

/// The usage of a call whose parameters cannot be counted: more than any limit.
pub(super) const UNCOUNTABLE: u64 = 1 << 52;

impl<'a> CountedCall<'a> {
    pub(crate) fn new(request: &'a Checked, caller: &'a Caller) -> Self {
        Self { operation: request.operation(), caller, parameters: Some((request.params(), request.types())) }
    }

    /// A request without parameters that could be counted.
    pub(crate) fn without_parameters(operation: &'a Operation, caller: &'a Caller) -> Self {
        Self { operation, caller, parameters: None }
    }
}

impl Quota {
    /// How much of this quota a call uses. A call that cannot be counted uses more than any limit allows.
    pub(super) fn usage_of(&self, usage: Usage, call: CountedCall<'_>) -> u64 {
        let (params, types) = match (usage, call.parameters) {
            (Usage::Fixed(usage), _) => return usage,
            (Usage::OfCall, None) => return 0,
            (Usage::OfCall, Some(parameters)) => parameters,
        };
        let counted = match (&self.amount, self.kind) {
            (Some(amount), _) => amount.sum(call.operation, types, params).and_then(micros),
            (None, Metric::Recipients) => {
                let count = CallDestinations::of(call.operation, params).count();
                // Without a recipient, it goes to somebody all the same.
                count.and_then(|count| u64::try_from(count.max(1)).ok())
            }
            (None, Metric::Requests | Metric::Cost | Metric::Amount) => None,
        };
        match counted {
            Some(counted) => counted,
            // Nothing can be refused, so the count stays right for those that can be counted.
            None if self.pause.is_none() && self.stop.is_none() => 0,
            None => UNCOUNTABLE,
        }
    }
}

/// An amount in millionths. A fraction of one counts as one.
fn micros(amount: f64) -> Option<u64> {
    let micros = (amount * MICROS_PER_UNIT).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, below 2^52")]
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    (0.0..UNCOUNTABLE as f64).contains(&micros).then_some(micros as u64)
}
