//! The difference of two texts in the unified format.

use std::fmt::Write as _;

/// Lines around a change.
const CONTEXT: usize = 3;

/// Larger changes are not compared line by line: all old lines are shown, then all new ones.
const MAX_COMPARED: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Same,
    Removed,
    Added,
}

/// The difference between two versions of a file; empty if they are equal.
pub(super) fn unified_diff(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let lines = compare(&old_lines, &new_lines);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let mut start = 0;
    while let Some(hunk) = next_hunk(&lines, start) {
        write_hunk(&mut out, &lines, hunk.clone());
        start = hunk.end;
    }
    out
}

/// All lines of both texts in order.
fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Change, &'t str)> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let old_middle = old_rest.get(..old_rest.len() - end).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - end).unwrap_or_default();
    let mut lines: Vec<(Change, &str)> = old.iter().take(start).map(|line| (Change::Same, *line)).collect();
    lines.extend(compare_middle(old_middle, new_middle));
    lines.extend(old_rest.iter().skip(old_middle.len()).map(|line| (Change::Same, *line)));
    lines
}

/// Keeps the longest common subsequence.
fn compare_middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Change, &'t str)> {
    let whole = || {
        let removed = old.iter().map(|line| (Change::Removed, *line));
        removed.chain(new.iter().map(|line| (Change::Added, *line))).collect()
    };
    if old.len().saturating_mul(new.len()) > MAX_COMPARED {
        return whole();
    }
    // For each pair of suffixes, from the end: the number of lines they have in common.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (row, old_line) in old.iter().enumerate().rev() {
        for (column, new_line) in new.iter().enumerate().rev() {
            let get = |row: usize, column: usize| common.get(row * width + column).copied().unwrap_or(0);
            let best = match old_line == new_line {
                true => get(row + 1, column + 1) + 1,
                false => get(row + 1, column).max(get(row, column + 1)),
            };
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let get = |row: usize, column: usize| common.get(row * width + column).copied().unwrap_or(0);
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (None, None) => return lines,
            (Some(old_line), Some(new_line)) if old_line == new_line => {
                lines.push((Change::Same, *old_line));
                (row, column) = (row + 1, column + 1);
            }
            (Some(old_line), new_line) if new_line.is_none() || get(row + 1, column) >= get(row, column + 1) => {
                lines.push((Change::Removed, *old_line));
                row += 1;
            }
            (_, Some(new_line)) => {
                lines.push((Change::Added, *new_line));
                column += 1;
            }
            (Some(_), None) => return lines,
        }
    }
}

/// The next changes at or after a line, with their context. Changes that are close together form one hunk.
fn next_hunk(lines: &[(Change, &str)], from: usize) -> Option<std::ops::Range<usize>> {
    let changes = lines.iter().enumerate().skip(from).filter(|(_, (change, _))| *change != Change::Same);
    let mut changes = changes.map(|(index, _)| index);
    let first = changes.next()?;
    let mut last = first;
    for index in changes {
        if index - last > 2 * CONTEXT {
            break;
        }
        last = index;
    }
    Some(first.saturating_sub(CONTEXT).max(from)..(last + CONTEXT + 1).min(lines.len()))
}

fn write_hunk(out: &mut String, lines: &[(Change, &str)], hunk: std::ops::Range<usize>) {
    let before = lines.get(..hunk.start).unwrap_or_default();
    let within = lines.get(hunk).unwrap_or_default();
    let count =
        |lines: &[(Change, &str)], left_out: Change| lines.iter().filter(|(change, _)| *change != left_out).count();
    let range = |left_out: Change| {
        let (start, length) = (count(before, left_out), count(within, left_out));
        // An empty range is named by the line before it.
        format!("{},{length}", if length == 0 { start } else { start + 1 })
    };
    let _ = writeln!(out, "@@ -{} +{} @@", range(Change::Added), range(Change::Removed));
    for (change, line) in within {
        let mark = match change {
            Change::Same => ' ',
            Change::Removed => '-',
            Change::Added => '+',
        };
        match line.strip_suffix('\n') {
            Some(line) => {
                let _ = writeln!(out, "{mark}{line}");
            }
            None => {
                let _ = writeln!(out, "{mark}{line}\n\\ No newline at end of file");
            }
        }
    }
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
        assert_eq!(unified_diff("f", "", "a\n"), "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified_diff("f", "a\n", ""), "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n");
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
