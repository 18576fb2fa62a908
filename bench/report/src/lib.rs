//! Measured figures. Measuring programs write one data file per table to `bench/figures`. Pages in `docs` show the
//! tables between markers and can be regenerated from the data files without measuring (`cargo xtask figures`).
//!
//! A marker is `<!-- figures: NAME -->` or `<!-- figures: NAME FILTER -->`, where NAME is a data file and FILTER
//! selects figures whose names contain it. Prose belongs outside the markers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const PAGES: [&str; 5] =
    ["docs/performance.md", "docs/tokens.md", "docs/soak.md", "docs/openapi-survey.md", "docs/hijacked-models.md"];
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- figures end -->";

/// One measured quantity, and the reference it is compared with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    unit: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<Aim>,
}

/// The reference of a figure: in the same unit, measured in the same run. Has no value if it could not be measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

/// A target, evaluated when the figure is measured, because the data file holds rounded values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Aim {
    limit: String,
    reached: bool,
}

impl Figure {
    /// Creates a figure without a reference.
    pub fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        let (name, unit) = (name.into(), unit.to_owned());
        Self { name, value: Some(value), unit, note: String::new(), reference: None, ratio: None, aim: None }
    }

    /// Creates a figure whose reference could not be measured.
    pub fn unmeasured(name: &str, reference: &str) -> Self {
        let reference = Reference { name: reference.to_owned(), value: None, note: String::new() };
        Self { value: None, reference: Some(reference), ..Self::new(name, 0.0, "") }
    }

    /// Adds a reference. The ratio is computed from the values unless [`ratio`](Self::ratio) replaces it.
    pub fn compared_with(mut self, name: impl Into<String>, value: f64) -> Self {
        self.ratio = self.value.map(|own| own / value);
        self.reference = Some(Reference { name: name.into(), value: Some(value), note: String::new() });
        self
    }

    /// Replaces the ratio with one that was measured side by side.
    pub fn ratio(self, ratio: f64) -> Self {
        Self { ratio: Some(ratio), ..self }
    }

    /// Adds notes on the value and on that of the reference.
    pub fn notes(mut self, own: String, reference: String) -> Self {
        self.note = own;
        self.reference.iter_mut().for_each(|found| found.note.clone_from(&reference));
        self
    }

    /// Sets a target with a description.
    pub fn aim(self, limit: impl Into<String>, reached: bool) -> Self {
        Self { aim: Some(Aim { limit: limit.into(), reached }), ..self }
    }

    /// Sets a target: the ratio is at most this.
    pub fn max_ratio(self, limit: f64) -> Self {
        let reached = self.ratio.is_some_and(|ratio| ratio <= limit);
        self.aim(format!("≤ {limit}×"), reached)
    }

    /// Sets a target: the ratio is at least this.
    pub fn min_ratio(self, limit: f64) -> Self {
        let reached = self.ratio.is_some_and(|ratio| ratio >= limit);
        self.aim(format!("≥ {limit}×"), reached)
    }

    /// Sets a target: the value is at most this.
    pub fn max(self, limit: f64) -> Self {
        let (limit_text, reached) = (quantity(limit, &self.unit), self.value.is_some_and(|value| value <= limit));
        self.aim(format!("≤ {limit_text}"), reached)
    }

    fn cells(&self) -> Vec<String> {
        let noted = |value: f64, note: &str| match note {
            "" => quantity(value, &self.unit),
            note => format!("{} ({note})", quantity(value, &self.unit)),
        };
        let reference = self.reference.as_ref().map(|reference| match reference.value {
            Some(value) => format!("{}: {}", reference.name, noted(value, &reference.note)),
            None => format!("{}: could not be measured", reference.name),
        });
        let aim =
            self.aim.as_ref().map(|aim| format!("{}: {}", aim.limit, if aim.reached { "reached" } else { "missed" }));
        vec![
            self.name.clone(),
            self.value.map(|value| noted(value, &self.note)).unwrap_or_default(),
            reference.unwrap_or_default(),
            self.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default(),
            aim.unwrap_or_default(),
        ]
    }

    fn rounded(mut self) -> Self {
        let round = |value: &mut f64| *value = (*value * 1000.0).round() / 1000.0;
        self.value.iter_mut().chain(&mut self.ratio).for_each(round);
        self.reference.iter_mut().filter_map(|reference| reference.value.as_mut()).for_each(round);
        self
    }
}

