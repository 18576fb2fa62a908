//! HTTP APIs as sources: OpenAPI descriptions and adapter files. This is the only module that uses `aquifer-rest`;
//! builds without the feature `rest` use `no_rest.rs` instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use aquifer_discovery::adapter::{RateLimits, Target};
use aquifer_engine::Source;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::trust::Trust;
use aquifer_rest::client::BaseUrlOrigin;
use aquifer_rest::openapi::{self, DescriptionError, ReadOptions};
use aquifer_rest::{Api, RestSettings, RestSource, fetch_description};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::description_cache::DescriptionCache;
use super::fetched_api::FetchedApi;
use super::pagination::pagination;
use super::{InvalidSource, Kind, OnUnreachable, Origin, Plan, adapter_file, naming, source_label, store, trust};
use crate::config::target::is_http_url;
use crate::config::{SourceConfig, StateAccess, StateConfig, TrustSetting};
use crate::state::StateFiles;

/// The prefix of variables with credentials if only the description names the source: its title must not choose which
/// variables of the environment are sent to its servers.
const UNNAMED_PREFIX: &str = "OPENAPI";

/// The settings of an API that is not open yet.
pub(crate) struct Settings {
    name: String,
    api: PlannedApi,
    /// Overlays of the description, in order.
    overlays: Vec<Value>,
    /// The limits in its adapter file.
    rate_limits: Option<RateLimits>,
    /// The folder for descriptions that were fetched.
    cache: Option<PathBuf>,
    /// The label of the place that the operator chose instead of that of the description.
    chosen_place: Option<String>,
}

#[derive(Clone)]
enum PlannedApi {
    /// The API was read from a file.
    Read(Box<Api>),
    /// The description is fetched from this URL.
    At(String),
    /// The API was read from a reviewed file and is compared with the description at this URL.
    Reviewed(Box<Api>, String),
}

/// Whether an adapter file describes an HTTP API. False if the file cannot be read.
pub(super) fn is_rest_adapter(file: &str) -> bool {
    let adapter = adapter_file::read(Path::new(file));
    adapter.is_ok_and(|(adapter, _)| matches!(adapter.target, Target::Rest { .. }))
}

/// Plans an API from an OpenAPI description or an adapter file.
pub(super) fn plan(source: &SourceConfig, state_files: &StateFiles) -> Result<Plan, InvalidSource> {
    let name = source.name.clone().or_else(|| default_name(source));
    let planned = match &source.adapter {
        Some(file) => plan_adapter(source, file, state_files),
        None => plan_description(source, name.as_deref()),
    };
    let with_cache = |mut plan: Plan| {
        if let Kind::Rest(settings) = &mut plan.kind {
            settings.cache = state_files.descriptions();
        }
        plan
    };
    planned.map(with_cache).map_err(|why| InvalidSource { name: name.unwrap_or_else(|| "api".to_owned()), why })
}

fn plan_adapter(source: &SourceConfig, file: &Path, state_files: &StateFiles) -> Result<Plan, String> {
    let (adapter, mut files) = adapter_file::read(file)?;
    let name = source.name.clone().unwrap_or_else(|| adapter.name.clone());
    let recorded = state_files.recorded_trust(files.iter().map(String::as_str));
    let trust = trust::resolve(source.trust, Some(&adapter), recorded)?;
    let mut api =
        Api::from_adapter(&adapter, &name, is_settled(source, recorded, trust)).map_err(|error| error.to_string())?;
    let overlays = read_overlays(source, &mut files)?;
    let target = source.openapi.as_deref().map(|written| source.variables.expand(written)).transpose();
    let api = match target.map_err(|error| error.to_string())? {
        Some(url) if is_http_url(&url) => PlannedApi::Reviewed(Box::new(api), url),
        Some(file) => {
            let description = read_description(&file, &mut files)?;
            let loader = |reference: &str| load_beside(Path::new(&file), reference);
            compare(&mut api, description, &overlays, None, Some(&loader))?;
            PlannedApi::Read(Box::new(api))
        }
        None => PlannedApi::Read(Box::new(api)),
    };
    let settings = Settings {
        name: name.clone(),
        api,
        overlays,
        rate_limits: Some(adapter.rate_limits),
        cache: None,
        chosen_place: chosen_place(source),
    };
    Ok(finish(source, name, trust, settings, files))
}

