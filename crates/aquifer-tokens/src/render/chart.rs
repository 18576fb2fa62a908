//! The chart of a report, independent of the output format: text and SVG show the same content.

use crate::count::TokenCounts;
use crate::definition_cost::DefinitionCost;
use crate::model_view::NonText;
use crate::report::{Outcome, Report, SurfaceKind, Task, TaskRun};

/// Number of the largest definitions that are shown. The report has more.
const MAX_SHOWN: usize = 5;

/// A chart of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What was measured.
    pub title: String,
    /// The main results, in sentences.
    pub lead: Vec<String>,
    /// Groups of bars that share a scale.
    pub sections: Vec<Section>,
    /// Notes below the chart.
    pub remarks: Vec<String>,
}

/// Bars that share a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

impl Section {
    /// The tokens of the longest bar.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.bars.iter().map(|bar| bar.tokens.o200k_base).max().unwrap_or_default()
    }

    /// The length of a bar, scaled so that the longest has `width`.
    #[must_use]
    pub fn length(&self, bar: &Bar, width: f64) -> f64 {
        let (tokens, largest) = (bar.tokens.o200k_base as f64, self.largest().max(1) as f64);
        width * tokens / largest
    }
}

/// One bar. Its length shows the tokens of `o200k_base`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The heading of the group that starts with this bar.
    pub group: Option<String>,
    /// The label.
    pub label: String,
    /// The tokens it shows.
    pub tokens: TokenCounts,
    /// The note beside it.
    pub note: String,
    /// The tools it was measured with, which determine the colour.
    pub surface: Option<SurfaceKind>,
}

impl Bar {
    fn new(label: impl Into<String>, tokens: TokenCounts, surface: Option<SurfaceKind>) -> Self {
        Self { group: None, label: sanitize(&label.into()), tokens, note: String::new(), surface }
    }

    fn note(mut self, note: impl AsRef<str>) -> Self {
        self.note = sanitize(note.as_ref());
        self
    }
}

impl Chart {
    /// Builds the chart of a report.
    #[must_use]
    pub fn from_report(report: &Report) -> Self {
        let own = !report.largest_tools.is_empty();
        let mut sections = vec![
            connect_section(report),
            ready_section(report),
            introspection_section(report),
            task_section(report),
            answer_section(report),
            largest_section("Largest tools of the source", &report.largest_tools, Some(SurfaceKind::Direct)),
            largest_section("Largest operation details", if own { &[] } else { &report.largest_operations }, None),
        ];
        sections.retain(|section| !section.bars.is_empty());
        let title = sanitize(&format!("Token cost of '{}'", report.subject));
        let remarks = report.remarks.iter().map(|remark| sanitize(remark)).collect();
        Self { title, lead: lead_sentences(report), sections, remarks }
    }
}

fn lead_sentences(report: &Report) -> Vec<String> {
    let direct = report.surfaces.iter().find(|surface| surface.kind == SurfaceKind::Direct);
    let from = direct.map(|direct| direct.connect.o200k_base);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(direct.map(|direct| format!("{} with its own {}", tokens(direct.connect), tools(direct.tools))));
    for ours in report.surfaces.iter().filter(|surface| surface.kind != SurfaceKind::Direct) {
        let less = from.map(|from| less(from, ours.connect.o200k_base)).unwrap_or_default();
        parts.push(format!("{} as '{}'{less}", tokens(ours.connect), ours.kind.as_str()));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let operations = report.introspection.as_ref().map_or(0, |introspection| introspection.operations);
    let behind = match (direct, operations) {
        (Some(_), _) | (None, 0) => String::new(),
        (None, count) => format!(", for {} operations", format_thousands(count)),
    };
    let mut lead = vec![format!("At connect: {}{behind}.", parts.join(", "))];
    // Compare unshaped answers: the source's own tools against the introspected surface.
    let introspected = report.introspection.as_ref().map(|introspection| introspection.surface);
    let whole = |task: &Task, surface: SurfaceKind| {
        let mut runs = task.runs.iter().filter(|run| run.outcome == Outcome::Answered && !run.shaped);
        runs.find(|run| run.surface == surface).map(|run| run.total)
    };
    let pair = |task: &Task| Some((whole(task, SurfaceKind::Direct)?, whole(task, introspected?)?));
    let pairs: Vec<(TokenCounts, TokenCounts)> = report.tasks.iter().filter_map(pair).collect();
    let middle = |side: fn(&(TokenCounts, TokenCounts)) -> TokenCounts| {
        TokenCounts::median(&pairs.iter().map(side).collect::<Vec<_>>())
    };
    let mode = introspected.map_or("", SurfaceKind::as_str);
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
            "Until the first call: {} with its own tools, {} as '{mode}'{less}.",
            format_thousands(from),
            tokens(to)
        ));
    }
    lead
}

fn tokens(counts: TokenCounts) -> String {
    format_thousands(counts.o200k_base)
}

/// The difference as a percentage; empty if there is nothing to compare with.
fn less(from: usize, to: usize) -> String {
    if from == 0 {
        return String::new();
    }
    let percent = 100.0 * (from as f64 - to as f64) / from as f64;
    if percent >= 0.0 { format!(" ({percent:.0}% less)") } else { format!(" ({:.0}% more)", -percent) }
}

fn tools(count: usize) -> String {
    format!("{} {}", format_thousands(count), if count == 1 { "tool" } else { "tools" })
}

