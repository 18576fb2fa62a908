//! `aquifer build`: writes an adapter file and its sidecar from a bundle or an OpenAPI description.

use std::path::{Path, PathBuf};

use anyhow::Context;
use aquifer_discovery::adapter;

use crate::CommandOutcome;
use crate::cli::BuildArgs;
use crate::config::target::{OPENAPI, is_http_url};
use crate::sources::{description, sidecar_of};
use crate::terminal;

use super::capture;
use super::table::count;
use crate::files::write;

pub(crate) async fn run(arguments: BuildArgs) -> anyhow::Result<CommandOutcome> {
    match described(&arguments.bundle)? {
        Some(target) => build_api(&target, &arguments).await,
        None => build_bundle(&arguments),
    }
}

/// The OpenAPI description that the argument names, if it names one.
fn described(argument: &Path) -> anyhow::Result<Option<String>> {
    let written = argument.to_string_lossy();
    if let Some(target) = written.strip_prefix(OPENAPI) {
        return Ok(Some(target.to_owned()));
    }
    if is_http_url(&written) {
        return Ok(Some(written.into_owned()));
    }
    let text = crate::files::read(argument).with_context(|| format!("cannot read {written}"))?;
    Ok(description::is_description(&text).then(|| written.into_owned()))
}

/// Builds the adapter of an HTTP API.
async fn build_api(target: &str, arguments: &BuildArgs) -> anyhow::Result<CommandOutcome> {
    anyhow::ensure!(arguments.overrides.is_none(), "--overrides is for bundles. Edit the adapter file instead");
    let output = arguments.output.as_deref();
    let name = output.filter(|output| is_adapter(output)).and_then(Path::file_stem).map(|stem| {
        let stem = stem.to_string_lossy();
        stem.strip_suffix("-adapter").unwrap_or(&stem).to_owned()
    });
    let built = description::build(target, name, arguments).await?;
    let (file, sidecar) = write_files(arguments, &built)?;
    note!("A generated adapter can only read. After you have reviewed it, serve it like this:");
    note!("  [[source]]\n  target = \"{}\"\n  openapi = \"{target}\"\n  trust = \"accepted\"", file.display());
    if !arguments.overlays.is_empty() {
        let overlays: Vec<String> =
            arguments.overlays.iter().map(|file| format!("{:?}", file.display().to_string())).collect();
        note!("  overlays = [{}]", overlays.join(", "));
    }
    terminal::print_exact(&format!("{}\n{}", file.display(), sidecar.display()))?;
    Ok(CommandOutcome::Done)
}

/// Builds the adapter of an MCP server.
fn build_bundle(arguments: &BuildArgs) -> anyhow::Result<CommandOutcome> {
    let is_for_apis = !arguments.overlays.is_empty() || !arguments.include.is_empty() || !arguments.exclude.is_empty();
    anyhow::ensure!(
        !is_for_apis,
        "--overlay, --include and --exclude are for OpenAPI descriptions, and this is a bundle"
    );
    anyhow::ensure!(arguments.base_url.is_none(), "--base-url is for OpenAPI descriptions, and this is a bundle");
    let mut bundle = capture::read(&arguments.bundle)?;
    if let Some(path) = &arguments.overrides {
        capture::overrides(path)?.apply(&mut bundle);
    }
    let built = adapter::build(&bundle)?;
    let (file, sidecar) = write_files(arguments, &built)?;
    for warning in &bundle.normalized_bundle.warnings {
        let tool = warning.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
        tracing::info!("{}{tool}: {}", warning.code, warning.message);
    }
    let left = bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review).count();
    if left > 0 {
        note!(
            "{} to review, treated as destructive until then. Run: aquifer review {}",
            count(left, "operation"),
            arguments.bundle.display()
        );
    }
    note!(
        "A generated adapter can only read. After you have reviewed it, add this to its source, beside adapter = \"{}\":",
        file.display()
    );
    note!("  trust = \"accepted\"");
    terminal::print_exact(&format!("{}\n{}", file.display(), sidecar.display()))?;
    Ok(CommandOutcome::Done)
}

/// Writes an adapter and its sidecar, and returns their paths.
fn write_files(arguments: &BuildArgs, built: &adapter::AdapterFiles) -> anyhow::Result<(PathBuf, PathBuf)> {
    if let Some(output) = arguments.output.as_deref().filter(|output| !is_adapter(output) && !output.is_dir()) {
        anyhow::ensure!(
            !output.exists(),
            "{} is not a directory. Name a directory, or a file that ends in .md: a sidecar is written beside the adapter",
            output.display()
        );
    }
    let (file, sidecar) = output_paths(arguments.output.as_deref(), built);
    // Both files are written, or neither: an adapter beside another adapter's sidecar would call operations that do not
    // exist.
    if !arguments.force {
        for (path, text) in [(&file, &built.adapter), (&sidecar, &built.sidecar)] {
            let is_other = write::is_other(path, text);
            anyhow::ensure!(!is_other, "{} already exists. Overwrite it with --force", path.display());
        }
    }
    write::file(&sidecar, &built.sidecar, true)?;
    write::file(&file, &built.adapter, true)?;
    Ok((file, sidecar))
}

fn is_adapter(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// The paths of the adapter and its sidecar. In a directory, both get their default names.
fn output_paths(output: Option<&Path>, built: &adapter::AdapterFiles) -> (PathBuf, PathBuf) {
    match output {
        Some(file) if is_adapter(file) => (file.to_owned(), sidecar_of(file)),
        folder => {
            let folder = folder.unwrap_or(Path::new(""));
            (folder.join(built.file_name()), folder.join(built.sidecar_name()))
        }
    }
}