/// Quarantines the operations of a reviewed file whose definitions changed in the description (R-DIS-7a).
fn compare(
    api: &mut Api,
    mut description: Value,
    overlays: &[Value],
    url: Option<String>,
    loader: Option<openapi::Loader<'_>>,
) -> Result<(), String> {
    apply_overlays(&mut description, overlays)?;
    openapi::check_version(&description).map_err(|error| error.to_string())?;
    let options = ReadOptions { url, loader, ..ReadOptions::default() };
    api.compare_definitions(&openapi::digests(&description, &options));
    Ok(())
}

fn apply_overlays(description: &mut Value, overlays: &[Value]) -> Result<(), String> {
    for overlay in overlays {
        openapi::overlay::apply(description, overlay).map_err(|error| format!("its overlay: {error}"))?;
    }
    Ok(())
}

fn read_overlays(source: &SourceConfig, files: &mut Vec<String>) -> Result<Vec<Value>, String> {
    let read = |file: &PathBuf| read_description(&file.to_string_lossy(), files);
    source.overlays.iter().map(read).collect()
}

fn read_description(file: &str, files: &mut Vec<String>) -> Result<Value, String> {
    let text = read_file(Path::new(file))?;
    let description = parse(Path::new(file), &text)?;
    files.push(text);
    Ok(description)
}

/// Whether the operator, and not only the file itself, trusts the file.
fn is_settled(source: &SourceConfig, recorded: Option<Trust>, trust: Trust) -> bool {
    let level = match source.trust {
        Some(TrustSetting::Level(level)) => Some(level),
        Some(TrustSetting::File) => None,
        None => recorded.map(|level| level.min(trust)),
    };
    level.is_some_and(|level| level >= Trust::Accepted)
}

fn plan_description(source: &SourceConfig, name: Option<&str>) -> Result<Plan, String> {
    let written = source.openapi.as_deref().unwrap_or_default();
    let target = source.variables.expand(written).map_err(|error| error.to_string())?;
    let trust = trust::resolve(source.trust, None, None)?;
    let mut files = Vec::new();
    let overlays = read_overlays(source, &mut files)?;
    let (name, api) = if is_http_url(&target) {
        (name.unwrap_or("api").to_owned(), PlannedApi::At(target))
    } else {
        let description = read_description(&target, &mut files)?;
        let loader = |reference: &str| load_beside(Path::new(&target), reference);
        let variable_prefix = name.is_none().then(|| UNNAMED_PREFIX.to_owned());
        let name = name.map_or_else(|| titled_name(&description), str::to_owned);
        let options = ReadOptions { variable_prefix, loader: Some(&loader), ..read_options(source, &name) };
        let api = read(description, &overlays, &options)?;
        (name, PlannedApi::Read(Box::new(api)))
    };
    let settings = Settings {
        name: name.clone(),
        api,
        overlays,
        rate_limits: None,
        cache: None,
        chosen_place: chosen_place(source),
    };
    Ok(finish(source, name, trust, settings, files))
}

fn finish(source: &SourceConfig, name: String, trust: Trust, settings: Settings, files: Vec<String>) -> Plan {
    let origin = Origin { config: source.clone(), server: None, files };
    let (prefix, state) = (source.prefix.clone(), StateConfig::default());
    Plan { name, prefix, hidden: Vec::new(), trust, origin, kind: Kind::Rest(Box::new(settings)), state }
}

/// The operator's options for reading a description.
fn read_options(source: &SourceConfig, name: &str) -> ReadOptions<'static> {
    ReadOptions {
        source: name.to_owned(),
        include: source.include.clone(),
        exclude: source.exclude.clone(),
        server_variables: source.server_variables.clone(),
        ..ReadOptions::default()
    }
}

