//! What the configuration says about the results of MCP servers: how large a page is, what is held for later pages and how
//! long, and where the rows of an operation are.

use std::time::Duration;

use aquifer_engine::shape::{Controls, Settings};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::limits::OutOfRange;
use serde::Deserialize;

const KIB: usize = 1_024;
const MIB: usize = 1_024 * KIB;

/// `[results]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultsConfig {
    largest_page: Option<usize>,
    page_bytes: Option<usize>,
    text_bytes: Option<usize>,
    largest_held: Option<usize>,
    held_bytes: Option<usize>,
    held_seconds: Option<usize>,
}

impl ResultsConfig {
    /// As the engine wants it, everything else at its default.
    pub(crate) fn settings(&self) -> Settings {
        let default = Settings::default();
        let held_bytes = self.held_bytes.unwrap_or(default.held_bytes);
        Settings {
            largest_page: self.largest_page.unwrap_or(default.largest_page),
            page_bytes: self.page_bytes.unwrap_or(default.page_bytes),
            text_bytes: self.text_bytes.unwrap_or(default.text_bytes),
            largest_held: self.largest_held.unwrap_or(default.largest_held).min(held_bytes),
            held_bytes,
            keep: self.held_seconds.map_or(default.keep, |seconds| Duration::from_secs(seconds as u64)),
            ..default
        }
    }

    /// Everything outside of its range.
    pub(crate) fn check(&self) -> Vec<OutOfRange> {
        let all = [
            ("largest_page", self.largest_page, 1, 1_000),
            ("page_bytes", self.page_bytes, KIB, 10 * MIB),
            ("text_bytes", self.text_bytes, KIB, 10 * MIB),
            ("largest_held", self.largest_held, 0, 1_024 * MIB),
            ("held_bytes", self.held_bytes, 0, 16 * 1_024 * MIB),
            ("held_seconds", self.held_seconds, 1, 24 * 60 * 60),
        ];
        let wrong = all.into_iter().filter_map(|(name, value, min, max)| {
            let value = value.filter(|value| !(min..=max).contains(value))?;
            Some(OutOfRange { name, value, min, max })
        });
        wrong.collect()
    }
}

/// `[source.operations.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperationConfig {
    /// Where the rows are inside its results.
    pub(crate) rows: Option<String>,
    pub(crate) controls: Option<ControlsConfig>,
    /// How much harm it can do: the operator's word, which beats all evidence.
    pub(crate) danger: Option<Danger>,
}

impl OperationConfig {
    /// Why the path to its rows makes no sense, if it makes none.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let path = self.rows.as_deref()?;
        let (to, inside) = path.split_once("[].").unwrap_or((path, "x"));
        let is_way = |way: &str| way.split('.').all(|step| !step.is_empty() && !step.contains(['[', ']']));
        let makes_sense = (to == "$" || is_way(to.strip_prefix("$.").unwrap_or(to))) && is_way(inside);
        (!makes_sense).then_some("'rows' is a path such as items, data.items, edges[].node, or $ for the result itself")
    }
}

/// How many parameters an operation gets for shaping its results.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControlsConfig {
    None,
    Few,
    All,
}

impl From<ControlsConfig> for Controls {
    fn from(said: ControlsConfig) -> Self {
        match said {
            ControlsConfig::None => Controls::None,
            ControlsConfig::Few => Controls::Few,
            ControlsConfig::All => Controls::All,
        }
    }
}
