//! The fragments of headings. They equal those of GitHub, because links between the files are followed there, too.

use std::collections::HashSet;

/// The ids of a page so far. None is given twice.
#[derive(Debug, Default)]
pub(crate) struct HeadingIds {
    used: HashSet<String>,
}

impl HeadingIds {
    /// An id for a heading with this text.
    pub(crate) fn next(&mut self, text: &str) -> String {
        let base = slug(text);
        let mut id = base.clone();
        let mut repetition = 0_usize;
        while !self.used.insert(id.clone()) {
            repetition += 1;
            id = format!("{base}-{repetition}");
        }
        id
    }
}

fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        other => other.is_alphanumeric().then_some(other),
    });
    let slug: String = kept.flat_map(char::to_lowercase).collect();
    if slug.is_empty() { "section".to_owned() } else { slug }
}