/// Reads a description with its patches.
fn read(mut description: Value, overlays: &[Value], options: &ReadOptions<'_>) -> Result<Api, String> {
    apply_overlays(&mut description, overlays)?;
    let api = openapi::read(&description, options).map_err(|error| error.to_string())?;
    if api.operations.is_empty() {
        return Err("it describes no operation that can be served".to_owned());
    }
    Ok(api)
}

/// A document that a description refers to, from a file in the same folder or below. Nothing is fetched.
pub(super) fn load_beside(description: &Path, reference: &str) -> Option<Value> {
    let folder = description.parent()?.canonicalize().ok().or_else(|| std::env::current_dir().ok())?;
    let file = folder.join(reference).canonicalize().ok()?;
    let text = file.starts_with(&folder).then(|| crate::files::read(&file).ok()).flatten()?;
    openapi::parse(&text).ok()
}

/// Parses a file. Problems include their position.
fn parse(file: &Path, text: &str) -> Result<Value, String> {
    let shown = file.display();
    openapi::parse(text).map_err(|error| match error {
        DescriptionError::Syntax { format, line, column, message } => {
            format!("{shown}:{line}:{column}: invalid {format}: {message}")
        }
        error => format!("{shown}: {error}"),
    })
}

fn read_file(file: &Path) -> Result<String, String> {
    crate::files::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// The files that a source is read from.
pub(super) fn files(source: &SourceConfig) -> Vec<PathBuf> {
    let target = source.openapi.as_deref().and_then(|target| source.variables.expand(target).ok());
    let file = target.filter(|target| !is_http_url(target)).map(PathBuf::from);
    file.into_iter().chain(source.overlays.iter().cloned()).collect()
}

/// The default name of a source: that of its file or host, unless it is too generic.
pub(super) fn default_name(source: &SourceConfig) -> Option<String> {
    let target = source.openapi.as_deref().unwrap_or_default();
    if is_http_url(target) {
        return Some(naming::name_from_url(target));
    }
    let file = source.adapter.as_deref().unwrap_or(Path::new(target));
    let name = file.file_name()?.to_string_lossy().into_owned();
    let stem = [".json", ".yaml", ".yml", ".md"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let endings = ["-adapter", "-openapi", ".openapi", "-swagger", ".swagger"];
    let stem = endings.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem);
    let is_host = stem.rsplit_once('.').is_some_and(|(_, end)| end.chars().all(|c| c.is_ascii_alphabetic()));
    if is_host {
        return Some(naming::name_from_url(&format!("https://{stem}")));
    }
    let is_version = stem.trim_start_matches('v').chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_telling = !is_version && !["openapi", "swagger", "api", "index", "spec", "schema"].contains(&stem);
    is_telling.then(|| stem.to_owned())
}

/// Derives a name from the title of a description: `petstore` from `Swagger Petstore - OpenAPI 3.0`.
pub(super) fn titled_name(description: &Value) -> String {
    const GENERIC_WORDS: &[&str] = &[
        "api", "apis", "rest", "http", "open", "openapi", "swagger", "web", "public", "the", "of", "for", "and",
        "service", "spec",
    ];
    let title = description.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let words = snake_identifier(title);
    let telling = words.split('_').filter(|word| {
        let is_version = word.trim_start_matches('v').chars().all(|c| c.is_ascii_digit());
        !is_version && !GENERIC_WORDS.contains(word)
    });
    let name = telling.take(2).collect::<Vec<_>>().join("-");
    if name.is_empty() { "api".to_owned() } else { name.chars().take(32).collect() }
}

/// Gives an API the name of its source.
pub(super) fn rename(settings: &mut Settings, name: &str) {
    name.clone_into(&mut settings.name);
}

/// The label of the place that `base_url` names, to which everything is sent.
fn chosen_place(source: &SourceConfig) -> Option<String> {
    let written = source.base_url.as_deref()?;
    let expanded = source.variables.expand(written).unwrap_or_else(|_| written.to_owned());
    Some(source_label::chosen_url(written, &expanded))
}

/// A label for the API, without secrets.
pub(super) fn label(settings: &Settings) -> String {
    if let Some(place) = &settings.chosen_place {
        return place.clone();
    }
    match &settings.api {
        PlannedApi::Read(api) | PlannedApi::Reviewed(api, _) => {
            format!("{} #{}", api.base_url, source_label::hash_digits([api.base_url.as_str()]))
        }
        PlannedApi::At(url) => {
            let shown = url.split(['?', '#']).next().unwrap_or_default();
            format!("openapi:{shown} #{}", source_label::hash_digits([url.as_str()]))
        }
    }
}

/// The limits that its adapter file declares.
pub(crate) fn rate_limits(settings: &Settings) -> Option<&RateLimits> {
    settings.rate_limits.as_ref()
}

/// Fetches a description.
pub(super) async fn fetch(url: &str, name: &str, timeout_seconds: Option<u64>) -> anyhow::Result<Value> {
    let text = fetch_description(url, Duration::from_secs(timeout_seconds.unwrap_or(30).max(1)))
        .await
        .map_err(|error| anyhow::anyhow!(error.into_failure(name).message().to_owned()))
        .with_context(|| format!("the description of '{name}' cannot be fetched"))?;
    openapi::parse(&text).map_err(|error| anyhow::anyhow!("the description of '{name}' cannot be read: {error}"))
}

/// What happens if a description cannot be fetched or used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFetchError {
    /// The last description with which it succeeded is used, with a warning.
    UseLast,
    /// Nothing: what is served stays.
    Fail,
}