/// A data file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    /// How and on which machine it was measured, if that matters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    measured: String,
    #[serde(flatten)]
    content: Content,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Figures(Vec<Figure>),
    /// The first row contains the titles. A pair of numbers is shown as `a / b`.
    Rows(Vec<Vec<Value>>),
    /// The names of figures and their references, taken from the other data files.
    Selection(Vec<(String, String)>),
}

impl Table {
    /// Creates a table of figures that depend on the machine.
    pub fn figures(figures: Vec<Figure>) -> Self {
        let figures = figures.into_iter().map(Figure::rounded).collect();
        Self { measured: machine(), content: Content::Figures(figures) }
    }

    /// Creates a table of rows that are the same on every machine.
    pub fn rows(rows: Vec<Vec<Value>>) -> Self {
        Self { measured: String::new(), content: Content::Rows(rows) }
    }

    /// Sets how it was measured, and adds the machine.
    pub fn with(self, how: &str) -> Self {
        Self { measured: format!("{how} {}", machine()), ..self }
    }

    /// Prints the table.
    #[expect(clippy::print_stdout, reason = "the table is the result of the programs that measure")]
    pub fn print(&self) -> Result<()> {
        println!("\n{}", self.markdown("")?);
        Ok(())
    }

    /// Writes the data file, one row per line.
    pub fn write(&self, name: &str) -> Result<()> {
        let text = serde_json::to_string(self)?;
        let text = match &self.content {
            Content::Figures(_) => text.replace(",{\"name\"", ",\n{\"name\"").replace("[{\"name\"", "[\n{\"name\""),
            Content::Rows(_) | Content::Selection(_) => text.replace("],[\"", "],\n[\""),
        };
        let path = path(name);
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    fn read(name: &str) -> Result<Self> {
        let path = path(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    fn markdown(&self, filter: &str) -> Result<String> {
        let titles = ["what", "Aquifer", "compared to", "ratio", "aim"].map(str::to_owned).to_vec();
        let lines: Vec<Vec<String>> = match &self.content {
            Content::Rows(rows) => rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
            Content::Figures(figures) => {
                let shown = figures.iter().filter(|figure| figure.name.contains(filter));
                std::iter::once(titles).chain(shown.map(Figure::cells)).collect()
            }
            Content::Selection(names) => {
                let selected = names.iter().map(|(name, reference)| Ok(find(name, reference)?.cells()));
                std::iter::once(Ok(titles)).chain(selected).collect::<Result<_>>()?
            }
        };
        if lines.len() < 2 {
            bail!("no figures to show");
        }
        let measured =
            if self.measured.is_empty() { String::new() } else { format!("Measured {}.\n\n", self.measured) };
        Ok(measured + &aligned(&lines))
    }
}

/// The root directory of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

fn path(name: &str) -> PathBuf {
    root().join(format!("bench/figures/{name}.json"))
}

/// Finds a figure in any data file.
fn find(name: &str, reference: &str) -> Result<Figure> {
    for entry in fs::read_dir(root().join("bench/figures"))? {
        let file = entry?.path();
        let Content::Figures(figures) = Table::read(&file.file_stem().unwrap_or_default().to_string_lossy())?.content
        else {
            continue;
        };
        let is_wanted = |figure: &Figure| {
            figure.name == name && figure.reference.as_ref().is_some_and(|found| found.name.starts_with(reference))
        };
        if let Some(found) = figures.into_iter().find(is_wanted) {
            return Ok(found);
        }
    }
    bail!("no figure '{name}' compared to {reference}")
}

/// Updates the tables of all pages from the data files.
pub fn update_pages() -> Result<()> {
    for page in PAGES {
        let path = root().join(page);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
        let text = fill_page(&text).with_context(|| format!("cannot fill {page}"))?;
        fs::write(&path, text).with_context(|| format!("cannot write {page}"))?;
    }
    Ok(())
}

/// Fills in the tables of a page from the data files.
fn fill_page(page: &str) -> Result<String> {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (marker, rest) = part.split_once(" -->\n").context("a marker has no end")?;
        let (_, after) = rest.split_once(END).with_context(|| format!("the table '{marker}' has no end"))?;
        let (name, filter) = marker.split_once(' ').unwrap_or((marker, ""));
        let table = Table::read(name)?.markdown(filter).with_context(|| format!("table '{marker}'"))?;
        text += &format!("{BEGIN}{marker} -->\n{table}{END}{after}");
    }
    Ok(text)
}

/// Describes the machine and the compiler.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or("?".to_owned(), |cores| cores.to_string());
    let system = std::env::consts::OS.replace("linux", "Linux");
    let compiler = Command::new("rustc").arg("--version").output().map(|done| done.stdout).unwrap_or_default();
    let compiler = String::from_utf8_lossy(&compiler).into_owned();
    let version: Vec<&str> = compiler.split_whitespace().take(2).collect();
    format!("on a {cores}-core {system} machine with {}", version.join(" "))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(pair) => pair.iter().map(cell).collect::<Vec<_>>().join(" / "),
        value => value.as_f64().map(|number| quantity(number, "")).unwrap_or_default(),
    }
}

