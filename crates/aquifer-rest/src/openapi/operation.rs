//! One operation of a description, with the request behind it.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use aquifer_discovery::classify::{OwnPrefix, SharedPrefixes};
use aquifer_protocol::case::pascal_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::requirement::Requirement;
use aquifer_protocol::schema::Deprecation;
use serde_json::Value;

use super::body;
use super::body_requirements;
use super::danger;
use super::document::Document;
use super::names::{self, OperationName};
use super::options::ReadOptions;
use super::pagination::{self, Evidence};
use super::parameters::{self, ParameterCache, PlacedParameter};
use super::response::{self, Answer};
use super::schemas::Schemas;
use super::servers;
use super::text;
use crate::api::{AuthScheme, CredentialPlace};
use crate::route::{Body, Method, Place, Route};

/// The maximum length of a summary.
const MAX_SUMMARY_CHARS: usize = 200;

/// The maximum length of a description, without the summary.
const MAX_DESCRIPTION_CHARS: usize = 600;

/// The maximum number of parameters of all operations together.
const MAX_PARAMETERS: usize = 400_000;

/// Maximum number of an operation's tags that are read.
const MAX_TAGS: usize = 20;

/// Longer ids are ignored, because the operation's name is derived from its id, and is shown and logged.
const MAX_ID_BYTES: usize = 512;

/// The maximum length of a path. Paths are shown, and every placeholder is a parameter.
const MAX_PATH_BYTES: usize = 2_000;

/// The maximum length of a tag in a description. Longer tags are cut.
const MAX_TAG_CHARS: usize = 40;

/// An operation of the description, unparsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'d> {
    pub(super) method: Method,
    pub(super) path: &'d str,
    /// The path item that contains it.
    pub(super) item: &'d Value,
    pub(super) json: &'d Value,
}

impl<'d> Entry<'d> {
    /// The method and the path, for display.
    pub(super) fn route(&self) -> String {
        route_name(self.method.as_str(), self.path)
    }

    /// The method and the path exactly as in the description, which identify it there.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }

    /// Its own id.
    pub(super) fn id(&self) -> Option<&'d str> {
        self.json.get("operationId").and_then(Value::as_str).filter(|id| id.len() <= MAX_ID_BYTES)
    }

    /// Whether it should no longer be used.
    fn is_deprecated(&self) -> bool {
        self.json.get("deprecated").and_then(Value::as_bool) == Some(true)
    }

    /// Its tags.
    pub(super) fn tags(&self) -> Vec<&'d str> {
        let tags = self.json.get("tags").and_then(Value::as_array);
        tags.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// A method and a path, for display: on one line, and not too long.
pub(super) fn route_name(method: &str, path: &str) -> String {
    text::shorten(&format!("{method} {}", aquifer_discovery::visible_name(path)), 300)
}

/// Reads the operations of a description.
pub(super) struct OperationReader<'r, 'd> {
    pub(super) document: &'r Document<'d>,
    pub(super) options: &'r ReadOptions<'r>,
    pub(super) schemas: &'r mut Schemas<'d>,
    pub(super) base_url: &'r str,
    /// The ways to authenticate.
    pub(super) auth: &'r [AuthScheme],
    /// What the ids of several operations begin with.
    pub(super) shared_prefixes: SharedPrefixes,
    pub(super) cache: Cache,
}

/// Parts that several operations share, so that they are read only once. The keys are the addresses of values in the
/// description.
pub(super) struct Cache {
    parameters: ParameterCache,
    bodies: HashMap<(usize, Method), Option<body::ReadBody>>,
    answers: HashMap<usize, Rc<Answer>>,
    /// How many more parameters are accepted. With references, a short description can give a thousand parameters to
    /// every operation.
    parameters_left: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            parameters: ParameterCache::default(),
            bodies: HashMap::new(),
            answers: HashMap::new(),
            parameters_left: MAX_PARAMETERS,
        }
    }
}