fn connect_section(report: &Report) -> Section {
    let mut bars = Vec::new();
    for surface in &report.surfaces {
        let label = format!("{} ({})", surface.kind.as_str(), tools(surface.tools));
        bars.push(Bar::new(label, surface.connect, Some(surface.kind)).note(describe_non_text(&surface.non_text)));
        if let Some(instructions) = surface.instructions {
            bars.push(Bar::new("  its instructions", instructions, Some(surface.kind)));
        }
    }
    Section { title: "At connect".to_owned(), bars }
}

/// The typical cost until the first call through MCP-AQL: connect, one search, one detail.
fn ready_with_ours(report: &Report) -> Option<TokenCounts> {
    let introspection = report.introspection.as_ref()?;
    let surface = report.surfaces.iter().find(|surface| surface.kind == introspection.surface)?;
    Some(surface.connect + introspection.search.as_ref()?.median + introspection.detail.as_ref()?.median)
}

fn ready_section(report: &Report) -> Section {
    let direct = report.surfaces.iter().find(|surface| surface.kind == SurfaceKind::Direct);
    let mut bars = Vec::new();
    // Without direct tools there is nothing to compare with, and the parts are shown below.
    if let (Some(direct), Some(ours), Some(introspection)) = (direct, ready_with_ours(report), &report.introspection) {
        let surface = introspection.surface;
        bars.push(Bar::new(SurfaceKind::Direct.as_str(), direct.connect, Some(SurfaceKind::Direct)));
        bars.push(Bar::new(surface.as_str(), ours, Some(surface)).note("connect, one search, one detail"));
    }
    Section { title: "Until the first call, typical".to_owned(), bars }
}

fn introspection_section(report: &Report) -> Section {
    let mut bars = Vec::new();
    if let Some(introspection) = &report.introspection {
        let surface = Some(introspection.surface);
        let list = &introspection.list;
        let operations = format_thousands(introspection.operations);
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
    Section { title: "Introspection, request and answer".to_owned(), bars }
}

fn task_section(report: &Report) -> Section {
    let mut bars = Vec::new();
    for task in &report.tasks {
        // Shaping saves the same on every surface, so it is shown for one of them.
        let last = task.runs.iter().map(|run| run.surface).max();
        let shown = |run: &&TaskRun| !run.shaped || Some(run.surface) == last;
        for (index, run) in task.runs.iter().filter(shown).enumerate() {
            let label =
                if run.shaped { format!("{}, shaped", run.surface.as_str()) } else { run.surface.as_str().to_owned() };
            let mut bar = Bar::new(format!("  {label}"), run.total, Some(run.surface)).note(run_notes(run));
            bar.group = (index == 0).then(|| sanitize(&heading(task)));
            bars.push(bar);
        }
    }
    Section { title: "Whole tasks: connect, search, detail, call, answer".to_owned(), bars }
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

/// Notes about a run.
fn run_notes(run: &TaskRun) -> String {
    let mut notes = Vec::new();
    if run.found == Some(false) && run.outcome != Outcome::NotCalled {
        notes.push("the search did not find it".to_owned());
    }
    let reason = run.reason.as_deref().unwrap_or_default();
    match run.outcome {
        Outcome::Answered => {}
        Outcome::Refused => notes.push(format!("refused: {reason}")),
        Outcome::NotCalled => notes.push(format!("not called: {reason}")),
    }
    if !run.non_text.is_empty() {
        notes.push(describe_non_text(&run.non_text));
    }
    notes.join("; ")
}

fn answer_section(report: &Report) -> Section {
    let mut bars = Vec::new();
    for task in &report.tasks {
        let Some((plain, shapes)) = task.answers.split_first() else { continue };
        let shapes: Vec<String> =
            shapes.iter().map(|shape| format!("{} {}", shape.shape, tokens(shape.read))).collect();
        if !shapes.is_empty() {
            bars.push(Bar::new(task.operation.as_str(), plain.read, None).note(shapes.join(", ")));
        }
    }
    Section { title: "Answers, unshaped and shaped".to_owned(), bars }
}

fn largest_section(title: &str, costs: &[DefinitionCost], surface: Option<SurfaceKind>) -> Section {
    let bars = costs.iter().take(MAX_SHOWN).map(|cost| {
        let parts = [
            ("description", cost.description.o200k_base),
            ("schema", cost.schema.o200k_base),
            ("unused definitions in it", cost.unused_definitions.o200k_base),
        ];
        let parts = parts.iter().filter(|(_, tokens)| *tokens > 0);
        let mut parts: Vec<String> =
            parts.map(|(name, tokens)| format!("{name} {}", format_thousands(*tokens))).collect();
        if !cost.non_text.is_empty() {
            parts.push(describe_non_text(&cost.non_text));
        }
        Bar::new(cost.name.as_str(), cost.tokens, surface).note(parts.join(", "))
    });
    Section { title: title.to_owned(), bars: bars.collect() }
}

/// Describes binary content; empty if there is none.
fn describe_non_text(non_text: &NonText) -> String {
    let kinds = [
        (non_text.images, "image", "images"),
        (non_text.audio, "sound", "sounds"),
        (non_text.blobs, "binary resource", "binary resources"),
        (non_text.icons, "icon", "icons"),
    ];
    let there = kinds.iter().filter(|(count, ..)| *count > 0);
    let words: Vec<String> = there
        .map(|(count, one, many)| format!("{} {}", format_thousands(*count), if *count == 1 { one } else { many }))
        .collect();
    match words.as_slice() {
        [] => String::new(),
        words => format!("plus {} ({} bytes)", words.join(", "), format_thousands(non_text.bytes)),
    }
}

/// Replaces characters that could control a terminal or break a document, because names come from other servers.
fn sanitize(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// Formats a number with thousands separators.
#[must_use]
pub fn format_thousands(number: usize) -> String {
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