/// Formats a Markdown table, padded for reading in a terminal.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let row = |line: &Vec<String>| -> String {
        line.iter().zip(&widths).map(|(cell, width)| format!("| {cell:width$} ")).collect::<String>() + "|\n"
    };
    let rule: String = widths.iter().map(|width| format!("|{}", "-".repeat(width + 2))).collect();
    let mut lines = lines.iter();
    let head = lines.next().map(row).unwrap_or_default();
    head + &rule + "|\n" + &lines.map(row).collect::<String>()
}

/// Formats a number with its unit: four significant digits or all digits of an integer, with thousands separators, and
/// larger units for large values.
pub fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "µs" if value >= 1000.0 => (value / 1000.0, "ms"),
        "kB" => (value / 1024.0, "MB"),
        unit => (value, unit),
    };
    let digits = match value.abs() {
        small if small < 100.0 => format!("{value:.2}"),
        medium if medium < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{text}{dot}{fraction} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_show_what_the_data_files_hold() -> Result<()> {
        for page in PAGES {
            let text = fs::read_to_string(root().join(page))?;
            assert!(text.contains(BEGIN), "{page} shows no figures");
            assert!(fill_page(&text)? == text, "{page} differs from bench/figures: cargo xtask figures");
        }
        Ok(())
    }

    #[test]
    fn every_data_file_is_shown() -> Result<()> {
        let pages: String = PAGES.map(|page| fs::read_to_string(root().join(page)).unwrap_or_default()).concat();
        for entry in fs::read_dir(root().join("bench/figures"))? {
            let name = entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            assert!(pages.contains(&format!("{BEGIN}{name}")), "no page shows {name}");
        }
        Ok(())
    }

    #[test]
    fn only_the_tables_are_replaced() -> Result<()> {
        let page = "a\n<!-- figures: stdio p50 -->\nold\n<!-- figures end -->\nb\n";
        let text = fill_page(page)?;
        assert!(text.starts_with("a\n<!--") && text.ends_with("end -->\nb\n"), "{text}");
        assert!(text.contains("round trip, p50") && !text.contains("old") && !text.contains("p99"), "{text}");
        for wrong in [
            "<!-- figures: stdio -->\n",
            "<!-- figures: none -->\n<!-- figures end -->",
            "<!-- figures: stdio none -->\n<!-- figures end -->",
        ] {
            assert!(fill_page(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn quantities_are_readable() {
        for (value, unit, text) in [
            (0.4, "", "0.4"),
            (999.96, "", "1,000"),
            (1_234_567.8, "instructions", "1,234,568 instructions"),
            (33.6, "µs", "33.6 µs"),
            (181_600.0, "µs", "181.6 ms"),
            (22_630.4, "kB", "22.1 MB"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn aims_show_whether_they_were_reached() {
        let figure = |ours| Figure::new("a call", ours, "µs").compared_with("echo", 10.0);
        let cells = |figure: Figure| figure.cells().join("|");
        assert_eq!(cells(figure(12.0).max_ratio(1.3)), "a call|12 µs|echo: 10 µs|1.20×|≤ 1.3×: reached");
        assert_eq!(cells(figure(12.0).ratio(1.4).max_ratio(1.3)), "a call|12 µs|echo: 10 µs|1.40×|≤ 1.3×: missed");
        assert_eq!(cells(figure(90.0).max(80.0)), "a call|90 µs|echo: 10 µs|9.00×|≤ 80 µs: missed");
        assert_eq!(cells(Figure::unmeasured("a call", "echo")), "a call||echo: could not be measured||");
    }
}
