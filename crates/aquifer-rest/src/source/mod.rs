//! An HTTP API as a source of the engine.

mod answer;
mod current;
mod files;
mod headers;
mod list;
mod offering;
mod result_headers;
mod targets;
mod update;
mod writable;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aquifer_engine::shape::{Controls, ResultShape};
use aquifer_engine::source::{Answer, Call, LiveSource, Outcome, Resolution, SourceStatus};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::exact_number;
use aquifer_protocol::operation::{Operation, SafetyOverride};
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::schema::{Kind, Parameter};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::Url;
use reqwest::header::HeaderName;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::client::{Authenticator, ClientSettings, Effect, HttpAnswer, HttpClient, LinkCheck, SendRules};
use crate::error::{RestError, RestProblem};
use crate::pagination::{self, Position};
use crate::route::{BaseUrl, HttpRequest, Pagination, Route, Security};
use current::Current;
use files::FileRoots;
use list::ListCall;
use targets::{CallLinks, Targets};
use writable::Walk;

/// The header that makes an update conditional.
const IF_MATCH: &str = "If-Match";

/// The settings of a source.
#[derive(Clone)]
pub struct RestSettings {
    /// Its name.
    pub name: String,
    /// The API.
    pub api: Api,
    /// How requests are sent.
    pub client: ClientSettings,
    /// The controls of READ operations.
    pub controls: Controls,
    /// Controls that override the default for individual operations.
    pub operation_controls: BTreeMap<String, Controls>,
    /// Paths of the rows in the results of individual operations.
    pub rows: BTreeMap<String, String>,
    /// How individual operations paginate, instead of what is detected. `None` if they do not.
    pub paginations: BTreeMap<String, Option<Pagination>>,
    /// The maximum number of pages that one call of individual operations fetches.
    pub max_pages: BTreeMap<String, usize>,
    /// What the operator says about the safety of individual operations.
    pub safety_overrides: BTreeMap<String, SafetyOverride>,
    /// Headers that the description does not mention and callers may fill.
    pub call_headers: Vec<String>,
    /// The header for a random key by which the API recognizes a copy of a request, for all writes. The description may
    /// state another one for individual operations.
    pub idempotency_header: Option<String>,
    /// The folders whose files callers may send by path. None by default.
    pub file_roots: Vec<PathBuf>,
}

impl RestSettings {
    /// Settings for an API, with defaults for everything else.
    pub fn new(name: &str, api: Api) -> Self {
        Self {
            name: name.to_owned(),
            client: ClientSettings::new(api.base_url.as_str()),
            api,
            controls: Controls::default(),
            operation_controls: BTreeMap::new(),
            rows: BTreeMap::new(),
            paginations: BTreeMap::new(),
            max_pages: BTreeMap::new(),
            safety_overrides: BTreeMap::new(),
            call_headers: Vec::new(),
            idempotency_header: None,
            file_roots: Vec::new(),
        }
    }
}

/// An HTTP API that serves calls.
pub struct RestSource {
    name: String,
    base_url: BaseUrl,
    version: Option<Arc<str>>,
    offering: Offering,
    endpoints: BTreeMap<Arc<str>, Endpoint>,
    client: HttpClient,
    /// The operations that links may lead to.
    targets: Arc<Targets>,
    file_roots: FileRoots,
    status: SourceStatus,
    /// The controls of READ operations, by default and of individual ones.
    controls: (Controls, BTreeMap<String, Controls>),
    /// What results of operations looked like whose description does not say where rows are.
    observed: Mutex<BTreeMap<Arc<str>, ResultShape>>,
    /// How often something was added to them.
    observed_count: AtomicU64,
}

/// Results of further operations are not recorded.
const MAX_OBSERVED: usize = 2_000;

/// The request of an operation.
#[derive(Debug)]
struct Endpoint {
    route: Arc<Route>,
    effect: Effect,
    /// The parameters that are sent in the body, with the types of the API.
    body: Vec<Parameter>,
    /// How the resource that a PUT replaces is read.
    current: Option<Current>,
    /// The headers of a response that belong to the result.
    result_headers: Vec<HeaderName>,
    /// Whether it only reads, so that its result has the structure of the API's.
    is_read: bool,
    /// The parameter with which the API selects fields.
    fields: Option<Parameter>,
}

