//! What a caller asked of a result: the controls of one call.

use std::sync::Arc;

use aquifer_protocol::canonical_json;
use aquifer_protocol::error::Failure;
use serde_json::{Map, Value};

use crate::collection::{Collection, Pages};
use crate::plan::{Page, Path};
use crate::read::{Family, Read, Sums, read_with};

const PAGING: &[&str] = &["first", "after", "last", "before", "limit", "offset", "page", "page_size"];

/// The controls of one call, known not to contradict each other.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    controls: Map<String, Value>,
    collection: Option<Arc<Collection>>,
}

/// A cursor a caller sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The name of the parameter.
    pub name: &'static str,
    /// The cursor.
    pub cursor: &'a str,
}

impl Asked {
    /// Takes controls that make sense, whatever the rows will be: everything that can be refused before the source is
    /// asked is refused here. `offers` says which controls the operation has.
    pub fn new(controls: Map<String, Value>, offers: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let asked = Self { controls, collection: None };
        let sums = if offers("include_items") { Sums::WithItems } else { Sums::Alone };
        if asked.goes_on_alone() && !asked.controls.contains_key("aggregate") {
            // Only rows need 'first' beside it, and whether there are rows is not known yet.
            let mut others = asked.controls.clone();
            others.remove("after");
            read_with(&anything(), Family::Get, &others, sums, &|_, _| None)?;
        } else if !asked.controls.is_empty() {
            read_with(&anything(), Family::Get, &asked.controls, sums, &|_, _| Some(Vec::new()))?;
        }
        Ok(asked)
    }

    /// The same of rows whose collection is known beforehand.
    pub fn of_collection(controls: Map<String, Value>, collection: Arc<Collection>) -> Result<Self, Failure> {
        read_with(&collection, Family::List, &controls, Sums::WithItems, &|_, _| Some(Vec::new()))?;
        Ok(Self { controls, collection: Some(collection) })
    }

    /// The collection that the rows are of, if it is known beforehand.
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_deref()
    }

    fn goes_on_alone(&self) -> bool {
        PAGING.iter().all(|name| self.controls.contains_key(*name) == (*name == "after"))
    }

    /// Whether nothing was asked: the result is to be passed on as it is.
    pub fn is_nothing(&self) -> bool {
        self.controls.is_empty() && self.collection.is_none()
    }

    /// The controls.
    pub fn controls(&self) -> &Map<String, Value> {
        &self.controls
    }

    /// The cursor, if there is one.
    pub fn cursor(&self) -> Option<Sent<'_>> {
        let sent = |name: &'static str| Some(Sent { name, cursor: self.controls.get(name)?.as_str()? });
        sent("after").or_else(|| sent("before"))
    }

    /// How many were asked for, of whatever the result is made of.
    pub fn first(&self) -> Option<usize> {
        self.controls.get("first").and_then(Value::as_u64).and_then(|first| usize::try_from(first).ok())
    }

    /// Whether it is a later page in a style without cursors.
    pub fn skips(&self) -> bool {
        let beyond =
            |name: &str, first: u64| self.controls.get(name).and_then(Value::as_u64).is_some_and(|at| at > first);
        beyond("offset", 0) || beyond("page", 1)
    }

    /// Whether it is in a style of paging without cursors.
    pub fn counts(&self) -> bool {
        ["limit", "offset", "page", "page_size"].iter().any(|name| self.controls.contains_key(*name))
    }

    /// Whether a page was asked for.
    pub(super) fn is_paged(&self) -> bool {
        PAGING.iter().any(|name| self.controls.contains_key(*name))
    }

    /// Whether rows are to be shown as they are.
    pub(super) fn wants_whole_rows(&self) -> bool {
        let is_full = |name: &str| self.controls.get(name).is_none_or(|value| value == "full");
        is_full("fields") && is_full("preset")
    }

    /// What a cursor of this call is bound to: whatever decides which rows there are and in which order.
    pub fn binding(&self, owner: Option<&str>, operation: &str, own: &Map<String, Value>) -> Vec<u8> {
        let mut binding = Vec::with_capacity(128);
        // An owner and nobody are never the same, whatever the owner is called.
        binding.extend_from_slice(owner.map_or("-", |_| "+").as_bytes());
        for text in [owner.unwrap_or_default(), operation] {
            binding.extend_from_slice(text.as_bytes());
            binding.push(0);
        }
        canonical_json::write_object(own, &mut binding);
        for name in ["filter", "sort", "order"] {
            binding.push(0);
            if let Some(value) = self.controls.get(name) {
                canonical_json::write(value, &mut binding);
            }
        }
        binding
    }

    /// The controls read against rows. Cursors were opened before: here they are only known to be there.
    pub(super) fn read(&self, collection: &Collection, rows: usize) -> Result<Read, Failure> {
        let family = if self.collection.is_some() { Family::List } else { Family::Get };
        let mut read = read_with(collection, family, &self.controls, Sums::WithItems, &|_, _| Some(Vec::new()))?;
        if !self.is_paged() && self.collection.is_none() {
            // As many as there are; their weight alone ends a page.
            read.plan.page = Page::Forward { size: rows, after: None };
            read.warnings.clear();
        }
        Ok(read)
    }

    /// `fields` and `preset` read against one item, and which other controls there are.
    pub(super) fn read_fields(&self, collection: &Collection) -> Result<(Vec<Path>, Vec<&str>), Failure> {
        let is_field = |name: &str| ["fields", "preset"].contains(&name);
        let (fields, others): (Vec<_>, Vec<_>) = self.controls.iter().partition(|(name, _)| is_field(name));
        let fields = fields.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let read = read_with(collection, Family::Get, &fields, Sums::WithItems, &|_, _| None)?;
        Ok((read.plan.select, others.into_iter().map(|(name, _)| name.as_str()).collect()))
    }
}

fn anything() -> Collection {
    Collection {
        open: true,
        pages: Pages { default: 1, largest: usize::MAX, bytes: usize::MAX },
        ..Collection::default()
    }
}
