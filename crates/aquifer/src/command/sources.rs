//! Reports the origin of each source's catalog to operators.

use std::fmt::Write as _;

use aquifer_engine::source::SourceStatus;
use serde_json::{Value, json};

use crate::sources::{OpenSource, ago};

/// The origin and age of each source's catalog, and notes about it.
pub(super) fn to_json(opened: &[OpenSource]) -> Vec<Value> {
    let statuses = opened.iter().map(|one| {
        let SourceStatus { state, catalog_age, quarantined, left_out, notes, setting_problems } = one.source.status();
        let notes = [notes, setting_problems].concat();
        json!({
            "name": one.source.name(), "status": state.as_str(), "quarantined": quarantined, "left_out": left_out,
            "catalog_age_seconds": catalog_age.map(|age| age.as_secs()), "notes": notes,
        })
    });
    statuses.collect()
}

/// The same as text, for MCP servers only.
pub(super) fn to_text(opened: &[OpenSource]) -> String {
    let mut out = String::new();
    for opened_source in opened.iter().filter(|opened_source| opened_source.upstream.is_some()) {
        let SourceStatus { state, catalog_age, quarantined, notes, .. } = opened_source.source.status();
        let age = catalog_age.map(|age| format!(", listed {}", ago(age))).unwrap_or_default();
        let _ = write!(out, "\n{}: {}{age}", opened_source.source.name(), state.as_str());
        if quarantined > 0 {
            let _ = write!(out, ", {quarantined} quarantined (see aquifer review)");
        }
        for note in notes {
            let _ = write!(out, "\n  {note}");
        }
    }
    if out.is_empty() { out } else { out + "\n" }
}
