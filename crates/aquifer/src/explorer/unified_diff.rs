//! The difference of two texts in the unified format.

use std::time::Duration;

use similar::TextDiff;

/// After this time, the rest is shown as removed and added, whatever the lines have in common.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The difference between two versions of a file; empty if they are equal.
pub(super) fn unified_diff(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(old, new);
    diff.unified_diff().header(name, name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_their_surroundings() {
        let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n").replace("30\n", "30\nend");
        let expected = "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -22,9 +22,9 @@\n 22\n 23\n 24\n-25\n \
                        26\n 27\n 28\n 29\n 30\n+end\n\\ No newline at end of file\n";
        assert_eq!(unified_diff("f", &old, &new), expected);
    }

    #[test]
    fn equal_and_empty_texts() {
        assert_eq!(unified_diff("f", "a\n", "a\n"), "");
        assert_eq!(unified_diff("f", "", "a\n"), "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified_diff("f", "a\n", ""), "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn patch_applies_what_is_shown() {
        let old = "a\nb\nc\nd\n";
        let new = "a\nc\nx\nd\nd\n";
        let diff = unified_diff("f", old, new);
        let applied: Vec<&str> = diff.lines().skip(3).filter(|line| !line.starts_with('-')).collect();
        let applied: String = applied.iter().map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect();
        assert_eq!(applied, new);
    }
}