/// Everything that is needed to open an API, now and when its description is fetched again.
struct Recipe {
    name: String,
    api: PlannedApi,
    overlays: Vec<Value>,
    rate_limits: Option<RateLimits>,
    /// The folder for descriptions that were fetched, if it may be written.
    cache: Option<PathBuf>,
    access: StateAccess,
    source: SourceConfig,
}

/// Opens an API. Only a remote description is fetched; the API itself is not called.
pub(super) async fn open(
    settings: Settings,
    source: &SourceConfig,
    state: &StateConfig,
    on_unreachable: OnUnreachable,
) -> anyhow::Result<Arc<dyn Source>> {
    let Settings { name, api, overlays, rate_limits, cache, chosen_place: _ } = settings;
    let cache = cache.filter(|folder| store::may_write(folder, on_unreachable));
    let is_fetched = !matches!(api, PlannedApi::Read(_));
    let recipe = Recipe { name, api, overlays, rate_limits, cache, access: state.access, source: source.clone() };
    let served = recipe.open(OnFetchError::UseLast).await?;
    if !is_fetched {
        return Ok(Arc::new(served));
    }
    let recipe = Arc::new(recipe);
    let reopen = move || -> BoxFuture<'static, anyhow::Result<RestSource>> {
        let recipe = recipe.clone();
        async move { recipe.open(OnFetchError::Fail).await }.boxed()
    };
    Ok(Arc::new(FetchedApi::new(served, reopen)))
}

impl Recipe {
    /// Fetches a description and uses it.
    async fn fetch<T>(
        &self,
        url: &str,
        on_error: OnFetchError,
        mut use_it: impl FnMut(Value) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        let name = &self.name;
        let cache = self.cache.as_ref().map(|folder| DescriptionCache::new(folder, url, self.access));
        let unusable = |why: String| anyhow::anyhow!("source '{name}' cannot be served: {why}");
        let fetched = match fetch(url, name, self.source.start_timeout_seconds).await {
            Ok(description) => use_it(description.clone()).map(|used| (used, description)).map_err(unusable),
            Err(error) => Err(error),
        };
        match (fetched, cache) {
            (Ok((used, description)), cache) => {
                cache.inspect(|cache| cache.store(&description));
                Ok(used)
            }
            (Err(error), cache) => {
                let cache = cache.filter(|_| on_error == OnFetchError::UseLast);
                let Some(used) = cache.and_then(|cache| cache.load()).and_then(|known| use_it(known).ok()) else {
                    return Err(error);
                };
                tracing::warn!(source = name, "{error:#}. The last description that was fetched is used instead");
                Ok(used)
            }
        }
    }

