//! Draws a chart as text: with block characters for a terminal, with ASCII bars for files and pipes.

use std::fmt::Write as _;

use crate::render::chart::{Bar, Chart, Section, format_thousands};

/// The properties of the output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Canvas {
    /// The width in columns.
    pub width: usize,
    /// Whether bars may be drawn with block characters.
    pub blocks: bool,
}

impl Canvas {
    /// For files and pipes.
    pub const PLAIN: Self = Self { width: 100, blocks: false };
}

/// Labels are truncated to this width.
const MAX_LABEL_LEN: usize = 34;
/// The width of a column of numbers.
const NUMBER: usize = 12;
/// Minimum width of the longest bar.
const MIN_BAR_LEN: usize = 8;
/// Maximum width of the longest bar.
const MAX_BAR_LEN: usize = 48;

/// Draws a chart.
#[must_use]
pub fn draw(chart: &Chart, canvas: Canvas) -> String {
    let mut out = format!("{}\n", chart.title);
    for sentence in &chart.lead {
        out.push_str(&wrap(sentence, canvas.width));
    }
    let labels = chart.sections.iter().flat_map(|section| &section.bars).map(|bar| bar.label.chars().count());
    let room = canvas.width.saturating_sub(2 + 2 * NUMBER + 2 + MIN_BAR_LEN).max(MIN_BAR_LEN);
    let label = labels.max().unwrap_or_default().min(MAX_LABEL_LEN).min(room);
    for (index, section) in chart.sections.iter().enumerate() {
        out.push('\n');
        if index == 0 {
            let width = label + 2;
            let title = truncate(&section.title, width);
            let _ = writeln!(out, "{title:width$}{:>NUMBER$}{:>NUMBER$}", "o200k_base", "cl100k_base");
        } else {
            let _ = writeln!(out, "{}", truncate(&section.title, canvas.width));
        }
        for bar in &section.bars {
            if let Some(group) = &bar.group {
                let _ = writeln!(out, "  {}", truncate(group, canvas.width.saturating_sub(2)));
            }
            let line = bar_line(section, bar, label, canvas);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if !chart.remarks.is_empty() {
        out.push('\n');
    }
    for remark in &chart.remarks {
        out.push_str(&wrap(&format!("Note: {remark}."), canvas.width));
    }
    out
}

fn bar_line(section: &Section, bar: &Bar, label: usize, canvas: Canvas) -> String {
    let name = truncate(&bar.label, label);
    let numbers = [bar.tokens.o200k_base, bar.tokens.cl100k_base].map(format_thousands);
    let [first, second] = numbers;
    let mut line = format!("  {name:label$}{first:>NUMBER$}{second:>NUMBER$}  ");
    let room = canvas.width.saturating_sub(line.chars().count());
    // Bars leave room for the notes beside them.
    let note = section.bars.iter().map(|bar| bar.note.chars().count()).max().unwrap_or_default();
    let note = if note == 0 { 0 } else { (note + 1).min(room * 2 / 3) };
    let width = room.saturating_sub(note).clamp(MIN_BAR_LEN, MAX_BAR_LEN);
    let length = section.length(bar, width as f64);
    line.push_str(&if canvas.blocks { block_bar(length) } else { ascii_bar(length) });
    if !bar.note.is_empty() {
        let room = canvas.width.saturating_sub(line.chars().count() + 1);
        // A note that does not fit gets a line of its own.
        if bar.note.chars().count() <= room {
            let _ = write!(line, " {}", bar.note);
        } else {
            let _ = write!(line, "\n      {}", truncate(&bar.note, canvas.width.saturating_sub(6)));
        }
    }
    line
}

/// Draws a bar in eighths of a column.
fn block_bar(length: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
    let bar = format!("{}{part}", "█".repeat(eighths / 8));
    if bar.is_empty() { "▏".to_owned() } else { bar }
}

fn ascii_bar(length: f64) -> String {
    "#".repeat((length.round() as usize).max(1))
}

/// Wraps text at word boundaries. Lines after the first are indented.
fn wrap(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// Truncates text to a number of columns. An ellipsis marks the cut.
fn truncate(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{start}…")
}
