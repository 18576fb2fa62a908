//! Converts a problem found by the scanner into a failure for the caller.

use super::{Code, Failure, too_large};
use crate::scan::{Encoding, Problem};

impl From<&Problem> for Failure {
    fn from(problem: &Problem) -> Self {
        match problem {
            Problem::TooLarge { limit, limit_value, actual_value } => too_large(*limit, *limit_value, *actual_value),
            Problem::Encoding { offset, kind } => {
                let what = match kind {
                    Encoding::InvalidUtf8 => "invalid UTF-8",
                    Encoding::LoneSurrogate => "an unpaired surrogate",
                };
                Failure::new(Code::ValidationInvalidEncoding, format!("Invalid character encoding in request: {what}"))
                    .detail("byte_offset", *offset)
            }
            Problem::DuplicateKey { offset, .. } => {
                Failure::invalid_request("a name occurs twice in one object. Send each name once")
                    .detail("byte_offset", *offset)
            }
            Problem::NumberOutOfRange { offset } => Failure::new(
                Code::ValidationInvalidValue,
                "A number in the request is out of range and would lose digits. Send it as a string",
            )
            .detail("byte_offset", *offset),
            Problem::Syntax { offset, expected } => {
                Failure::invalid_request(format!("not valid JSON near byte {offset}, expected {expected}"))
                    .detail("byte_offset", *offset)
            }
        }
    }
}
