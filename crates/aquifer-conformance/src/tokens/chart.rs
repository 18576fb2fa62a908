//! A report as bars, before anybody draws them: text and SVG show the same.

use super::count::Counts;
use super::offender::Offender;
use super::report::{Kind, Outcome, Report, Task, Way};
use super::seen::Apart;

/// As many of the largest are shown; the report has more.
const LARGEST: usize = 5;

/// Everything that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What was measured.
    pub title: String,
    /// What matters most, in sentences.
    pub lead: Vec<String>,
    /// Bars that are compared with each other.
    pub sections: Vec<Section>,
    /// What else is to be known.
    pub remarks: Vec<String>,
}

/// Bars of one scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What they are about.
    pub title: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

impl Section {
    /// The longest bar.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.bars.iter().map(|bar| bar.tokens.o200k_base).max().unwrap_or_default()
    }

    /// The length of a bar where the longest has `width`. What is there is seen.
    #[must_use]
    pub fn length(&self, bar: &Bar, width: f64) -> f64 {
        let (tokens, largest) = (bar.tokens.o200k_base as f64, self.largest().max(1) as f64);
        width * tokens / largest
    }
}

/// One bar. Its length is that of `o200k_base`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// How long it is.
    pub tokens: Counts,
    /// What is said beside it.
    pub note: String,
    /// The tools it was measured with, for its colour.
    pub surface: Option<Kind>,
}

impl Bar {
    fn new(label: impl Into<String>, tokens: Counts, surface: Option<Kind>) -> Self {
        Self { label: clean(&label.into()), tokens, note: String::new(), surface }
    }

    fn note(mut self, note: impl AsRef<str>) -> Self {
        self.note = clean(note.as_ref());
        self
    }
}

impl Chart {
    /// The chart of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut sections = vec![connect(report), around(report)];
        for task in &report.tasks {
            sections.push(whole(task));
            sections.push(answers(task));
        }
        sections.push(largest("Largest tools of its own", &report.largest_tools, Some(Kind::Direct)));
        if report.largest_tools.is_empty() {
            sections.push(largest("Largest operations, one look each", &report.largest_operations, None));
        }
        sections.retain(|section| !section.bars.is_empty());
        let title = clean(&format!("What a model pays for {}, in tokens", report.subject));
        Self { title, lead: lead(report), sections, remarks: remarks(report) }
    }
}

fn lead(report: &Report) -> Vec<String> {
    let find = |kind: Kind| report.surfaces.iter().find(|surface| surface.surface == kind);
    let mut lead = Vec::new();
    let ours = [Kind::Single, Kind::Semantic, Kind::All].into_iter().find_map(find);
    match (find(Kind::Direct), ours) {
        (Some(direct), Some(ours)) => {
            let (from, to) = (direct.connect.o200k_base, ours.connect.o200k_base);
            let (tools, mode) = (tools(direct.tools), ours.surface.as_str());
            lead.push(format!(
                "At connect: {} with its own {tools}, {} with '{mode}'{}.",
                thousands(from),
                thousands(to),
                less(from, to)
            ));
        }
        (None, Some(ours)) => {
            let operations = report.introspection.as_ref().map_or(0, |introspection| introspection.operations);
            let (mode, tokens) = (ours.surface.as_str(), thousands(ours.connect.o200k_base));
            lead.push(format!("At connect: {tokens} with '{mode}', for {operations} operations."));
        }
        (Some(direct), None) => {
            lead.push(format!("At connect: {}, for {}.", thousands(direct.connect.o200k_base), tools(direct.tools)));
        }
        (None, None) => {}
    }
    // The cheapest way that was answered, against the source's own.
    let answered = |task: &Task, direct: bool| {
        let ways = task.ways.iter().filter(|way| way.outcome == Outcome::Answered);
        ways.filter(|way| (way.surface == Kind::Direct) == direct)
            .map(|way| way.total)
            .min_by_key(|total| total.o200k_base)
    };
    let pairs: Vec<(Counts, Counts)> =
        report.tasks.iter().filter_map(|task| Some((answered(task, true)?, answered(task, false)?))).collect();
    if !pairs.is_empty() {
        let middle = |side: fn(&(Counts, Counts)) -> Counts| {
            Counts::median(&pairs.iter().map(side).collect::<Vec<_>>()).o200k_base
        };
        let (from, to) = (middle(|pair| pair.0), middle(|pair| pair.1));
        lead.push(format!(
            "A whole task (median of {}): {} with its own tools, {} to find, look, call and read{}.",
            pairs.len(),
            thousands(from),
            thousands(to),
            less(from, to)
        ));
    }
    lead
}

/// The difference in words, where there is one worth telling.
fn less(from: usize, to: usize) -> String {
    if from == 0 {
        return String::new();
    }
    let percent = 100.0 * (from as f64 - to as f64) / from as f64;
    if percent >= 0.0 { format!(": {percent:.0} % less") } else { format!(": {:.0} % more", -percent) }
}

fn tools(count: usize) -> String {
    format!("{} {}", thousands(count), if count == 1 { "tool" } else { "tools" })
}

