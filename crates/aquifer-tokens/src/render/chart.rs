//! A report as bars, before anybody draws them: text and SVG show the same.

use crate::count::Counts;
use crate::offender::Offender;
use crate::report::{Kind, Outcome, Report, Task, Way};
use crate::seen::Apart;

/// As many of the largest are shown; the report has more.
const MAX_BYTES: usize = 5;

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
    /// What this one and those after it belong to, where that begins.
    pub group: Option<String>,
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
        Self { group: None, label: clean(&label.into()), tokens, note: String::new(), surface }
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
        let own = !report.largest_tools.is_empty();
        let mut sections = vec![
            connect(report),
            ready(report),
            around(report),
            whole(report),
            answers(report),
            largest("Largest tools of its own", &report.largest_tools, Some(Kind::Direct)),
            largest("Largest operations, one look each", if own { &[] } else { &report.largest_operations }, None),
        ];
        sections.retain(|section| !section.bars.is_empty());
        let title = clean(&format!("What a model pays for '{}', in tokens", report.subject));
        let remarks = report.remarks.iter().map(|remark| clean(remark)).collect();
        Self { title, lead: lead(report), sections, remarks }
    }
}

fn lead(report: &Report) -> Vec<String> {
    let direct = report.surfaces.iter().find(|surface| surface.surface == Kind::Direct);
    let from = direct.map(|direct| direct.connect.o200k_base);
    let mut said: Vec<String> = Vec::new();
    said.extend(direct.map(|direct| format!("{} with its own {}", tokens(direct.connect), tools(direct.tools))));
    for ours in report.surfaces.iter().filter(|surface| surface.surface != Kind::Direct) {
        let less = from.map(|from| less(from, ours.connect.o200k_base)).unwrap_or_default();
        said.push(format!("{} as '{}'{less}", tokens(ours.connect), ours.surface.as_str()));
    }
    if said.is_empty() {
        return Vec::new();
    }
    let operations = report.introspection.as_ref().map_or(0, |introspection| introspection.operations);
    let behind = match (direct, operations) {
        (Some(_), _) | (None, 0) => String::new(),
        (None, count) => format!(", for {} operations", thousands(count)),
    };
    let mut lead = vec![format!("At connect: {}{behind}.", said.join(", "))];
    // What was answered as it comes, with the source's own tools and where it was introspected.
    let introspected = report.introspection.as_ref().map(|introspection| introspection.surface);
    let whole = |task: &Task, surface: Kind| {
        let mut ways = task.ways.iter().filter(|way| way.outcome == Outcome::Answered && !way.shaped);
        ways.find(|way| way.surface == surface).map(|way| way.total)
    };
    let pair = |task: &Task| Some((whole(task, Kind::Direct)?, whole(task, introspected?)?));
    let pairs: Vec<(Counts, Counts)> = report.tasks.iter().filter_map(pair).collect();
    let middle = |side: fn(&(Counts, Counts)) -> Counts| Counts::median(&pairs.iter().map(side).collect::<Vec<_>>());
    let mode = introspected.map_or("", Kind::as_str);
    if !pairs.is_empty() {
        let (from, to) = (middle(|pair| pair.0), middle(|pair| pair.1));
        let less = less(from.o200k_base, to.o200k_base);
        let tasks = if pairs.len() == 1 { "the task".to_owned() } else { format!("median of {} tasks", pairs.len()) };
        lead.push(format!(
            "From connect to the answer ({tasks}): {} with its own tools, {} as '{mode}'{less}.",
            tokens(from),
            tokens(to)
        ));
    } else if let (Some(from), Some(to)) = (from, ready_with_ours(report)) {
        let less = less(from, to.o200k_base);
        lead.push(format!(
            "Until a call can be made: {} with its own tools, {} as '{mode}'{less}.",
            thousands(from),
            tokens(to)
        ));
    }
    lead
}

fn tokens(counts: Counts) -> String {
    thousands(counts.o200k_base)
}

/// The difference in words, where there is one worth telling.
fn less(from: usize, to: usize) -> String {
    if from == 0 {
        return String::new();
    }
    let percent = 100.0 * (from as f64 - to as f64) / from as f64;
    if percent >= 0.0 { format!(" ({percent:.0}% less)") } else { format!(" ({:.0}% more)", -percent) }
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

/// What is paid until a call can be made with our tools: shown, searched, looked at.
fn ready_with_ours(report: &Report) -> Option<Counts> {
    let introspection = report.introspection.as_ref()?;
    let surface = report.surfaces.iter().find(|surface| surface.surface == introspection.surface)?;
    Some(surface.connect + introspection.search.as_ref()?.median + introspection.detail.as_ref()?.median)
}

fn ready(report: &Report) -> Section {
    let direct = report.surfaces.iter().find(|surface| surface.surface == Kind::Direct);
    let mut bars = Vec::new();
    // With nothing to compare it with, it is a sum that everybody can see below.
    if let (Some(direct), Some(ours), Some(introspection)) = (direct, ready_with_ours(report), &report.introspection) {
        let surface = introspection.surface;
        bars.push(Bar::new(Kind::Direct.as_str(), direct.connect, Some(Kind::Direct)));
        bars.push(Bar::new(surface.as_str(), ours, Some(surface)).note("connect, one search, one look"));
    }
    Section { title: "Until a call can be made, typical".to_owned(), bars }
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

fn whole(report: &Report) -> Section {
    let mut bars = Vec::new();
    for task in &report.tasks {
        // A shaped answer saves the same on every surface of ours: one of them is enough to see it.
        let last = task.ways.iter().map(|way| way.surface).max();
        let shown = |way: &&Way| !way.shaped || Some(way.surface) == last;
        for (index, way) in task.ways.iter().filter(shown).enumerate() {
            let label =
                if way.shaped { format!("{}, shaped", way.surface.as_str()) } else { way.surface.as_str().to_owned() };
            let mut bar = Bar::new(format!("  {label}"), way.total, Some(way.surface)).note(said(way));
            bar.group = (index == 0).then(|| clean(&heading(task)));
            bars.push(bar);
        }
    }
    Section { title: "Whole tasks: connect, search, look, call, answer".to_owned(), bars }
}

fn heading(task: &Task) -> String {
    match &task.search {
        Some(words) if task.name != task.operation => {
            format!("{}: search \"{words}\", call {}", task.name, task.operation)
        }
        _ if task.name == task.operation => task.name.clone(),
        _ => format!("{}: call {}", task.name, task.operation),
    }
}

/// What is not plain about a way.
fn said(way: &Way) -> String {
    let mut notes = Vec::new();
    if way.found == Some(false) && way.outcome != Outcome::NotCalled {
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

fn answers(report: &Report) -> Section {
    let mut bars = Vec::new();
    for task in &report.tasks {
        let Some((plain, shapes)) = task.answers.split_first() else { continue };
        let shapes: Vec<String> =
            shapes.iter().map(|shape| format!("{} {}", shape.shape, tokens(shape.read))).collect();
        if !shapes.is_empty() {
            bars.push(Bar::new(task.operation.as_str(), plain.read, None).note(shapes.join(", ")));
        }
    }
    Section { title: "Answers as they come, and shaped".to_owned(), bars }
}

fn largest(title: &str, offenders: &[Offender], surface: Option<Kind>) -> Section {
    let bars = offenders.iter().take(MAX_BYTES).map(|offender| {
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
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
