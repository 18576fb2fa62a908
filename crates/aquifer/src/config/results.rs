//! The `[results]` section: the default budget, page sizes, and limits of held results. Also the path of an operation's
//! rows.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::shape::{Controls, Settings};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::Effect;
use aquifer_protocol::limits::LimitOutOfRange;
use aquifer_protocol::operation::SafetyOverride;
use aquifer_query::budget::{MAX_BUDGET, MIN_BUDGET};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

const KIB: usize = 1_024;
const MIB: usize = 1_024 * KIB;

/// `[results]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultsConfig {
    max_page_size: Option<usize>,
    max_page_bytes: Option<usize>,
    max_text_bytes: Option<usize>,
    max_result_bytes: Option<usize>,
    max_held_bytes: Option<usize>,
    held_ttl_seconds: Option<usize>,
    max_tokens: Option<usize>,
}

impl ResultsConfig {
    /// Converts this section to settings of the engine. Missing keys get their defaults.
    pub(crate) fn settings(&self) -> Settings {
        let default = Settings::default();
        let held_bytes = self.max_held_bytes.unwrap_or(default.max_held_bytes);
        Settings {
            max_page_size: self.max_page_size.unwrap_or(default.max_page_size),
            max_page_bytes: self.max_page_bytes.unwrap_or(default.max_page_bytes),
            max_text_bytes: self.max_text_bytes.unwrap_or(default.max_text_bytes),
            max_result_bytes: self.max_result_bytes.unwrap_or(default.max_result_bytes).min(held_bytes),
            max_held_bytes: held_bytes,
            ttl: self.held_ttl_seconds.map_or(default.ttl, |seconds| Duration::from_secs(seconds as u64)),
            max_tokens: self.max_tokens.filter(|max_tokens| *max_tokens > 0),
            ..default
        }
    }

    /// The values that are out of range.
    pub(crate) fn check(&self) -> Vec<LimitOutOfRange> {
        let all = [
            ("max_page_size", self.max_page_size, 1, 1_000),
            ("max_page_bytes", self.max_page_bytes, KIB, 10 * MIB),
            ("max_text_bytes", self.max_text_bytes, KIB, 10 * MIB),
            ("max_result_bytes", self.max_result_bytes, 0, 1_024 * MIB),
            ("max_held_bytes", self.max_held_bytes, 0, 16 * 1_024 * MIB),
            ("held_ttl_seconds", self.held_ttl_seconds, 1, 24 * 60 * 60),
            // 0 sets no budget.
            ("max_tokens", self.max_tokens.filter(|max_tokens| *max_tokens > 0), MIN_BUDGET, MAX_BUDGET),
        ];
        let wrong = all.into_iter().filter_map(|(name, value, min, max)| {
            let value = value.filter(|value| !(min..=max).contains(value))?;
            Some(LimitOutOfRange { name, value, min, max })
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
    /// The danger level set by the operator, which overrides all evidence.
    pub(crate) danger: Option<Danger>,
    /// Everything that it does, which overrides all evidence.
    #[serde(default, deserialize_with = "effects")]
    pub(crate) effects: Option<Vec<Effect>>,
    /// The parameters that say where it goes.
    pub(crate) destinations: Option<Vec<Arc<str>>>,
    /// How an HTTP API returns its list page by page.
    pub(crate) pagination: Option<PaginationConfig>,
}

/// How an HTTP API returns a list page by page. The names are those of adapter files.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "rest"), allow(dead_code))]
pub(crate) struct PaginationConfig {
    /// The style. Default: what is detected in the description.
    pub(crate) style: Option<PaginationStyle>,
    /// The parameter for the offset, the number or the cursor, in the query or in the body.
    pub(crate) param_name: Option<String>,
    /// The parameter for the size of a page.
    pub(crate) per_page_param: Option<String>,
    /// The path of the next cursor in an answer. An index of -1 is the last row.
    pub(crate) next_cursor: Option<String>,
    /// The number of the first page.
    pub(crate) first_page: Option<u64>,
    /// The largest page that the API allows.
    pub(crate) max_limit: Option<u64>,
    /// The maximum number of pages that one call fetches.
    pub(crate) max_pages: Option<usize>,
}

/// The styles of pagination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaginationStyle {
    /// A number of items to skip.
    Offset,
    /// A page number.
    Page,
    /// A cursor from the answer before.
    Cursor,
    /// A `Link` header.
    LinkHeader,
    /// The API returns whole lists.
    None,
}

/// Reads names of effects.
fn effects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Effect>>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let effect = |name: String| {
        Effect::from_name(&name).ok_or_else(|| {
            let known = Effect::ALL.map(Effect::as_str).join(", ");
            D::Error::custom(format!("unknown effect '{name}', expected one of {known}"))
        })
    };
    names.into_iter().map(effect).collect::<Result<_, _>>().map(Some)
}

impl OperationConfig {
    /// What it says about the safety of the operation, if anything.
    pub(crate) fn safety(&self) -> Option<SafetyOverride> {
        let Self { danger, effects, destinations, .. } = self.clone();
        let said = SafetyOverride { danger, effects, destinations };
        (said != SafetyOverride::default()).then_some(said)
    }

    /// The error in the path to its rows or in its pagination, if any.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if let Some(pagination) = &self.pagination
            && pagination.style == Some(PaginationStyle::Cursor)
            && pagination.next_cursor.as_deref().is_none_or(str::is_empty)
        {
            return Some("'pagination' with the style 'cursor' needs 'next_cursor', such as meta.next or data.-1.id");
        }
        let path = self.rows.as_deref()?;
        let (to, inside) = path.split_once("[].").unwrap_or((path, "x"));
        let is_path = |path: &str| path.split('.').all(|step| !step.is_empty() && !step.contains(['[', ']']));
        let makes_sense = (to == "$" || is_path(to.strip_prefix("$.").unwrap_or(to))) && is_path(inside);
        (!makes_sense)
            .then_some("'rows' must be a path such as items, data.items or edges[].node, or $ for the result itself")
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
    fn from(config: ControlsConfig) -> Self {
        match config {
            ControlsConfig::None => Controls::None,
            ControlsConfig::Few => Controls::Few,
            ControlsConfig::All => Controls::All,
        }
    }
}
