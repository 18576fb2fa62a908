//! Builds an adapter file and its sidecar from a description (R-DIS-6). The same description always gives the same
//! bytes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::{AdapterFiles, ApiAdapter, ApiOperation, build_api};
use aquifer_discovery::bundle::BundleError;
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::record::ApiRecord;
use crate::api::{Api, AuthScheme, CredentialPlace};
use crate::openapi::{self, DescriptionError, ReadOptions};
use crate::route::{Pagination, Place, Route, Security};

/// Why no adapter can be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The description cannot be read.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// It has no operations.
    #[error("it describes no operation that can be served")]
    NoOperation,
    /// It has no base URL.
    #[error("its description has no absolute server URL. Name it with --base-url")]
    NoBaseUrl,
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] BundleError),
    /// The file would not be valid.
    #[error("the adapter would not be valid: {0}")]
    Invalid(String),
}

/// Builds an adapter from a description. `base_url` replaces that of the description. Also returns the API, which lists
/// what could not be included.
pub fn build_adapter(
    description: &Value,
    options: &ReadOptions<'_>,
    base_url: Option<&str>,
) -> Result<(AdapterFiles, Api), BuildError> {
    // Definitions are compared with those of the API as it describes itself.
    let digests = openapi::digests(description, options);
    let description = without_url_credentials(description.clone());
    let documents: RefCell<BTreeMap<String, Value>> = RefCell::default();
    let load_and_record = |name: &str| {
        let loaded = without_url_credentials(options.loader.and_then(|loader| loader(name))?);
        documents.borrow_mut().insert(name.to_owned(), loaded.clone());
        Some(loaded)
    };
    let options = ReadOptions { loader: Some(&load_and_record), ..options.clone() };
    let mut api = openapi::read(&description, &options)?;
    if let Some(base_url) = base_url {
        base_url.trim_end_matches('/').clone_into(&mut api.base_url);
    }
    if api.operations.is_empty() {
        return Err(BuildError::NoOperation);
    }
    if api.base_url.is_empty() {
        return Err(BuildError::NoBaseUrl);
    }
    let record = ApiRecord {
        source: options.source.clone(),
        url: options.url.as_deref().map(shareable_url),
        server_variables: options.server_variables.clone(),
        digests,
        description,
        documents: documents.borrow().clone(),
    };
    let name = aquifer_discovery::name::kebab(&options.source);
    let files = build_api(&ApiAdapter {
        name: &name,
        title: &api.title,
        base_url: &api.base_url,
        auth: written_auth(api.auth.first()),
        operations: operations(&api),
        types: &api.types,
        api: serde_json::to_value(record).map_err(|error| BuildError::Invalid(error.to_string()))?,
    })?;
    let reparsed = Adapter::read(&files.adapter, Some(&files.sidecar));
    let reparsed = reparsed.map_err(|problems| problems.first().map(ToString::to_string).unwrap_or_default());
    reparsed
        .and_then(|adapter| Api::from_adapter(&adapter, &name, false).map_err(|error| error.to_string()))
        .map_err(BuildError::Invalid)?;
    Ok((files, api))
}

/// Removes every part of a description's URL that may be a credential, because the file is meant to be shared.
fn shareable_url(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return url.split(['?', '#']).next().unwrap_or_default().to_owned() };
    url.set_query(None);
    url.set_fragment(None);
    // These fail for URLs that cannot have a user or a password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// The keys of a description whose values are URLs, or the host of one.
const URL_KEYS: &[&str] = &["url", "host", "tokenUrl", "authorizationUrl", "refreshUrl"];

/// A document without user names and passwords in URLs: the file is meant to be shared, and they are not sent anyway.
fn without_url_credentials(mut document: Value) -> Value {
    let mut places = vec![&mut document];
    while let Some(place) = places.pop() {
        match place {
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    match member {
                        Value::String(text) if URL_KEYS.contains(&name.as_str()) => remove_user(text),
                        member => places.push(member),
                    }
                }
            }
            Value::Array(elements) => places.extend(elements),
            _ => {}
        }
    }
    document
}

/// Removes the user name and password from a URL or a host.
fn remove_user(url: &mut String) {
    let start = url.find("//").map_or(0, |start| start + 2);
    let authority = url.get(start..).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some(end) = authority.rfind('@') {
        url.replace_range(start..=start + end, "");
    }
}

