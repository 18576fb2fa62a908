//! Shows text page by page and records whether all of it was shown.
//!
//! An external pager is not used: one set in the environment could show something else, or nothing.

use super::output;
use super::prompt::{self, Key};

/// The minimum number of rows on a page.
const MIN_ROWS: usize = 4;

/// Shows all lines, laid out for the width of the terminal. Returns whether the person saw all pages. `leaving`
/// describes what quitting means.
pub(crate) fn show_all(lay_out: impl Fn(usize) -> Vec<String>, leaving: &str) -> anyhow::Result<bool> {
    'from_the_start: loop {
        let size = prompt::size();
        let (rows, columns) = size;
        let lines = lay_out(columns);
        // The last row is for the prompt.
        let pages: Vec<&[String]> = lines.chunks(rows.saturating_sub(1).max(MIN_ROWS)).collect();
        for (index, page) in pages.iter().enumerate() {
            let mut text = page.join("\n");
            text.push('\n');
            output::print(&text)?;
            if index + 1 == pages.len() {
                return Ok(true);
            }
            let prompt = format!("-- page {} of {}: Space or Enter continues, q {leaving} --", index + 1, pages.len());
            if prompt::key(&prompt)? == Key::Leave {
                return Ok(false);
            }
            if prompt::size() != size {
                // Lines laid out for another width would wrap at positions that a value can control.
                output::print("The size of the terminal has changed. Starting again.\n")?;
                continue 'from_the_start;
            }
        }
        return Ok(true);
    }
}
