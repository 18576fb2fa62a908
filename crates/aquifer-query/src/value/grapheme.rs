//! Where a text can be split: never inside a grapheme.

use unicode_segmentation::UnicodeSegmentation;

/// How far to search for the end of a grapheme. Hostile text may contain an endless one.
const MAX_GRAPHEME_BYTES: usize = 1_024;

/// The best split position near `wanted`, at or before it if possible.
pub(crate) fn split_position(text: &str, wanted: usize, at_lines: bool) -> usize {
    let wanted = floor_char_boundary(text, wanted);
    if at_lines {
        // After a line, if one ends in the last quarter. The caller did not set the size of this page.
        let tail = floor_char_boundary(text, wanted - wanted / 4);
        if let Some(line) = text.get(tail..wanted).and_then(|tail| tail.rfind('\n')) {
            return tail + line + 1;
        }
    }
    let (start, stop) = (
        floor_char_boundary(text, wanted.saturating_sub(MAX_GRAPHEME_BYTES)),
        floor_char_boundary(text, wanted + MAX_GRAPHEME_BYTES / 4),
    );
    let window = text.get(start..stop).unwrap_or_default();
    let boundaries = || window.grapheme_indices(true).map(|(at, _)| start + at);
    match boundaries().take_while(|at| *at <= wanted).last() {
        Some(at) if at > start => at,
        // The first grapheme is longer than the page. It is shown in full, unless its end is too far away.
        _ if start == 0 => {
            let end = if stop == text.len() { stop } else { wanted };
            boundaries().find(|at| *at > wanted).unwrap_or(end).max(first_char_len(text))
        }
        _ => wanted,
    }
}

/// The nearest position at or before `wanted` where no grapheme is split.
pub(crate) fn grapheme_boundary(text: &str, wanted: usize) -> usize {
    if wanted == 0 { 0 } else { split_position(text, wanted, false).min(text.len()) }
}

/// The number of bytes of the first character.
pub(crate) fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The nearest character boundary at or before `index`.
pub(crate) fn floor_char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}
