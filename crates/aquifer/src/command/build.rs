//! `aquifer build`: writes an adapter file and its sidecar from a bundle.

use std::path::{Path, PathBuf};

use aquifer_discovery::adapter;

use crate::Ending;
use crate::cli::BuildArgs;
use crate::sources::sidecar_of;

use super::table::count;
use super::{call, capture, write};

pub(crate) fn run(arguments: BuildArgs) -> anyhow::Result<Ending> {
    let mut bundle = capture::read(&arguments.bundle)?;
    if let Some(path) = &arguments.overrides {
        capture::overrides(path)?.apply(&mut bundle);
    }
    let built = adapter::build(&bundle)?;
    if let Some(output) = arguments.output.as_deref().filter(|output| !is_adapter(output) && !output.is_dir()) {
        anyhow::ensure!(
            !output.exists(),
            "{} is not a directory. Name a directory, or a file that ends in .md: a sidecar is written beside the adapter",
            output.display()
        );
    }
    let (file, sidecar) = places(arguments.output.as_deref(), &built);
    // Both or none: an adapter beside the sidecar of another would call things that are not there.
    if !arguments.force {
        for (path, text) in [(&file, &built.adapter), (&sidecar, &built.sidecar)] {
            let is_other = write::is_other(path, text);
            anyhow::ensure!(!is_other, "{} already exists. Overwrite it with --force", path.display());
        }
    }
    write::file(&sidecar, &built.sidecar, true)?;
    write::file(&file, &built.adapter, true)?;
    for warning in &bundle.normalized_bundle.warnings {
        let tool = warning.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
        tracing::info!("{}{tool}: {}", warning.code, warning.message);
    }
    let left = bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review).count();
    if left > 0 {
        eprintln!(
            "{} to review, treated as destructive until then. Run: aquifer review {}",
            count(left, "operation"),
            arguments.bundle.display()
        );
    }
    eprintln!(
        "A generated adapter can only read. After you have reviewed it, add this to its source, beside adapter = \"{}\":",
        file.display()
    );
    eprintln!("  trust = \"validated\"");
    call::print(&format!("{}\n{}", file.display(), sidecar.display()))?;
    Ok(Ending::Done)
}

fn is_adapter(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// The paths of the adapter and its sidecar. In a directory, both get their default names.
fn places(output: Option<&Path>, built: &adapter::AdapterFiles) -> (PathBuf, PathBuf) {
    match output {
        Some(file) if is_adapter(file) => (file.to_owned(), sidecar_of(file)),
        folder => {
            let folder = folder.unwrap_or(Path::new(""));
            (folder.join(built.file_name()), folder.join(built.sidecar_name()))
        }
    }
}
