//! Compares amounts: the sum of all values of a parameter.

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use serde_json::{Map, Value};

use super::number::{Number, NumberText};
use super::path::{FoundValue, Path};
use super::{TypedOperation, Verdict};
use crate::policy::settings::AmountSettings;

/// The parameter with an amount.
#[derive(Debug, Clone)]
pub(crate) struct AmountPath(Path);

impl AmountPath {
    pub(crate) fn parse(written: &str) -> Option<Self> {
        Path::parse(written).map(Self)
    }

    pub(crate) fn written(&self) -> &str {
        self.0.written()
    }

    /// Whether the operation declares the parameter.
    pub(crate) fn begins_in(&self, operation: &Operation) -> bool {
        self.0.begins_in(operation)
    }

    /// The sum of all values. `None` if there is none, or one of them is no amount.
    pub(crate) fn sum(&self, operation: &Operation, types: &Types, params: &Map<String, Value>) -> Option<f64> {
        let values = self.0.values(TypedOperation { operation, types: Some(types) }, params);
        let is_known = values.iter().any(|value| value.is_certain);
        values.iter().map(|value| amount(value.value)).sum::<Option<f64>>().filter(|_| is_known)
    }
}

/// Whether an amount is within a bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum AmountTest {
    UpTo(f64),
    Above(f64),
}

impl AmountTest {
    pub(super) fn new(settings: AmountSettings) -> Option<Self> {
        let test = match settings {
            AmountSettings { up_to: Some(most), above: None } => AmountTest::UpTo(most),
            AmountSettings { up_to: None, above: Some(bound) } => AmountTest::Above(bound),
            AmountSettings { .. } => return None,
        };
        let (AmountTest::UpTo(bound) | AmountTest::Above(bound)) = test;
        (bound.is_finite() && bound >= 0.0).then_some(test)
    }

    /// Compares the sum of all values, with and without those that the source may ignore.
    pub(super) fn verdict(self, values: &[FoundValue<'_>]) -> Verdict {
        let sum_of = |is_counted: &dyn Fn(&FoundValue<'_>) -> bool| -> Option<f64> {
            values.iter().filter(|value| is_counted(value)).map(|value| amount(value.value)).sum()
        };
        let (Some(most), Some(least)) = (sum_of(&|_| true), sum_of(&|value| value.is_certain)) else {
            return Verdict::Unsure;
        };
        Verdict::merge([most, least].map(|sum| Verdict::from(self.is_met_by(sum))))
    }

    fn is_met_by(self, sum: f64) -> bool {
        match self {
            AmountTest::UpTo(bound) => sum <= bound,
            AmountTest::Above(bound) => sum > bound,
        }
    }

    pub(super) fn describe(self, is_inverted: bool) -> String {
        let is = if is_inverted { "is not" } else { "is" };
        match self {
            AmountTest::UpTo(bound) => format!("{is} an amount of up to {bound} in all"),
            AmountTest::Above(bound) => format!("{is} an amount above {bound} in all"),
        }
    }
}

/// A value as an amount. A negative one may move money the other way.
#[expect(clippy::cast_precision_loss, reason = "amounts with so many digits are above every bound that has fewer")]
fn amount(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => Number::from_json(number)?,
        Value::String(text) => match NumberText::parse(text) {
            // Some programs do not know exponents, and in some countries a stop groups thousands.
            NumberText::Number(_) if text.contains(['e', 'E']) || has_thousands(text) => return None,
            NumberText::Number(number) => number,
            NumberText::None | NumberText::Unclear => return None,
        },
        _ => return None,
    };
    let amount = match number {
        Number::Whole(whole) => whole as f64,
        Number::Real(real) => real,
    };
    (amount >= 0.0).then_some(amount)
}

/// Whether exactly three digits follow a stop.
fn has_thousands(text: &str) -> bool {
    text.trim().split_once('.').is_some_and(|(_, fraction)| fraction.len() == 3)
}
