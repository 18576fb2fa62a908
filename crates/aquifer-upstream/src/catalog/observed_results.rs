//! What results of tools looked like, for tools whose definitions do not say where rows are (R-DIS-8a).
//!
//! Controls follow from it at once, for all callers, because their texts are ours. A path consists of names in the result
//! of one caller, so it is used to locate rows and shown to nobody. It is stored beside the cached catalog, so that the
//! next process offers the controls from the beginning.

use std::collections::BTreeMap;
use std::path::PathBuf;

use aquifer_engine::shape::ResultShape;
use aquifer_protocol::operation::RowPlace;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::capture::run_blocking;
use crate::settings::Settings;
use crate::state_file::{identity_path, read_bounded, write_atomically};

const FORMAT_VERSION: u32 = 2;

const FILE_EXTENSION: &str = "results.json";

/// Further tools are not recorded.
const MAX_TOOLS: usize = 4_000;

/// Longer paths are not recorded. They come from the server.
const MAX_PATH_LEN: usize = 256;

#[derive(Serialize, Deserialize)]
struct ObservedFile {
    version: u32,
    tools: BTreeMap<String, ObservedResult>,
}

/// What a result of a tool looked like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ObservedResult {
    /// The path of its rows, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<String>,
    /// Whether the list of rows is a part of an object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_part: bool,
}

/// The observed results of one upstream.
#[derive(Default)]
pub(crate) struct ObservedResults {
    /// `None` if nothing is stored.
    file: Option<PathBuf>,
    tools: Mutex<BTreeMap<String, ObservedResult>>,
}

impl ObservedResults {
    /// Reads what earlier processes observed. An unreadable file is ignored and replaced later.
    pub(crate) fn open(settings: &Settings) -> Self {
        let path = identity_path(settings, FILE_EXTENSION);
        let stored = path.as_ref().and_then(|path| read_bounded(path));
        let stored = stored.and_then(|text| serde_json::from_str::<ObservedFile>(&text).ok());
        let tools = stored.filter(|file| file.version == FORMAT_VERSION).map(|file| file.tools).unwrap_or_default();
        let file = path.filter(|_| settings.writes_cache());
        Self { file, tools: Mutex::new(tools) }
    }

    fn tools(&self) -> MutexGuard<'_, BTreeMap<String, ObservedResult>> {
        self.tools.lock()
    }

    /// What results of a tool looked like.
    pub(crate) fn shape(&self, tool: &str) -> Option<ResultShape> {
        self.tools().get(tool).map(|observed| match &observed.rows {
            Some(path) if observed.is_part => ResultShape::Rows(RowPlace::part(path)),
            Some(path) => ResultShape::Rows(RowPlace::known(path)),
            None => ResultShape::Structured,
        })
    }

    /// Records what a result of a tool looked like. Rows are never replaced by a result without: a search may find
    /// nothing. Waits until it is stored, because a command that makes one call would otherwise exit earlier. Returns
    /// whether it is news.
    pub(crate) fn record(&self, tool: &str, shape: &ResultShape) -> bool {
        let (rows, is_part) = match shape {
            ResultShape::Rows(RowPlace::Path { path, is_part, .. }) if path.len() <= MAX_PATH_LEN => {
                (Some(path.to_string()), *is_part)
            }
            ResultShape::Structured => (None, false),
            _ => return false,
        };
        let text = {
            let mut tools = self.tools();
            let known = tools.get(tool);
            let is_new = known.is_none_or(|known| rows.is_some() && known.rows != rows);
            if !is_new || (known.is_none() && tools.len() >= MAX_TOOLS) {
                return false;
            }
            tools.insert(tool.to_owned(), ObservedResult { rows, is_part });
            let file = ObservedFile { version: FORMAT_VERSION, tools: tools.clone() };
            serde_json::to_vec(&file)
        };
        let Some(path) = &self.file else { return true };
        if let Err(cause) = run_blocking(|| text.map_err(Into::into).and_then(|text| write_atomically(path, &text))) {
            tracing::debug!(%cause, "the observed results cannot be stored");
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::Transport;
    use crate::test_folder::TestFolder;

    fn settings(folder: &TestFolder) -> Settings {
        let transport = Transport::Http { url: "http://127.0.0.1:1/".to_owned(), headers: Vec::new(), bearer: None };
        let mut settings = Settings::new("things", transport);
        settings.cache_dir = Some(folder.0.clone());
        settings
    }

    #[test]
    fn r_dis_8a_rows_are_remembered_and_never_replaced_by_a_result_without() {
        let folder = TestFolder::new("observed");
        let settings = settings(&folder);
        let rows = |path: &str| ResultShape::Rows(RowPlace::known(path));
        let first = ObservedResults::open(&settings);
        for (tool, shape, is_news) in [
            ("list", rows("items"), true),
            ("get", ResultShape::Structured, true),
            ("list", ResultShape::Structured, false),
            ("order", ResultShape::Rows(RowPlace::part("items")), true),
            ("text", ResultShape::Unknown, false),
            ("long", rows(&"x".repeat(MAX_PATH_LEN + 1)), false),
        ] {
            assert_eq!(first.record(tool, &shape), is_news, "{tool}");
        }
        let later = ObservedResults::open(&settings);
        let seen = ["list", "get", "order", "text", "long"].map(|tool| later.shape(tool));
        let part = ResultShape::Rows(RowPlace::part("items"));
        assert_eq!(seen, [Some(rows("items")), Some(ResultShape::Structured), Some(part), None, None]);
        // A tool whose results have changed.
        later.record("list", &rows("data.items"));
        later.record("get", &rows("$"));
        // What is known about a list does not change with its envelope.
        later.record("list", &ResultShape::Rows(RowPlace::part("data.items")));
        assert_eq!(ObservedResults::open(&settings).shape("list"), Some(rows("data.items")));
        // A command that changes nothing does not write.
        let reading = Settings { is_cache_read_only: true, ..settings.clone() };
        ObservedResults::open(&reading).record("other", &rows("items"));
        assert_eq!(ObservedResults::open(&settings).shape("other"), None);
    }
}
