//! The scanner and serde_json agree on what JSON is; the scanner alone is stricter, and only in
//! the ways it names.

use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Problem, scan};
use serde_json::Value;

/// Limits that short inputs break, so that measuring is fuzzed as well.
const TIGHT: Limits = Limits {
    max_request_size: 64,
    max_response_size: 64,
    max_string_length: 16,
    max_array_elements: 4,
    max_nesting_depth: 4,
};

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let reads = serde_json::from_slice::<Value>(bytes).is_ok();
    for frame in [Frame::Bare, Frame::Mcp] {
        let verdict = scan(bytes, frame, &Limits::default());
        match &verdict {
            Ok(()) => assert!(reads, "accepted, but serde_json refuses"),
            Err(Problem::Syntax { .. } | Problem::Encoding { .. }) => {
                assert!(!reads, "{verdict:?}, but serde_json accepts");
            }
            Err(_) => {}
        }
        match scan(bytes, frame, &TIGHT) {
            Err(Problem::TooLarge { limit_value, actual_value, .. }) => {
                assert!(actual_value > limit_value);
            }
            tight => assert_eq!(tight, verdict),
        }
    }
}
