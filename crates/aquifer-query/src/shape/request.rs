//! The controls of one call: what the caller asks of the result.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use serde_json::{Map, Value};

use crate::collection::{Collection, PageLimits};
use crate::parse::{AggregateMode, ParsedQuery, QueryKind, parse_with};
use crate::plan::{Page, Path};

const PAGING_PARAMETERS: &[&str] = &["first", "after", "last", "before", "limit", "offset", "page", "page_size"];

/// The controls of one call, checked for conflicts.
#[derive(Debug, Clone, Default)]
pub struct ShapingRequest {
    controls: Map<String, Value>,
    collection: Option<Arc<Collection>>,
    max_tokens: Option<usize>,
    mode: AggregateMode,
}

/// A cursor from the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorParam<'a> {
    /// The name of the parameter.
    pub name: &'static str,
    /// The cursor.
    pub cursor: &'a str,
}

impl ShapingRequest {
    /// Checks everything about the controls that does not depend on the rows, before the source is called. `is_offered`
    /// tells which controls the operation has.
    pub fn new(controls: Map<String, Value>, is_offered: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let mode = if is_offered("include_items") { AggregateMode::WithItems } else { AggregateMode::Only };
        let request = Self { controls, mode, ..Self::default() };
        if request.has_only_after() && !request.controls.contains_key("aggregate") {
            // Only rows require 'first' with 'after', and whether there are rows is not known yet.
            let mut others = request.controls.clone();
            others.remove("after");
            parse_with(&open_collection(), QueryKind::Get, &others, mode, &|_, _| None)?;
        } else if !request.controls.is_empty() {
            parse_with(&open_collection(), QueryKind::Get, &request.controls, mode, &|_, _| Some(Vec::new()))?;
        }
        Ok(request)
    }

    /// Checks controls for rows of a known collection.
    pub fn for_collection(controls: Map<String, Value>, collection: Arc<Collection>) -> Result<Self, Failure> {
        parse_with(&*collection, QueryKind::List, &controls, AggregateMode::WithItems, &|_, _| Some(Vec::new()))?;
        Ok(Self { controls, collection: Some(collection), ..Self::default() })
    }

    /// Sets the token budget of the answer.
    #[must_use]
    pub fn within(self, max_tokens: Option<usize>) -> Self {
        Self { max_tokens, ..self }
    }

    /// The token budget of the answer.
    pub fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    /// The collection of the rows, if it is known in advance.
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_deref()
    }

    fn has_only_after(&self) -> bool {
        PAGING_PARAMETERS.iter().all(|name| self.controls.contains_key(*name) == (*name == "after"))
    }

    /// Whether there are no controls, so that the result is passed on unchanged.
    pub fn is_empty(&self) -> bool {
        self.controls.is_empty() && self.collection.is_none()
    }

    /// The controls.
    pub fn controls(&self) -> &Map<String, Value> {
        &self.controls
    }

    /// The cursor, if there is one.
    pub fn cursor(&self) -> Option<CursorParam<'_>> {
        let sent = |name: &'static str| Some(CursorParam { name, cursor: self.controls.get(name)?.as_str()? });
        sent("after").or_else(|| sent("before"))
    }

    /// The value of `first`.
    pub fn first(&self) -> Option<usize> {
        self.controls.get("first").and_then(Value::as_u64).and_then(|first| usize::try_from(first).ok())
    }

    /// How many rows a source that returns pages should return at once: as many as the page has, or as many as possible
    /// if rows are filtered, sorted or aggregated.
    pub fn rows_hint(&self) -> Option<usize> {
        let is_whole = ["filter", "sort", "order", "aggregate", "last", "offset", "page", "total"];
        if is_whole.iter().any(|name| self.controls.contains_key(*name)) {
            return None;
        }
        let size = |name: &str| self.controls.get(name).and_then(Value::as_u64);
        let size = size("first").or_else(|| size("limit")).or_else(|| size("page_size"))?;
        // A page of no rows says whether there are any.
        usize::try_from(size.max(1)).ok()
    }

    /// The fields of the rows that are needed, without what is inside them: those to return, to filter by and to sort by.
    /// `None` if all may be needed.
    pub fn fields_hint(&self) -> Option<Vec<String>> {
        const ONLY_THESE: [&str; 8] = ["fields", "filter", "sort", "order", "first", "after", "limit", "offset"];
        if !self.controls.keys().all(|name| ONLY_THESE.contains(&name.as_str())) {
            return None;
        }
        let mut needed = Vec::new();
        add_names(self.controls.get("fields")?, &mut needed)?;
        self.controls.get("sort").map_or(Some(()), |sort| add_names(sort, &mut needed))?;
        self.controls.get("filter").map_or(Some(()), |filter| add_filtered(filter, &mut needed, 0))?;
        Some(needed)
    }

    /// Whether this is a later page by offset or number.
    pub fn is_later_counted_page(&self) -> bool {
        let beyond =
            |name: &str, first: u64| self.controls.get(name).and_then(Value::as_u64).is_some_and(|at| at > first);
        beyond("offset", 0) || beyond("page", 1)
    }

    /// Whether the page is given by offset or number.
    pub fn is_counted_page(&self) -> bool {
        ["limit", "offset", "page", "page_size"].iter().any(|name| self.controls.contains_key(*name))
    }

    /// Whether a page is requested.
    pub(super) fn is_paged(&self) -> bool {
        PAGING_PARAMETERS.iter().any(|name| self.controls.contains_key(*name))
    }

    /// Whether rows are returned whole.
    pub(super) fn selects_whole_rows(&self) -> bool {
        let is_full = |name: &str| self.controls.get(name).is_none_or(|value| value == "full");
        is_full("fields") && is_full("preset")
    }

    /// The binding of the cursors of this call: everything that determines the rows and their order.
    pub fn cursor_binding(&self, owner: Option<&str>, operation: &str, own: &Map<String, Value>) -> Vec<u8> {
        let mut binding = Vec::with_capacity(128);
        // An empty owner differs from no owner.
        binding.extend_from_slice(owner.map_or("-", |_| "+").as_bytes());
        for text in [owner.unwrap_or_default(), operation] {
            binding.extend_from_slice(text.as_bytes());
            binding.push(0);
        }
        write_canonical_object(own, &mut binding);
        for name in ["filter", "sort", "order"] {
            binding.push(0);
            if let Some(value) = self.controls.get(name) {
                write_canonical(value, &mut binding);
            }
        }
        binding
    }

    /// Parses the controls for the rows. Cursors are opened elsewhere; here they are only present.
    pub(super) fn parse(&self, collection: &Collection, rows: usize) -> Result<ParsedQuery, Failure> {
        let family = if self.collection.is_some() { QueryKind::List } else { QueryKind::Get };
        let mut parsed = parse_with(collection, family, &self.controls, self.mode, &|_, _| Some(Vec::new()))?;
        if !self.is_paged() && self.collection.is_none() {
            // All rows; only the byte limit ends the page.
            parsed.plan.page = Page::Forward { size: rows, after: None };
            parsed.warnings.retain(|warning| warning.code() != "VALIDATION_PAGE_SIZE_CLAMPED");
        }
        Ok(parsed)
    }

    /// Parses `fields` and `preset` for one item, and returns the names of the other controls.
    pub(super) fn parse_fields(&self, collection: &Collection) -> Result<(Vec<Path>, Vec<&str>), Failure> {
        let is_field = |name: &str| ["fields", "preset"].contains(&name);
        let (fields, others): (Vec<_>, Vec<_>) = self.controls.iter().partition(|(name, _)| is_field(name));
        let fields = fields.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let parsed = parse_with(collection, QueryKind::Get, &fields, AggregateMode::WithItems, &|_, _| None)?;
        Ok((parsed.plan.select, others.into_iter().map(|(name, _)| name.as_str()).collect()))
    }
}

