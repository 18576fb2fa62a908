//! The table: what, ours, compared to, ratio, aim. Markdown, and padded to be read in a terminal.

use std::fmt;

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aim {
    /// Shown for what it is.
    None,
    /// The ratio is no more than this.
    Ratio(f64),
    /// The ratio is no less than this.
    Least(f64),
    /// Our figure is no more than this.
    AtMost { limit: &'static str, reached: bool },
}

impl Aim {
    pub(super) fn at_most(limit: &'static str, reached: bool) -> Self {
        Aim::AtMost { limit, reached }
    }

    fn words(self, ratio: Option<f64>) -> String {
        let (limit, reached) = match self {
            Aim::None => return String::new(),
            Aim::Ratio(limit) => (format!("≤ {limit}×"), ratio.is_some_and(|ratio| ratio <= limit)),
            Aim::Least(limit) => (format!("≥ {limit}×"), ratio.is_some_and(|ratio| ratio >= limit)),
            Aim::AtMost { limit, reached } => (format!("≤ {limit}"), reached),
        };
        format!("{limit}: {}", if reached { "reached" } else { "missed" })
    }
}

/// One line of the table.
pub(super) struct Row {
    pub(super) what: String,
    pub(super) ours: String,
    pub(super) compared: String,
    pub(super) ratio: Option<f64>,
    pub(super) aim: Aim,
}

#[derive(Default)]
pub(super) struct Table(Vec<Row>);

impl Table {
    pub(super) fn push(&mut self, row: Row) {
        self.0.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn append(&mut self, other: Table) {
        self.0.extend(other.0);
    }
}

const HEAD: [&str; 5] = ["what", "ours", "compared to", "ratio", "aim"];

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(self.0.iter().map(|row| {
            let ratio = row.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default();
            [row.what.clone(), row.ours.clone(), row.compared.clone(), ratio, row.aim.words(row.ratio)]
        }));
        let mut widths = [0; 5];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for (index, line) in lines.iter().enumerate() {
            for (cell, width) in line.iter().zip(widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
            if index == 0 {
                for width in widths {
                    write!(f, "|{}", "-".repeat(width + 2))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// A whole number with commas between its thousands.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0.4, "0"), (999.0, "999"), (1_000.0, "1,000"), (1_234_567.8, "1,234,568")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn an_aim_says_whether_it_was_reached() {
        assert_eq!(Aim::Ratio(1.3).words(Some(1.2)), "≤ 1.3×: reached");
        assert_eq!(Aim::Ratio(1.3).words(Some(1.4)), "≤ 1.3×: missed");
        assert_eq!(Aim::Least(5.0).words(Some(5.5)), "≥ 5×: reached");
        assert_eq!(Aim::at_most("15 MB", true).words(None), "≤ 15 MB: reached");
    }
}
