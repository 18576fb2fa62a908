//! What the fuzz targets check of an input. A crate of the workspace, so that it is compiled and tried with everything else;
//! the targets themselves need a nightly toolchain.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is a finding"
)]

pub mod files;
pub mod request;
pub mod salvage;
pub mod scan;
pub mod schema;
pub mod sql;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// JSON and text that is nearly JSON, because random bytes hardly ever get past a parser.
    fn input() -> impl Strategy<Value = Vec<u8>> {
        let word = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"",
            "\"operation\"",
            "\"params\"",
            "\"type\"",
            "\"object\"",
            "\"properties\"",
            "\"$ref\"",
            "\"#\"",
            "\"id\"",
            "\"method\"",
            "null",
            "true",
            "1",
            "-0.5e3",
            "\\u0000",
            "\\ud800",
            "\n",
            "---",
            "- ",
            "\0",
        ]);
        let words = prop::collection::vec(word, 0..40).prop_map(|words| words.concat().into_bytes());
        prop_oneof![words, prop::collection::vec(any::<u8>(), 0..200)]
    }

    proptest! {
        #[test]
        fn inputs_near_json_have_no_findings(bytes in input()) {
            super::files::check(&bytes);
            super::request::check(&bytes);
            super::salvage::check(&bytes);
            super::scan::check(&bytes);
            super::schema::check(&bytes);
            super::sql::check(&bytes);
        }
    }
}
