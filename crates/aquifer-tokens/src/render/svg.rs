//! Draws a chart as a self-contained SVG. It adapts to light and dark themes, its text can be selected, and names from
//! servers are escaped.

use std::fmt::Write as _;

use crate::render::chart::{Chart, format_thousands};
use crate::report::SurfaceKind;

const WIDTH: usize = 860;
const MARGIN: usize = 24;
const ROW: usize = 24;
/// The horizontal position of the bars.
const BARS: usize = 260;
/// The length of the longest bar. The rest of the width is for its number.
const MAX_BAR_LEN: f64 = 390.0;
/// Longer texts are truncated. The tooltip shows the full text.
const MAX_LABEL_LEN: usize = 34;
const MAX_LINE_LEN: usize = 112;

const STYLE: &str = "\
svg{background:#fff;color-scheme:light dark}\
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1f2328}\
.title{font-size:17px;font-weight:600}.head{font-weight:600}.small{font-size:11px;fill:#59636e}\
.bar{fill:#57606a}.direct{fill:#bc4c00}.semantic{fill:#0969da}.single{fill:#1a7f37}.all{fill:#8250df}\
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#f0f6fc}.small{fill:#9198a1}\
.bar{fill:#8b949e}.direct{fill:#f0883e}.semantic{fill:#58a6ff}.single{fill:#3fb950}.all{fill:#bc8cff}}";

/// Draws a chart.
#[must_use]
pub fn draw(chart: &Chart) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 12;
    push_text(&mut body, MARGIN, y, "title", &truncate(&chart.title, 90));
    for sentence in &chart.lead {
        y += ROW;
        push_text(&mut body, MARGIN, y, "", &truncate(sentence, MAX_LINE_LEN));
    }
    y += ROW;
    let legend = "Tokens of o200k_base, in brackets those of cl100k_base. Bars are compared within a block.";
    push_text(&mut body, MARGIN, y, "small", legend);
    for section in &chart.sections {
        y += ROW + ROW / 2;
        push_text(&mut body, MARGIN, y, "head", &truncate(&section.title, MAX_LINE_LEN));
        for bar in &section.bars {
            if let Some(group) = &bar.group {
                y += ROW;
                push_text(&mut body, MARGIN, y, "small", &truncate(group, MAX_LINE_LEN));
            }
            y += ROW;
            let length = section.length(bar, MAX_BAR_LEN).max(1.0);
            let numbers =
                format!("{} ({})", format_thousands(bar.tokens.o200k_base), format_thousands(bar.tokens.cl100k_base));
            let whole = [bar.label.trim(), &numbers, &bar.note].join(" ");
            let class = bar.surface.map_or("bar", SurfaceKind::as_str);
            let _ = write!(body, "<g><title>{}</title>", escape(whole.trim()));
            push_text(&mut body, MARGIN, y, "", &truncate(&bar.label, MAX_LABEL_LEN));
            let top = y - 13;
            let _ =
                write!(body, r#"<rect class="{class}" x="{BARS}" y="{top}" width="{length:.1}" height="17" rx="2"/>"#);
            push_text(&mut body, BARS + length.ceil() as usize + 8, y, "", &numbers);
            body.push_str("</g>\n");
            if !bar.note.is_empty() {
                y += 16;
                push_text(&mut body, BARS, y, "small", &truncate(&bar.note, 90));
            }
        }
    }
    for remark in &chart.remarks {
        y += ROW;
        push_text(&mut body, MARGIN, y, "small", &truncate(&format!("Note: {remark}."), MAX_LINE_LEN));
    }
    let height = y + MARGIN;
    let title = escape(&chart.title);
    let about = escape(&chart.lead.join(" "));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{title}</title>\n<desc id=\"desc\">{about}</desc>\n\
         <style>{STYLE}</style>\n{body}</svg>\n"
    )
}

fn push_text(body: &mut String, x: usize, y: usize, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(body, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", escape(text));
}

/// Escapes text for element content and attributes. The chart has already removed characters that XML does not allow.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn truncate(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let start: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{start}…")
}