/// The body of an operation, and what several of its fields have to meet together.
type OperationBody = (Option<Body>, Vec<Requirement>);

/// An operation, its request, and why its effects are unclear, if they are.
pub(super) struct ReadOperation {
    pub(super) operation: Operation,
    pub(super) route: Route,
    pub(super) doubt: Option<String>,
}

/// What the id of an operation may begin with: its tags, the parts of its path, and what several operations share.
fn prefix(entry: &Entry<'_>, shared: &SharedPrefixes) -> OwnPrefix {
    let tags = entry.json.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    OwnPrefix::of_route(tags.take(MAX_TAGS), entry.path).with_shared(shared.clone())
}

impl OperationReader<'_, '_> {
    /// Reads an operation. The error says why it cannot be served.
    pub(super) fn read(&mut self, entry: &Entry<'_>, name: &OperationName) -> Result<ReadOperation, String> {
        if !entry.json.is_object() {
            return Err("it is not an object".to_owned());
        }
        let path = checked_path(entry.path)?;
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let lists = [entry.item.get("parameters"), entry.json.get("parameters")];
        let mut placed = parameters::read(self.document, self.schemas, &mut self.cache.parameters, lists)?;
        placed.retain(|one| !self.is_credential(one));
        let idempotency_header = take_idempotency_header(entry.method, &mut placed);
        parameters::move_to_query(query, &mut placed)?;
        parameters::complete(path, &mut placed);
        let (body, requirements) = self.body(entry, &mut placed)?;
        let Some(left) = self.cache.parameters_left.checked_sub(placed.len()) else {
            return Err("the operations of the description have too many parameters".to_owned());
        };
        self.cache.parameters_left = left;
        let base_url = self.own_base_url(entry)?;
        let (parameters, routes) = parameters::assign_names(placed);
        let type_name = format!("{}Result", pascal_case(&name.name));
        let answer = self.answer(entry, &type_name);
        let words = words(entry);
        let names_of_parameters: Vec<&str> = parameters.iter().map(|parameter| &*parameter.name).collect();
        let written_id = entry.json.get("operationId").and_then(Value::as_str);
        let id = written_id.and_then(|id| names::id_words(entry.method, id));
        let prefix = prefix(entry, &self.shared_prefixes);
        let judged = danger::judge(danger::Evidence {
            method: entry.method,
            id: id.as_deref(),
            name: &name.whole,
            path: entry.path,
            prefix: &prefix,
            description: &words,
            parameters: &names_of_parameters,
            has_result: answer.schema.is_some(),
        });
        let (mut pagination, mut unmanaged_paging) = (None, Vec::new());
        if judged.category == Category::Read {
            let (method, types) = (entry.method, self.schemas.types());
            let evidence = Evidence { method, parameters: &parameters, routes: &routes, answer: &answer, types };
            pagination = pagination::detect(evidence);
            if pagination.is_none() {
                unmanaged_paging = pagination::unmanaged(evidence);
            }
        }
        let mut operation = Operation::new(&name.name, judged.category, &described(entry, name, words));
        operation.safety.danger = judged.danger;
        operation.safety.danger_evidence = Some(judged.evidence.into());
        operation.safety.effects = judged.effects;
        operation.safety.is_idempotent = judged.is_idempotent;
        operation.deprecated = entry.is_deprecated().then(Deprecation::default);
        operation.origin.native = false;
        operation.origin.source = self.options.source.as_str().into();
        operation.origin.place = base_url.clone().unwrap_or_else(|| self.base_url.into());
        operation.requirements = body_requirements::renamed(requirements, &routes);
        operation.parameters = parameters;
        operation.returns = answer.returns.clone();
        let route = Route {
            path: path.into(),
            base_url,
            parameters: routes,
            body,
            accept: answer.accept.clone(),
            pagination,
            unmanaged_paging,
            result_headers: answer.headers.clone(),
            idempotency_header,
            ..Route::new(entry.method)
        };
        Ok(ReadOperation { operation, route, doubt: judged.doubt })
    }

