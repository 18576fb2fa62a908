//! Builds adapter files from OpenAPI descriptions.

use std::path::Path;

use anyhow::Context;
use aquifer_discovery::adapter::AdapterFiles;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{beyond_front_matter, build_adapter};

use super::rest;
use crate::cli::BuildArgs;
use crate::config::SourceConfig;
use crate::config::target::is_http_url;

/// Whether a text is an OpenAPI description.
pub(crate) fn is_description(text: &str) -> bool {
    let may_be = text.contains("openapi") || text.contains("swagger");
    may_be && openapi::parse(text).is_ok_and(|document| openapi::check_version(&document).is_ok())
}

/// Builds an adapter from the file or URL of a description. `name` overrides the name of the description.
pub(crate) async fn build(target: &str, name: Option<String>, arguments: &BuildArgs) -> anyhow::Result<AdapterFiles> {
    let source = SourceConfig { openapi: Some(target.to_owned()), ..SourceConfig::default() };
    let name = name.or_else(|| rest::default_name(&source));
    let is_url = is_http_url(target);
    let mut description = if is_url {
        rest::fetch(target, name.as_deref().unwrap_or("api"), None).await?
    } else {
        let text = crate::files::read(Path::new(target)).with_context(|| format!("cannot read {target}"))?;
        openapi::parse(&text).with_context(|| format!("{target} cannot be used"))?
    };
    for file in &arguments.overlays {
        let shown = file.display();
        let text = crate::files::read(file).with_context(|| format!("cannot read {shown}"))?;
        let overlay = openapi::parse(&text).with_context(|| format!("{shown} cannot be used"))?;
        openapi::overlay::apply(&mut description, &overlay).with_context(|| format!("{shown} cannot be used"))?;
    }
    let loader: openapi::Loader<'_> = &|reference| rest::load_beside(Path::new(target), reference);
    let options = ReadOptions {
        source: name.unwrap_or_else(|| rest::titled_name(&description)),
        url: is_url.then(|| target.to_owned()),
        loader: (!is_url).then_some(loader),
        include: arguments.include.clone(),
        exclude: arguments.exclude.clone(),
        ..ReadOptions::default()
    };
    let (files, api) = build_adapter(&description, &options, arguments.base_url.as_deref())
        .with_context(|| format!("{target} cannot be used"))?;
    for note in &api.notes {
        tracing::info!("{note}");
    }
    if let Some(first) = api.omitted.first() {
        let (count, route, reason) = (api.omitted.len(), &first.route, &first.reason);
        note!("Operations of the description that cannot be served: {count}. The first is {route}: {reason}");
    }
    for line in beyond_front_matter(&api) {
        note!("{line}");
    }
    Ok(files)
}