impl RestSource {
    /// Creates a source for an API. Credentials are read from the variables that the API's description names.
    ///
    /// # Errors
    ///
    /// If a URL, a header or a folder of the settings is invalid or not allowed.
    pub fn new(mut settings: RestSettings, variable: impl Fn(&str) -> Option<String>) -> Result<Self, RestError> {
        headers::add(&mut settings)?;
        let authenticator = Authenticator::new(&settings.api.auth, variable);
        let client = HttpClient::new(&settings.client, authenticator)?;
        let file_roots = FileRoots::new(&settings.file_roots)?;
        let version = settings.api.version.as_deref().map(Into::into);
        let status = SourceStatus {
            left_out: settings.api.omitted.len(),
            quarantined: settings.api.operations.iter().filter(|one| one.safety.quarantine.is_some()).count(),
            notes: settings.api.notes.clone(),
            ..SourceStatus::default()
        };
        let name = settings.name.clone();
        let base_url = BaseUrl::new(&settings.client.base_url)
            .map_err(|problem| RestError::new(RestProblem::InvalidRequest(problem.to_owned()), false))?;
        let controls = (settings.controls, settings.operation_controls.clone());
        let targets = Arc::new(Targets::new(&settings.api, &settings.client.base_url));
        let (offering, endpoints) = offering::build(settings);
        let (observed, observed_count) = (Mutex::default(), AtomicU64::new(0));
        Ok(Self {
            name,
            base_url,
            version,
            offering,
            endpoints,
            client,
            targets,
            file_roots,
            status,
            controls,
            observed,
            observed_count,
        })
    }

    fn controls_of(&self, operation: &str) -> Controls {
        self.controls.1.get(operation).copied().unwrap_or(self.controls.0)
    }

    /// The environment variables whose values may be sent to the API.
    pub fn used_variables(&self) -> Vec<&str> {
        self.client.used_variables().iter().map(String::as_str).collect()
    }

    /// The environment variables that must be set before all operations of the API can be called.
    pub fn missing_variables(&self) -> Vec<String> {
        let needs: BTreeSet<&Security> = self.endpoints.values().map(|endpoint| &endpoint.route.security).collect();
        let missing: BTreeSet<String> = needs.into_iter().flat_map(|one| self.client.missing_variables(one)).collect();
        missing.into_iter().collect()
    }

    async fn execute(&self, mut call: Call) -> Result<Answer, Failure> {
        let Some(endpoint) = self.endpoints.get(&call.name) else {
            return Err(Failure::new(Code::NotFoundOperation, "This operation is gone. Use introspect again"));
        };
        let route = &*endpoint.route;
        let mut params = std::mem::take(&mut call.params);
        self.refuse_read_only(endpoint, &params)?;
        let is_dry_run =
            call.operation.safety.has_safe_dry_run && params.shift_remove("dry_run") == Some(Value::Bool(true));
        let position = match &call.page.resume {
            Some(resume) => Some(
                Position::deserialize(&**resume)
                    .map_err(|cause| Failure::internal(format!("a position of another source: {cause}")))?,
            ),
            None => None,
        };
        let page = route.pagination.as_ref().map(|pagination| pagination.page(position.clone(), call.page.rows));
        if let Some(page) = &page {
            route.add_page(page, &mut params);
        }
        if let Some(parameter) = &endpoint.fields {
            let is_list = matches!(parameter.schema.kind, Kind::Array(_));
            let written = |names: &Vec<String>| if is_list { json!(names) } else { Value::String(names.join(",")) };
            let value = call.page.fields.as_ref().map(written).or_else(|| parameter.schema.default.clone());
            params.extend(value.map(|value| (parameter.name.to_string(), value)));
        }
        let mut condition = None;
        if let Some(current) = &endpoint.current {
            condition = self.merge_current(current, &call, &mut params).await?;
        }
        let links = Arc::new(self.links(&call.name, &call, &params));
        let params = self.load_files(&endpoint.route, params).await?;
        let mut request = route.request_at(&self.base_url, &params)?;
        let is_conditional = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(IF_MATCH));
        request.headers.extend(condition.filter(|_| !is_conditional).map(|etag| (IF_MATCH.to_owned(), etag)));
        if let Some(Position::Url(next)) = &position {
            let is_allowed = Url::parse(next).is_ok_and(|next| links.allows(&reqwest::Method::GET, &next));
            if !is_allowed {
                return Err(RestError::new(RestProblem::ForbiddenLink, false).into_failure(&self.name));
            }
            pagination::continue_at(&mut request, next).ok_or_else(|| {
                Failure::new(
                    Code::TransportNetworkError,
                    "The next page of the list is on another host, and is not fetched",
                )
            })?;
        }
        if is_dry_run {
            let shown = self.client.without_credentials_in_text(exact_number::to_text(&shown_request(&request)));
            return Ok(Answer::new(JsonText::checked(shown).map_or(Data::Value(Value::Null), Data::Text)));
        }
        let rules = SendRules::for_route(route, endpoint.effect, call.validity.clone());
        let rules = SendRules { trace: call.context.trace.clone(), links: Some(links.clone()), ..rules };
        let answer = match self.send(request, &rules, &call).await {
            Err(failure) if position.is_some() => return list::after_last_page(position.as_ref(), failure),
            answer => answer?,
        };
        let headers = self.result_headers(endpoint, &answer);
        let list = ListCall { endpoint, call: &call, params: &params, links: &links };
        Ok(result_headers::add(self.read_list(&list, page, answer)?, headers))
    }

    /// Judges what a request of this operation is led to.
    fn links(&self, operation: &Arc<str>, call: &Call, params: &Map<String, Value>) -> CallLinks {
        CallLinks {
            targets: self.targets.clone(),
            check: call.targets.clone(),
            called: operation.clone(),
            params: params.clone(),
        }
    }

    /// Refuses fields of a body that the API sets itself.
    fn refuse_read_only(&self, endpoint: &Endpoint, params: &Map<String, Value>) -> Result<(), Failure> {
        for parameter in &endpoint.body {
            let Some(value) = params.get(&*parameter.name) else { continue };
            match Walk::new(&self.offering.types).first_read_only(value, &parameter.schema, &parameter.name) {
                (Some(path), _) => {
                    return Err(Failure::invalid_value(&path, "is set by the API and cannot be written"));
                }
                (None, false) => return Err(Failure::invalid_value(&parameter.name, "is too large")),
                (None, true) => {}
            }
        }
        Ok(())
    }

    /// Replaces file paths by file contents.
    async fn load_files(&self, route: &Arc<Route>, params: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        if self.file_roots.is_empty() || !FileRoots::takes_files(route) {
            return Ok(params);
        }
        let (roots, route) = (self.file_roots.clone(), route.clone());
        tokio::task::spawn_blocking(move || roots.load(&route, params)).await.map_err(Failure::internal)?
    }

    async fn send(&self, request: HttpRequest, rules: &SendRules, call: &Call) -> Result<HttpAnswer, Failure> {
        let path = shown_path(&request.url);
        let sent = self.client.send(request, rules, &call.context.cancelled).await;
        sent.map_err(|error| {
            let failure = error.into_failure(&self.name);
            match failure.code() {
                Code::NotFoundResource => {
                    let shown = self.client.without_credentials(&path);
                    let message = format!("Resource not found: source '{}' has nothing at {shown}", self.name);
                    failure.with_message(message)
                }
                _ => failure,
            }
        })
    }
}