    /// Whether a parameter is a credential. Credentials are added to every request; callers never provide them.
    fn is_credential(&self, one: &PlacedParameter) -> bool {
        let name = &*one.parameter.name;
        self.auth.iter().any(|scheme| match (scheme, one.place) {
            (AuthScheme::Credential { place: CredentialPlace::Header(known), .. }, Place::Header(_)) => {
                known.eq_ignore_ascii_case(name)
            }
            (AuthScheme::Credential { place: CredentialPlace::Query(known), .. }, Place::Query { .. })
            | (AuthScheme::Credential { place: CredentialPlace::Cookie(known), .. }, Place::Cookie(_)) => known == name,
            _ => false,
        })
    }

    fn answer(&mut self, entry: &Entry<'_>, type_name: &str) -> Rc<Answer> {
        let Some(json) = response::successful(self.document, entry.json.get("responses")) else {
            return Rc::new(Answer::unknown());
        };
        let (document, schemas) = (self.document, &mut *self.schemas);
        let read = || Rc::new(response::read(document, schemas, json, type_name));
        self.cache.answers.entry(std::ptr::from_ref(json).addr()).or_insert_with(read).clone()
    }

    fn body(&mut self, entry: &Entry<'_>, placed: &mut Vec<PlacedParameter>) -> Result<OperationBody, String> {
        let none = (None, Vec::new());
        let Some(json) = entry.json.get("requestBody") else { return Ok(none) };
        let json = self.document.resolve(json)?;
        if matches!(entry.method, Method::Get | Method::Head | Method::Trace) {
            // A body of such a request has no defined meaning, and many servers refuse it.
            let is_required = json.get("required").and_then(Value::as_bool) == Some(true);
            let reason = || format!("it needs a body, which {} cannot have", entry.method.as_str());
            return if is_required { Err(reason()) } else { Ok(none) };
        }
        let key = (std::ptr::from_ref(json).addr(), entry.method);
        if !self.cache.bodies.contains_key(&key) {
            let read = body::read(self.document, self.schemas, json, entry.method)?;
            self.cache.bodies.insert(key, read);
        }
        let read = self.cache.bodies.get(&key).and_then(Option::as_ref);
        let Some(read) = read.filter(|read| !read.parameters.is_empty()) else { return Ok(none) };
        placed.extend(read.parameters.iter().take(self.cache.parameters_left + 1).cloned());
        Ok((Some(read.body.clone()), read.requirements.clone()))
    }

    /// The base URL of the operation or of its path, if it has one of its own.
    fn own_base_url(&self, entry: &Entry<'_>) -> Result<Option<Arc<str>>, String> {
        // A URL that only points to the location of the description itself adds nothing.
        let has_server = |json: &&Value| {
            let url = json.pointer("/servers/0/url").and_then(Value::as_str);
            url.is_some_and(|url| !matches!(url, "" | "/" | "."))
        };
        let Some(json) = [entry.json, entry.item].into_iter().find(has_server) else { return Ok(None) };
        let url = servers::base_url(json.get("servers"), self.options)?;
        Ok((url != self.base_url).then(|| url.into()))
    }
}

/// Removes the idempotency key, by which the API recognizes a repeated request, from the parameters and returns its
/// header. The client fills it in, so callers do not see it.
fn take_idempotency_header(method: Method, placed: &mut Vec<PlacedParameter>) -> Option<Arc<str>> {
    let is_key = |one: &PlacedParameter| {
        let name = &*one.parameter.name;
        let is_named = ["idempotency-key", "x-idempotency-key"].iter().any(|known| name.eq_ignore_ascii_case(known));
        is_named && matches!(one.place, Place::Header(_)) && !method.is_safe()
    };
    let index = placed.iter().position(is_key)?;
    Some(placed.remove(index).parameter.name)
}

