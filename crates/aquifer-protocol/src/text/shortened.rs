//! The marker at the end of a text that was shortened to fit a budget.

const BEGIN: &str = "…[+";
const END: &str = " characters]";

/// The beginning of a text, with a marker that states the number of missing characters.
pub fn mark(kept: &str, missing: usize) -> String {
    format!("{kept}{BEGIN}{missing}{END}")
}

/// Whether a text ends with such a marker.
pub fn is_marked(text: &str) -> bool {
    let count = text.strip_suffix(END).and_then(|text| text.rsplit_once(BEGIN)).map(|(_, count)| count);
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}
