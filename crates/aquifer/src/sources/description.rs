//! Adapter files from OpenAPI descriptions.

use std::path::Path;

use anyhow::Context;
use aquifer_discovery::adapter::AdapterFiles;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{beyond_front_matter, build_adapter};

use super::rest;
use crate::config::SourceConfig;
use crate::config::target::is_http_url;

/// Whether a text is a description.
pub(crate) fn is_description(text: &str) -> bool {
    let may_be = text.contains("openapi") || text.contains("swagger");
    may_be && openapi::parse(text).is_ok_and(|document| openapi::check_version(&document).is_ok())
}

/// Builds an adapter from a description, a file or a URL. `name` is its name, if not that of the description.
pub(crate) async fn build(target: &str, name: Option<String>, base_url: Option<&str>) -> anyhow::Result<AdapterFiles> {
    let source = SourceConfig { openapi: Some(target.to_owned()), ..SourceConfig::default() };
    let name = name.or_else(|| rest::default_name(&source));
    let is_url = is_http_url(target);
    let description = if is_url {
        rest::fetch(target, name.as_deref().unwrap_or("api"), None).await?
    } else {
        let text = crate::files::read(Path::new(target)).with_context(|| format!("cannot read {target}"))?;
        openapi::parse(&text).with_context(|| format!("{target} cannot be used"))?
    };
    let loader: openapi::Loader<'_> = &|reference| rest::load_beside(Path::new(target), reference);
    let options = ReadOptions {
        source: name.unwrap_or_else(|| rest::titled_name(&description)),
        url: is_url.then(|| target.to_owned()),
        loader: (!is_url).then_some(loader),
        ..ReadOptions::default()
    };
    let (files, api) =
        build_adapter(&description, &options, base_url).with_context(|| format!("{target} cannot be used"))?;
    for note in &api.notes {
        tracing::info!("{note}");
    }
    if let Some(first) = api.omitted.first() {
        let (count, route, reason) = (api.omitted.len(), &first.route, &first.reason);
        eprintln!("Operations of the description that cannot be served: {count}. The first is {route}: {reason}");
    }
    for line in beyond_front_matter(&api) {
        eprintln!("{line}");
    }
    Ok(files)
}