/// Returns the path with a leading slash and without a fragment. The error says why it cannot be requested.
fn checked_path(path: &str) -> Result<String, String> {
    // Some descriptions distinguish operations of the same path by a fragment, which is never sent.
    let path = path.split('#').next().unwrap_or_default();
    if path.len() > MAX_PATH_BYTES {
        return Err("its path is too long".to_owned());
    }
    if path.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("its path contains characters that are not allowed".to_owned());
    }
    if path.matches('{').count() != path.matches('}').count() {
        return Err("its path has unbalanced braces".to_owned());
    }
    Ok(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

/// Joins the summary and the description. The classification searches this text for verbs.
fn words(entry: &Entry<'_>) -> String {
    let text = |key: &str| entry.json.get(key).and_then(Value::as_str).unwrap_or_default();
    let summary = text::line(text("summary"), MAX_SUMMARY_CHARS);
    let description = text::prose(text("description"), MAX_DESCRIPTION_CHARS);
    let is_repeated = description.to_lowercase().starts_with(&summary.to_lowercase());
    match (summary.is_empty(), description.is_empty()) {
        (false, false) if !is_repeated => {
            let end = if summary.ends_with(['.', '!', '?', ':']) { "" } else { "." };
            format!("{summary}{end} {description}")
        }
        (false, true) => summary,
        _ => description,
    }
}

/// Writes the description for callers. It says whether the operation is deprecated, and mentions the first tag unless
/// the name, the path or the text already do, so that a search for the tag finds the operation.
fn described(entry: &Entry<'_>, name: &OperationName, words: String) -> String {
    let mut described = if words.is_empty() { entry.route() } else { words };
    if entry.is_deprecated() {
        let end = described.find(". ").or_else(|| described.strip_suffix('.').map(str::len)).unwrap_or(described.len());
        let says_so = described.get(..end).is_some_and(|sentence| sentence.to_lowercase().contains("deprecated"));
        if !says_so {
            described.insert_str(end, " (deprecated)");
        }
    }
    let tag = entry.tags().first().map(|tag| text::line(tag, MAX_TAG_CHARS)).unwrap_or_default();
    let known = format!("{} {} {}", name.whole, entry.path, described).to_lowercase();
    let known: String = known.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_new = |word: &str| word.len() > 2 && !known.contains(word.to_lowercase().trim_end_matches('s'));
    if tag.split(|c: char| !c.is_alphanumeric()).any(is_new) {
        let end = if described.ends_with(['.', '!', '?']) { "" } else { "." };
        described.push_str(&format!("{end} Part of {tag}."));
    }
    described
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn describe(json: &Value) -> String {
        let entry = Entry { method: Method::Get, path: "/pets", item: &Value::Null, json };
        let name = OperationName { name: "get_pets".to_owned(), whole: "get_pets".to_owned() };
        described(&entry, &name, words(&entry))
    }

    #[test]
    fn descriptions_are_short_and_complete() {
        for (json, expected) in [
            (json!({}), "GET /pets"),
            (json!({ "summary": "List pets" }), "List pets"),
            (json!({ "summary": "List pets", "description": "All of **them**." }), "List pets. All of them."),
            (json!({ "summary": "List pets", "description": "List pets of a shop." }), "List pets of a shop."),
            (json!({ "summary": "List pets", "deprecated": true }), "List pets (deprecated)"),
            (json!({ "summary": "[Deprecated] List pets", "deprecated": true }), "[Deprecated] List pets"),
            (json!({ "description": "List pets. Slow.", "deprecated": true }), "List pets (deprecated). Slow."),
            (json!({ "summary": "List", "tags": ["Pets", "x"] }), "List"),
            (json!({ "summary": "List", "tags": ["Billing"] }), "List. Part of Billing."),
        ] {
            assert_eq!(describe(&json), expected);
        }
    }

    #[test]
    fn paths_are_checked() {
        assert_eq!(checked_path("pets#list"), Ok("/pets".to_owned()));
        assert!(checked_path("/a b").is_err());
        assert!(checked_path("/{a").is_err());
    }
}