    async fn read_api(&self, on_error: OnFetchError) -> anyhow::Result<Api> {
        match &self.api {
            PlannedApi::Read(api) => Ok((**api).clone()),
            PlannedApi::At(url) => {
                let use_it = |description| {
                    let options = ReadOptions { url: Some(url.clone()), ..read_options(&self.source, &self.name) };
                    read(description, &self.overlays, &options)
                };
                self.fetch(url, on_error, use_it).await
            }
            PlannedApi::Reviewed(reviewed, url) => {
                let use_it = |description| {
                    let mut api = (**reviewed).clone();
                    compare(&mut api, description, &self.overlays, Some(url.clone()), None).map(|()| api)
                };
                self.fetch(url, on_error, use_it).await
            }
        }
    }

    async fn open(&self, on_error: OnFetchError) -> anyhow::Result<RestSource> {
        let (name, source) = (&self.name, &self.source);
        let api = self.read_api(on_error).await?;
        report(name, &api);
        let rest = rest_settings(name, api, source, source.adapter.is_some(), self.rate_limits.clone())?;
        let base_url = rest.client.base_url.clone();
        let is_described = rest.client.base_url_origin == BaseUrlOrigin::Description;
        let served = RestSource::new(rest, |variable| source.variables.get(variable).filter(|value| !value.is_empty()));
        let served = served.map_err(|error| {
            let why = error.into_failure(name);
            let remedy = match is_described {
                true => {
                    let http =
                        if base_url.starts_with("http://") { ". Plain http works only on this machine" } else { "" };
                    format!(
                        ". Its description names {base_url}: if that is right, say so with base_url or --base-url{http}"
                    )
                }
                false => String::new(),
            };
            anyhow::anyhow!("source '{name}' cannot be served: {}{remedy}", why.message())
        })?;
        let used = served.used_variables();
        if !used.is_empty() {
            tracing::info!(source = name, "credentials from {} are sent to {base_url}", used.join(", "));
        }
        for variable in served.missing_variables() {
            tracing::warn!(source = name, "set the environment variable {variable}, which holds its credential");
        }
        Ok(served)
    }
}

/// Reports what is not served.
fn report(name: &str, api: &Api) {
    let quarantined = api.operations.iter().filter(|operation| operation.safety.quarantine.is_some()).count();
    if quarantined > 0 {
        tracing::warn!(source = name, "{quarantined} operations changed since they were reviewed, and are quarantined");
    }
    for note in &api.notes {
        tracing::debug!(source = name, "{note}");
    }
    if let Some(first) = api.omitted.first() {
        let (count, route, reason) = (api.omitted.len(), &first.route, &first.reason);
        tracing::warn!(
            source = name,
            "{} of the description {} not served. The first is {route}: {reason}",
            if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") },
            if count == 1 { "is" } else { "are" },
        );
    }
}

/// Refuses to send the operator's client secret to a host that only a description names.
fn check_token_urls(name: &str, api: &Api, source: &SourceConfig) -> anyhow::Result<()> {
    let is_set = |variable: &&str| source.variables.get(variable).is_some_and(|value| !value.is_empty());
    for scheme in &api.auth {
        let Some(token_url) = scheme.token_url() else { continue };
        let is_elsewhere = url_origin(token_url) != url_origin(&api.base_url);
        if is_elsewhere && scheme.variables().iter().all(is_set) {
            anyhow::bail!(
                "source '{name}' cannot be served: its description sends your client credentials to {token_url}, which \
                 is not the host of the API. If that is right, set token_url = \"{token_url}\""
            );
        }
    }
    Ok(())
}

/// The scheme, host and port of a URL, in lower case.
fn url_origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").filter(|_| is_http_url(url))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(format!("{scheme}://{authority}").to_ascii_lowercase())
}