/// Shows neither credentials nor the base URL, whose path may contain one.
impl std::fmt::Debug for RestSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestSource").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The path of a URL, for an error message.
fn shown_path(url: &Url) -> String {
    const MAX_CHARS: usize = 200;
    url.path().chars().take(MAX_CHARS).collect()
}

/// A request as a dry run shows it: without credentials.
fn shown_request(request: &HttpRequest) -> Value {
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let mut shown = json!({ "method": request.method.as_str(), "url": request.url.as_str(), "headers": headers });
    if let (Some(body), Some(shown)) = (&request.body, shown.as_object_mut()) {
        let text = std::str::from_utf8(&body.bytes).ok();
        let content = text.and_then(|text| exact_number::parse(text).ok());
        let other = || Value::String(format!("{} bytes of {}", body.bytes.len(), body.media_type));
        shown.insert("body".to_owned(), content.unwrap_or_else(other));
    }
    json!({ "dry_run": true, "request": shown })
}

/// Whether an operation only reads. A READ operation that is not safe may do more than that.
fn effect(operation: &Operation) -> Effect {
    let only_reads = operation.category == Category::Read && operation.safety.danger == Danger::Safe;
    if only_reads { Effect::Reads } else { Effect::Changes }
}

impl Source for RestSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn offering(&self) -> Offering {
        let mut offering = self.offering.clone();
        let observed = self.observed.lock();
        for operation in &mut offering.operations {
            if let Some(shape) = observed.get(&operation.name) {
                let controls = self.controls_of(&operation.name);
                let route = self.endpoints.get(&operation.name).map(|endpoint| &*endpoint.route);
                offering::add_observed(operation, route, &mut offering.types, shape, controls);
            }
        }
        offering
    }

    fn version(&self) -> Option<Arc<str>> {
        self.version.clone()
    }

    /// A PUT that reads the current state also needs the permissions of the operation that reads it, for the parameters
    /// of that request.
    fn resolve(&self, operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        let current = self.endpoints.get(operation).and_then(|endpoint| endpoint.current.as_ref());
        let Some(current) = current else { return Ok(Resolution { params, ..Resolution::default() }) };
        let needed_params = current.arguments_of(&params);
        let also_needs = vec![current.operation.clone()];
        Ok(Resolution { params, also_needs, needed_params, ..Resolution::default() })
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match self.execute(call).await {
                Ok(answer) => Outcome::Done(answer),
                Err(failure) => Outcome::Failed(failure),
            }
        }
        .boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }
}

impl LiveSource for RestSource {
    fn record_observation(&self, operation: &str, shape: &ResultShape) -> bool {
        let mut observed = self.observed.lock();
        // A path, once observed, is kept: the same filter must not mean another list tomorrow.
        let is_new = observed.get(operation).is_none_or(|known| !known.rows().is_known() && shape.rows().is_known());
        if !is_new || observed.len() >= MAX_OBSERVED || self.controls_of(operation) == Controls::None {
            return false;
        }
        observed.insert(operation.into(), shape.clone());
        self.observed_count.fetch_add(1, Ordering::Relaxed);
        shape.rows().is_known()
    }

    fn generation(&self) -> u64 {
        self.observed_count.load(Ordering::Relaxed)
    }

    fn status(&self) -> SourceStatus {
        self.status.clone()
    }
}
