//! `aquifer review`: what needs a person's judgement, and what was decided.
//!
//! Decisions hold for the definition that was reviewed: each carries its digest, and lapses when the tool says
//! something else.

mod ask;
mod decide;
mod drift;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use aquifer_discovery::bundle::NormalizedOperation;
use aquifer_discovery::name::kebab;
use aquifer_discovery::text::presentable;
use aquifer_discovery::{Bundle, Overrides};

use super::table::columns;
use super::{call, capture, write};
use crate::Ending;
use crate::cli::ReviewArgs;

pub(crate) async fn run(arguments: ReviewArgs) -> anyhow::Result<Ending> {
    let source = arguments.source.as_deref();
    if let Some(file) = source.filter(|source| source.ends_with(".md")) {
        return drift::run(Path::new(file), &arguments).await;
    }
    let fresh = match source.map(Path::new).filter(|path| is_bundle(path)) {
        Some(path) => capture::read(path)?,
        None => {
            let settings = capture::server(source, arguments.name.as_deref(), &arguments.upstream)?;
            capture::capture(&settings).await?
        }
    };
    let file = place(&arguments, &fresh);
    let mut overrides = match arguments.overrides.as_deref().or(Some(file.as_path()).filter(|file| file.exists())) {
        Some(known) => capture::overrides(known)?,
        None => Overrides::default(),
    };
    let before = overrides.clone();
    let is_said = !arguments.accepted.is_empty()
        || arguments.accept_all
        || !arguments.endpoints.is_empty()
        || !arguments.dangers.is_empty();
    decide::said(&arguments, &applied(&fresh, &overrides), &mut overrides)?;
    if !is_said && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        ask::each(&applied(&fresh, &overrides), &mut overrides)?;
    }
    let reviewed = applied(&fresh, &overrides);
    call::print(table(&reviewed, arguments.all).trim_end())?;
    if overrides != before {
        write::file(&file, &overrides.write(), true)?;
        eprintln!("Decisions are in {}", file.display());
    }
    let left = reviewed.normalized_bundle.operations.iter().any(|made| made.needs_review);
    Ok(if left { Ending::Failure } else { Ending::Done })
}

fn is_bundle(path: &Path) -> bool {
    crate::files::read(path).is_ok_and(|text| text.contains("\"raw_capture\""))
}

fn applied(bundle: &Bundle, overrides: &Overrides) -> Bundle {
    let mut bundle = bundle.clone();
    overrides.apply(&mut bundle);
    bundle
}

fn place(arguments: &ReviewArgs, bundle: &Bundle) -> PathBuf {
    let chosen = arguments.output.clone().or_else(|| arguments.overrides.clone());
    chosen.unwrap_or_else(|| format!("{}.overrides.yaml", kebab(&bundle.source.name)).into())
}

fn table(bundle: &Bundle, all: bool) -> String {
    let operations = &bundle.normalized_bundle.operations;
    let shown: Vec<&NormalizedOperation> = operations.iter().filter(|made| all || made.needs_review).collect();
    let rows: Vec<[String; 5]> = shown
        .iter()
        .map(|made| {
            let reasons =
                if made.needs_review { presentable(&made.review_reasons.join("; ")) } else { "settled".to_owned() };
            [
                presentable(&made.source_tool_name).replace(['\n', '\t'], " "),
                made.endpoint.as_str().to_owned(),
                made.endpoint_confidence.as_str().to_owned(),
                made.danger_level.as_str().to_owned(),
                reasons,
            ]
        })
        .collect();
    let left = operations.iter().filter(|made| made.needs_review).count();
    let mut out =
        if rows.is_empty() { String::new() } else { columns(&["TOOL", "CATEGORY", "SURE", "DANGER", "WHY"], &rows) };
    out.push_str(&format!("{left} of {} need review\n", operations.len()));
    out
}