/// Adds the fields of a list such as `["id", "-user.login"]`. `None` if it is written in another way.
fn add_names(list: &Value, needed: &mut Vec<String>) -> Option<()> {
    match list {
        Value::Array(names) => names.iter().try_for_each(|name| add_name(name.as_str()?, needed)),
        Value::String(preset) if ["minimal", "standard", "full"].contains(&preset.as_str()) => None,
        Value::String(names) => names.split(',').try_for_each(|name| add_name(name, needed)),
        _ => None,
    }
}

fn add_name(path: &str, needed: &mut Vec<String>) -> Option<()> {
    let name = path.trim().trim_start_matches('-').split('.').next().unwrap_or_default();
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if is_plain && !needed.iter().any(|existing| existing == name) {
        needed.push(name.to_owned());
    }
    is_plain.then_some(())
}

/// Adds the fields that a filter compares.
fn add_filtered(filter: &Value, needed: &mut Vec<String>, depth: usize) -> Option<()> {
    const MAX_DEPTH: usize = 16;
    let conditions = filter.as_object().filter(|_| depth < MAX_DEPTH)?;
    conditions.iter().try_for_each(|(name, condition)| match (name.as_str(), condition) {
        ("and" | "or" | "not", Value::Array(all)) => {
            all.iter().try_for_each(|inner| add_filtered(inner, needed, depth + 1))
        }
        ("and" | "or" | "not", inner) => add_filtered(inner, needed, depth + 1),
        (name, _) => add_name(name, needed),
    })
}

fn open_collection() -> Collection {
    Collection {
        open: true,
        pages: PageLimits { default_size: 1, max_size: usize::MAX, max_bytes: usize::MAX },
        ..Collection::default()
    }
}

/// Writes JSON with sorted keys, so that the same value always gives the same bytes.
fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(object) => write_canonical_object(object, out),
        Value::Array(elements) => {
            out.push(b'[');
            for element in elements {
                write_canonical(element, out);
                out.push(b',');
            }
            out.push(b']');
        }
        // Writing a scalar to memory cannot fail.
        scalar => drop(serde_json::to_writer(out, scalar)),
    }
}

fn write_canonical_object(object: &Map<String, Value>, out: &mut Vec<u8>) {
    let mut names: Vec<&String> = object.keys().collect();
    names.sort_unstable();
    out.push(b'{');
    for name in names {
        drop(serde_json::to_writer(&mut *out, name));
        out.push(b':');
        if let Some(value) = object.get(name) {
            write_canonical(value, out);
        }
        out.push(b',');
    }
    out.push(b'}');
}