/// Lists what the front matter of a built file cannot express about an API. Only the sidecar contains it.
pub fn beyond_front_matter(api: &Api) -> Vec<String> {
    let is_expressible = |security: &Security| match security {
        Security::Any => true,
        Security::OneOf(alternatives) if api.auth.is_empty() => alternatives.iter().all(Vec::is_empty),
        Security::OneOf(alternatives) => **alternatives == [vec![0]],
    };
    let routes = api.operations.iter().filter_map(|operation| api.routes.get(&operation.name));
    let count = routes.filter(|route| !is_expressible(&route.security)).count();
    let operations = if count == 1 { "operation" } else { "operations" };
    let credentials = (count > 0).then(|| {
        format!(
            "The file states one way to authenticate. {count} {operations} with other credentials, with several, or with \
             none are described by the sidecar only."
        )
    });
    let is_omitted = |route: &&std::sync::Arc<Route>| {
        route.pagination.as_ref().is_some_and(|pagination| written_pagination(pagination).is_none())
    };
    let count =
        api.operations.iter().filter_map(|operation| api.routes.get(&operation.name)).filter(is_omitted).count();
    let operations = if count == 1 { "operation pages" } else { "operations page" };
    let pages = (count > 0).then(|| {
        format!(
            "{count} {operations} by cursors or links, for which the file has no fields. That is described by the sidecar \
             only."
        )
    });
    credentials.into_iter().chain(pages).collect()
}

fn operations(api: &Api) -> Vec<ApiOperation<'_>> {
    let mapped = api.operations.iter().filter_map(|operation| {
        let route = api.routes.get(&operation.name)?;
        let pagination = route.pagination.as_ref().and_then(written_pagination);
        Some(ApiOperation { operation, maps_to: maps_to(route), pagination })
    });
    mapped.collect()
}

/// The method and the path, with canonical parameter names as placeholders.
pub(super) fn maps_to(route: &Route) -> String {
    let mut written = format!("{} ", route.method.as_str());
    let mut rest = &*route.path;
    while let Some((before, after)) = rest.split_once('{') {
        written.push_str(before);
        let (original, after) = after.split_once('}').unwrap_or((after, ""));
        let placed = route
            .parameters
            .iter()
            .find(|parameter| &*parameter.original_name == original && matches!(parameter.place, Place::Path(_)));
        match placed {
            Some(parameter) => written.push_str(&format!("{{{}}}", parameter.name)),
            // Braces that are not a placeholder.
            None => written.push_str(&format!("%7B{original}%7D")),
        }
        rest = after;
    }
    written.push_str(rest);
    written
}

/// The pagination as front matter. `None` for cursors and links: the published schema has no field for the location of
/// the next cursor.
pub(super) fn written_pagination(pagination: &Pagination) -> Option<Value> {
    let (style, max_size) = match pagination {
        Pagination::Offset { max_size, .. } => ("offset", max_size),
        Pagination::Page { max_size, .. } => ("page", max_size),
        Pagination::Cursor { .. } | Pagination::Link { .. } => return None,
    };
    let mut written = Map::from_iter([("style".to_owned(), Value::from(style))]);
    if let Some(max_size) = max_size.filter(|size| *size > 0) {
        written.insert("max_limit".to_owned(), max_size.into());
    }
    Some(Value::Object(written))
}

/// An authentication scheme as front matter.
fn written_auth(scheme: Option<&AuthScheme>) -> Value {
    match scheme {
        None => json!({ "type": "none" }),
        Some(AuthScheme::Credential { place: CredentialPlace::Header(header), prefix, variable })
            if !prefix.is_empty() =>
        {
            json!({ "type": "bearer", "header": header, "prefix": prefix, "token_env": variable })
        }
        Some(AuthScheme::Credential { place, variable, .. }) => {
            let (place, name) = match place {
                CredentialPlace::Header(name) => ("header", name),
                CredentialPlace::Query(name) => ("query", name),
                CredentialPlace::Cookie(name) => ("cookie", name),
            };
            json!({ "type": "api_key", "header": name, "in": place, "key_env": variable })
        }
        Some(AuthScheme::Basic { username_variable, password_variable }) => {
            json!({ "type": "basic", "username_env": username_variable, "password_env": password_variable })
        }
        Some(AuthScheme::ClientCredentials { token_url, id_variable, secret_variable, scopes }) => json!({
            "type": "oauth2",
            "token_url": token_url,
            "client_id_env": id_variable,
            "client_secret_env": secret_variable,
            "scopes": scopes,
        }),
        Some(AuthScheme::RefreshToken { token_url, id_variable, secret_variable, token_variable }) => {
            let mut written = json!({
                "type": "oauth2",
                "token_url": token_url,
                "client_id_env": id_variable,
                "refresh_token_env": token_variable,
            });
            if let (Some(written), Some(variable)) = (written.as_object_mut(), secret_variable) {
                written.insert("client_secret_env".to_owned(), variable.as_str().into());
            }
            written
        }
    }
}
