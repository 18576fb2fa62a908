//! Calculations with the numbers of an item: `price * quantity * (1 - discount)`.

use serde_json::Number;

use crate::collection::FieldType;
use crate::plan::Path;

/// A calculation in double precision. It has no result if one of its values is missing, or if it divides by zero.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Calculation {
    /// A value of the item.
    Value(Path, FieldType),
    /// A constant.
    Constant(Number),
    /// An arithmetic operation on the results of two calculations.
    Operation(Box<Calculation>, Arithmetic, Box<Calculation>),
}

/// An arithmetic operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Calculation {
    /// The paths of its values.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        self.add_paths(&mut paths);
        paths
    }

    fn add_paths<'a>(&'a self, paths: &mut Vec<&'a Path>) {
        match self {
            Calculation::Value(path, _) => paths.push(path),
            Calculation::Constant(_) => {}
            Calculation::Operation(left, _, right) => {
                left.add_paths(paths);
                right.add_paths(paths);
            }
        }
    }

    /// The number of its values, constants and operations.
    pub(crate) fn size(&self) -> usize {
        match self {
            Calculation::Value(..) | Calculation::Constant(_) => 1,
            Calculation::Operation(left, _, right) => 1 + left.size() + right.size(),
        }
    }

    /// The result, or `None` if there is none. `number` returns the number at a path.
    pub(crate) fn result(&self, number: &impl Fn(&Path, &FieldType) -> Option<f64>) -> Option<f64> {
        let result = match self {
            Calculation::Value(path, field_type) => number(path, field_type)?,
            Calculation::Constant(constant) => constant.as_f64()?,
            Calculation::Operation(left, arithmetic, right) => {
                let (left, right) = (left.result(number)?, right.result(number)?);
                match arithmetic {
                    Arithmetic::Add => left + right,
                    Arithmetic::Subtract => left - right,
                    Arithmetic::Multiply => left * right,
                    Arithmetic::Divide if right == 0.0 => return None,
                    Arithmetic::Divide => left / right,
                }
            }
        };
        Some(result)
    }
}

/// A result without the rounding errors of double precision: 15 significant digits, as an integer if it is one.
pub fn rounded(result: f64) -> serde_json::Value {
    const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;
    let digits: f64 = format!("{result:.14e}").parse().unwrap_or(result);
    if digits.fract() == 0.0 && digits.abs() <= MAX_SAFE_INTEGER {
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer in this range")]
        return (digits as i64).into();
    }
    let infinite = || if digits > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    match Number::from_f64(digits) {
        Some(number) => number.into(),
        None if digits.is_nan() => "NaN".into(),
        None => infinite(),
    }
}
