//! Operations whose description says that they are deprecated. MCP has no other way to say it, and adapter files keep only
//! the description.

use std::sync::Arc;

use crate::error::wording::looks_like_a_leak;
use crate::operation::Operation;
use crate::schema::Deprecation;

const WORD: &str = "deprecated";

/// Longer advice is not repeated in warnings.
const MAX_ADVICE_CHARS: usize = 200;

/// Marks an operation whose description begins a sentence with "Deprecated:", or has "[deprecated]" or "(deprecated)" in
/// it. A mark of the source stays, with the advice of the description.
pub(super) fn mark(operation: &mut Operation) {
    let Some(stated) = stated(&operation.description) else { return };
    let marked = operation.deprecated.get_or_insert_default();
    if marked.advice.is_none() {
        marked.advice = stated.advice;
    }
}

fn stated(description: &str) -> Option<Deprecation> {
    // The offsets in both texts are the same.
    let lower = description.to_ascii_lowercase();
    lower.match_indices(WORD).find_map(|(start, _)| {
        let before = lower.get(..start)?.trim_end();
        let after = lower.get(start + WORD.len()..)?;
        let is_bracketed = before.ends_with(['[', '(']) && after.starts_with([']', ')']);
        let begins = before.is_empty() || before.ends_with(['.', '!', '?', ':', '*', '\n', '-']);
        let is_alone = after.is_empty() || after.starts_with([':', '.', ',', '!', ';']);
        let says_so = is_bracketed || (begins && is_alone);
        if !says_so {
            return None;
        }
        let rest = description.get(start + WORD.len()..).filter(|_| after.starts_with(':'));
        Some(Deprecation { advice: rest.and_then(|rest| advice(rest.trim_start_matches(':'))) })
    })
}

/// The first sentence of the text after "Deprecated:".
fn advice(text: &str) -> Option<Arc<str>> {
    let line = text.trim_start().lines().next()?.trim();
    let sentence = line.find(". ").map_or(line, |end| line.get(..=end).unwrap_or(line));
    let fits = !sentence.is_empty() && sentence.chars().count() <= MAX_ADVICE_CHARS && !looks_like_a_leak(sentence);
    fits.then(|| sentence.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_res_2_descriptions_say_whether_an_operation_is_deprecated() {
        for (description, expected) in [
            ("Read a file. DEPRECATED: Use read_text_file instead. Slow.", Some(Some("Use read_text_file instead."))),
            ("Deprecated. Lists pets.", Some(None)),
            ("[Deprecated] List pets", Some(None)),
            ("List pets (deprecated). Slow.", Some(None)),
            ("Deprecated", Some(None)),
            ("Deprecated: look at /src/x", Some(None)),
            ("Deprecated items of a shop.", None),
            ("List what is deprecated.", None),
            ("List pets; the parameter id is deprecated: use key.", None),
            ("List pets", None),
        ] {
            let found = stated(description).map(|found| found.advice);
            assert_eq!(found, expected.map(|advice| advice.map(Arc::from)), "{description}");
        }
    }
}
