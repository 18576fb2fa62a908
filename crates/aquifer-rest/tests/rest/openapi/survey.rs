//! Finds and reads third-party descriptions. The programs that measure use it, too.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aquifer_rest::Api;
use aquifer_rest::openapi::{self, DescriptionError, ReadOptions};

/// The maximum depth at which folders are searched.
const MAX_DEPTH: usize = 12;

/// A description, and how long it took to read it.
pub(crate) struct Description {
    pub(crate) bytes: usize,
    pub(crate) parsing: Duration,
    pub(crate) reading: Duration,
    pub(crate) api: Api,
}

/// Finds files that may be descriptions. A single file may be given instead of a folder.
pub(crate) fn collect(path: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let is_text = path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known));
    if path.is_file() && is_text {
        files.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|_| depth < MAX_DEPTH).for_each(|entry| collect(&entry.path(), files, depth + 1));
}

/// Reads a description. `None` if the file is something else.
pub(crate) fn read_file(file: &Path) -> Option<Result<Description, DescriptionError>> {
    let text = std::fs::read_to_string(file).ok()?;
    if !text.contains("openapi") && !text.contains("swagger") {
        return None;
    }
    let begin = Instant::now();
    let value = openapi::parse(&text).ok()?;
    let parsing = begin.elapsed();
    let is_description =
        ["openapi", "swagger"].iter().any(|key| value.get(key).is_some()) && value.get("paths").is_some();
    if !is_description {
        return None;
    }
    let begin = Instant::now();
    let options = ReadOptions {
        source: "sample".to_owned(),
        url: Some("https://example.com/api.json".to_owned()),
        ..ReadOptions::default()
    };
    let api = openapi::read(&value, &options);
    Some(api.map(|api| Description { bytes: text.len(), parsing, reading: begin.elapsed(), api }))
}

/// A reason without the names in it.
pub(crate) fn kind_of(reason: &str) -> String {
    let parts: Vec<&str> = reason.split('\'').collect();
    parts.iter().enumerate().map(|(index, part)| if index % 2 == 0 { *part } else { "…" }).collect()
}