fn connect(report: &Report) -> Section {
    let mut bars = Vec::new();
    for surface in &report.surfaces {
        let label = format!("{} ({})", surface.surface.as_str(), tools(surface.tools));
        bars.push(Bar::new(label, surface.connect, Some(surface.surface)).note(apart(&surface.apart)));
        if let Some(instructions) = surface.instructions {
            bars.push(Bar::new("  its instructions", instructions, Some(surface.surface)));
        }
    }
    Section { title: "At connect".to_owned(), bars }
}

fn around(report: &Report) -> Section {
    let mut bars = Vec::new();
    if let Some(introspection) = &report.introspection {
        let surface = Some(introspection.surface);
        let list = &introspection.list;
        let operations = thousands(introspection.operations);
        if list.pages > 1 {
            let pages = list.pages;
            bars.push(Bar::new(format!("list, first of {pages} pages"), list.first_page, surface));
            bars.push(Bar::new(format!("list, all {operations} operations"), list.all_pages, surface));
        } else {
            bars.push(Bar::new(format!("list of all {operations} operations"), list.all_pages, surface));
        }
        if let Some(search) = &introspection.search {
            bars.push(Bar::new("one search, typical", search.median, surface));
        }
        if let Some(detail) = &introspection.detail {
            bars.push(Bar::new("one operation, typical", detail.median, surface));
            bars.push(Bar::new("one operation, largest", detail.largest, surface).note(&detail.largest_name));
        }
    }
    Section { title: "To look around, request and answer".to_owned(), bars }
}

fn whole(task: &Task) -> Section {
    let bars = task.ways.iter().map(|way| {
        let shaped = if way.shaped { ", shaped" } else { "" };
        Bar::new(format!("{}{shaped}", way.surface.as_str()), way.total, Some(way.surface)).note(said(way))
    });
    let title = match &task.search {
        Some(words) => format!("Task '{}': connect, search \"{words}\", look, call, answer", task.name),
        None => format!("Task '{}': connect, look, call, answer", task.name),
    };
    Section { title: clean(&title), bars: bars.collect() }
}

/// What is not plain about a way.
fn said(way: &Way) -> String {
    let mut notes = Vec::new();
    if way.found == Some(false) {
        notes.push("not found by its words".to_owned());
    }
    let why = way.why.as_deref().unwrap_or_default();
    match way.outcome {
        Outcome::Answered => {}
        Outcome::Refused => notes.push(format!("refused: {why}")),
        Outcome::NotCalled => notes.push(format!("not called: {why}")),
    }
    if !way.apart.is_empty() {
        notes.push(apart(&way.apart));
    }
    notes.join("; ")
}

fn answers(task: &Task) -> Section {
    let shape = |answer: &super::report::Answer| {
        let params = serde_json::Value::Object(answer.params.clone());
        let note = if answer.params.is_empty() { String::new() } else { params.to_string() };
        Bar::new(answer.shape.as_str(), answer.read, None).note(note)
    };
    // One shape says nothing that the task does not say.
    let bars = if task.answers.len() < 2 { Vec::new() } else { task.answers.iter().map(shape).collect() };
    Section { title: clean(&format!("The answer of '{}' alone", task.operation)), bars }
}

fn largest(title: &str, offenders: &[Offender], surface: Option<Kind>) -> Section {
    let bars = offenders.iter().take(LARGEST).map(|offender| {
        let parts = [
            ("description", offender.description.o200k_base),
            ("schema", offender.schema.o200k_base),
            ("of it unused definitions", offender.unused_definitions.o200k_base),
        ];
        let parts = parts.iter().filter(|(_, tokens)| *tokens > 0);
        let mut parts: Vec<String> = parts.map(|(name, tokens)| format!("{name} {}", thousands(*tokens))).collect();
        if !offender.apart.is_empty() {
            parts.push(apart(&offender.apart));
        }
        Bar::new(offender.name.as_str(), offender.tokens, surface).note(parts.join(", "))
    });
    Section { title: title.to_owned(), bars: bars.collect() }
}

fn remarks(report: &Report) -> Vec<String> {
    report.remarks.iter().map(|remark| clean(remark)).collect()
}

/// What is no text, in words; empty if there is nothing.
fn apart(apart: &Apart) -> String {
    let kinds = [
        (apart.images, "image", "images"),
        (apart.audio, "sound", "sounds"),
        (apart.blobs, "binary resource", "binary resources"),
        (apart.icons, "icon", "icons"),
    ];
    let there = kinds.iter().filter(|(count, ..)| *count > 0);
    let words: Vec<String> = there
        .map(|(count, one, many)| format!("{} {}", thousands(*count), if *count == 1 { one } else { many }))
        .collect();
    match words.as_slice() {
        [] => String::new(),
        words => format!("{} apart ({} bytes)", words.join(", "), thousands(apart.bytes)),
    }
}

/// Names come from outside: nothing of them may move a cursor or end a document.
fn clean(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// A number with commas between its thousands.
#[must_use]
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