fn rest_settings(
    name: &str,
    mut api: Api,
    source: &SourceConfig,
    is_file: bool,
    rate_limits: Option<RateLimits>,
) -> anyhow::Result<RestSettings> {
    let is_chosen = source.base_url.is_some();
    let mut secrets = Vec::new();
    if let Some(base_url) = &source.base_url {
        api.base_url = source.variables.expand(base_url)?.trim_end_matches('/').to_owned();
        // A path may hold a key.
        secrets = source.variables.values_in(base_url);
        api.use_one_server();
    }
    if api.base_url.is_empty() {
        anyhow::bail!("source '{name}' cannot be served: its description has no absolute server URL. Set base_url");
    }
    if let Some(variable) = &source.bearer_env {
        api.use_bearer(variable);
    }
    if let Some(token_url) = &source.token_url {
        api.use_token_url(&source.variables.expand(token_url)?);
    } else if !is_file {
        check_token_urls(name, &api, source)?;
    }
    let mut headers = Vec::new();
    for (header, value) in &source.headers {
        headers.push((header.clone(), source.variables.expand(value)?));
    }
    let others: Vec<String> =
        api.routes.values().filter_map(|route| route.base_url.as_deref()).map(str::to_owned).collect();
    // A base URL counts as chosen by the operator if it is in an adapter file, in the configuration, or on the origin that
    // the description is fetched from. One that only a fetched description names does not.
    let is_fetched_there =
        source.openapi.as_deref().and_then(url_origin).is_some_and(|origin| Some(origin) == url_origin(&api.base_url));
    let is_chosen = is_file || is_chosen || is_fetched_there;
    let mut settings = RestSettings::new(name, api);
    settings.client.headers = headers;
    settings.client.secrets = secrets;
    settings.client.base_url_origin = if is_chosen { BaseUrlOrigin::Operator } else { BaseUrlOrigin::Description };
    settings.client.other_base_urls = others;
    settings.client.other_base_urls.sort_unstable();
    settings.client.other_base_urls.dedup();
    settings.call_headers.clone_from(&source.call_headers);
    settings.idempotency_header.clone_from(&source.idempotency_header);
    settings.file_roots.clone_from(&source.file_roots);
    settings.client.allow_private_addresses = source.allow_private_addresses;
    if let Some(seconds) = source.timeout_seconds {
        settings.client.timeout = Duration::from_secs(seconds.max(1));
    }
    if let Some(bytes) = source.max_answer_bytes {
        settings.client.max_answer_bytes = bytes.max(1_024);
    }
    let concurrent = source.max_concurrent_calls.or_else(|| rate_limits.and_then(|limits| limits.max_concurrent));
    settings.client.max_concurrent = concurrent.unwrap_or(settings.client.max_concurrent).clamp(1, 10_000);
    settings.controls = source.controls.map_or(settings.controls, Into::into);
    for (name, overrides) in &source.operations {
        let operation = snake_identifier(name);
        settings.rows.extend(overrides.rows.clone().map(|rows| (operation.clone(), rows)));
        if let Some(configured) = &overrides.pagination {
            settings.paginations.extend(pagination(configured).map(|pagination| (operation.clone(), pagination)));
            settings.max_pages.extend(configured.max_pages.map(|pages| (operation.clone(), pages.max(1))));
        }
        settings.safety_overrides.extend(overrides.safety().map(|said| (operation.clone(), said)));
        settings.operation_controls.extend(overrides.controls.map(|controls| (operation, controls.into())));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sources_are_named_after_what_says_most() {
        let named =
            |target: &str| default_name(&SourceConfig { openapi: Some(target.to_owned()), ..Default::default() });
        for (target, name) in [
            ("petstore.yaml", Some("petstore")),
            ("specs/petstore.openapi.json", Some("petstore")),
            ("api.github.com.json", Some("github")),
            ("https://api.example.com/openapi.json", Some("example")),
            ("dist/3.1.json", None),
            ("v2.yaml", None),
            ("openapi.yaml", None),
        ] {
            assert_eq!(named(target).as_deref(), name, "{target}");
        }
        let titled = |title: &str| titled_name(&json!({ "info": { "title": title } }));
        assert_eq!(titled("Swagger Petstore - OpenAPI 3.0"), "petstore");
        assert_eq!(titled("Scalar Galaxy"), "scalar-galaxy");
        assert_eq!(titled(""), "api");
    }
}
