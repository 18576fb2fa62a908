//! A chart for a terminal, or for a file and a pipe: there without anything but ASCII in the bars.

use std::fmt::Write as _;

use crate::render::chart::{Bar, Chart, Section, thousands};

/// Where the text goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Canvas {
    /// Columns.
    pub width: usize,
    /// Whether bars may be drawn with block characters.
    pub blocks: bool,
}

impl Canvas {
    /// For whatever is no terminal.
    pub const PLAIN: Self = Self { width: 100, blocks: false };
}

/// A label is cut after as many columns.
const MAX_LABEL_LEN: usize = 34;
/// A column of numbers.
const NUMBER: usize = 12;
/// No bar is scaled to less.
const MIN_LEN: usize = 8;
/// No bar is scaled to more.
const MAX_LEN: usize = 48;

/// Draws it.
#[must_use]
pub fn draw(chart: &Chart, canvas: Canvas) -> String {
    let mut out = format!("{}\n", chart.title);
    for sentence in &chart.lead {
        out.push_str(&wrapped(sentence, canvas.width));
    }
    let labels = chart.sections.iter().flat_map(|section| &section.bars).map(|bar| bar.label.chars().count());
    let room = canvas.width.saturating_sub(2 + 2 * NUMBER + 2 + MIN_LEN).max(MIN_LEN);
    let label = labels.max().unwrap_or_default().min(MAX_LABEL_LEN).min(room);
    for (index, section) in chart.sections.iter().enumerate() {
        out.push('\n');
        if index == 0 {
            let width = label + 2;
            let title = cut(&section.title, width);
            let _ = writeln!(out, "{title:width$}{:>NUMBER$}{:>NUMBER$}", "o200k_base", "cl100k_base");
        } else {
            let _ = writeln!(out, "{}", cut(&section.title, canvas.width));
        }
        for bar in &section.bars {
            if let Some(group) = &bar.group {
                let _ = writeln!(out, "  {}", cut(group, canvas.width.saturating_sub(2)));
            }
            let line = line(section, bar, label, canvas);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if !chart.remarks.is_empty() {
        out.push('\n');
    }
    for remark in &chart.remarks {
        out.push_str(&wrapped(&format!("Note: {remark}."), canvas.width));
    }
    out
}

fn line(section: &Section, bar: &Bar, label: usize, canvas: Canvas) -> String {
    let name = cut(&bar.label, label);
    let numbers = [bar.tokens.o200k_base, bar.tokens.cl100k_base].map(thousands);
    let [first, second] = numbers;
    let mut line = format!("  {name:label$}{first:>NUMBER$}{second:>NUMBER$}  ");
    let room = canvas.width.saturating_sub(line.chars().count());
    // Where something is said beside the bars they leave room for it.
    let note = section.bars.iter().map(|bar| bar.note.chars().count()).max().unwrap_or_default();
    let note = if note == 0 { 0 } else { (note + 1).min(room * 2 / 3) };
    let width = room.saturating_sub(note).clamp(MIN_LEN, MAX_LEN);
    let length = section.length(bar, width as f64);
    line.push_str(&if canvas.blocks { blocks(length) } else { signs(length) });
    if !bar.note.is_empty() {
        let room = canvas.width.saturating_sub(line.chars().count() + 1);
        // What would be cut gets a line of its own.
        if bar.note.chars().count() <= room {
            let _ = write!(line, " {}", bar.note);
        } else {
            let _ = write!(line, "\n      {}", cut(&bar.note, canvas.width.saturating_sub(6)));
        }
    }
    line
}

/// A bar in eighths of a column.
fn blocks(length: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
    let bar = format!("{}{part}", "█".repeat(eighths / 8));
    if bar.is_empty() { "▏".to_owned() } else { bar }
}

fn signs(length: f64) -> String {
    "#".repeat((length.round() as usize).max(1))
}

/// Lines of whole words; those after the first are indented.
fn wrapped(text: &str, width: usize) -> String {
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

/// No longer than so many columns; what was cut off is told.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}
