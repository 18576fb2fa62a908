//! One description, read in a process of its own, so that its memory is known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

#[path = "../../../../crates/aquifer-rest/tests/rest/openapi/survey.rs"]
mod survey;

/// Files that may be descriptions, in their order.
pub(crate) fn find(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    survey::collect(folder, &mut files, 0);
    files.sort();
    files
}

/// What was read, how much processor time it took, and how much memory. Null if the file is no description.
pub(crate) fn read(file: &Path) -> anyhow::Result<Value> {
    let begin = processor_ms()?;
    let Some(read) = survey::read_file(file) else { return Ok(Value::Null) };
    let used = processor_ms()? - begin;
    let read = match read {
        Ok(read) => read,
        Err(error) => bail!("{error}"),
    };
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for one in &read.api.omitted {
        *reasons.entry(survey::kind_of(&one.reason)).or_default() += 1;
    }
    Ok(json!({
        "bytes": read.bytes,
        "operations": read.api.operations.len(),
        "omitted": read.api.omitted.len(),
        "reasons": reasons,
        "notes": read.api.notes,
        "processor_ms": used,
        "parse_ms": read.parsing.as_secs_f64() * 1e3,
        "read_ms": read.reading.as_secs_f64() * 1e3,
        "peak_kb": peak_kb()?,
    }))
}

/// Processor time of this thread so far, which a busy machine does not change.
fn processor_ms() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let used = text.split_whitespace().next().context("schedstat is empty")?;
    Ok(used.parse::<f64>()? / 1e6)
}

fn peak_kb() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    peak.trim().trim_end_matches("kB").trim().parse().context("VmHWM is not a number")
}
