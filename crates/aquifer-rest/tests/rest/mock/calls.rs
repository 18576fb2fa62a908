//! Calls every operation of a description against a mock.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{Metadata, Request};
use aquifer_protocol::schema::{Extent, sample_arguments};
use aquifer_protocol::surface::Surface;
use aquifer_protocol::validate::{Routed, Strictness};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::route::HttpRequest;
use aquifer_rest::{
    Api, AuthScheme, Authenticator, ClientSettings, CredentialPlace, HttpAnswer, HttpClient, RestError, Route,
    SendRules,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::description::{self, Content};
use super::prism::Prism;
use super::{Exception, Flaw};

const TOKEN: &str = "token-for-the-mock";

/// The verdict of the mock on the calls of one description.
pub(super) struct Judgement {
    /// The names of all operations.
    pub(super) operations: Vec<Arc<str>>,
    pub(super) refused: Vec<Refusal>,
}

/// A call that was refused by the mock or before it was sent.
pub(super) struct Refusal {
    pub(super) operation: Arc<str>,
    pub(super) extent: Extent,
    pub(super) problem: String,
}

/// Calls every operation with the required parameters, and with all parameters.
pub(super) async fn judge(file: &Path, content: Content, exceptions: &[Exception]) -> Judgement {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = openapi::parse(&text).unwrap();
    let api = read(&parsed);
    assert_eq!(api.omitted, [], "{}", file.display());
    let catalog = Catalog::build(api.operations.clone(), api.types.clone(), &Surface::default()).unwrap();
    let prism = Prism::start(&description::file(file, &parsed, content));
    let mock = Mock { clients: clients(&api, &prism.url), catalog, prism };
    let (mut sent, mut refused) = (0, Vec::new());
    for declared in &api.operations {
        let operation = mock.catalog.operation(&declared.name).unwrap();
        // The mock has a single address.
        let route = Route { base_url: None, ..(*api.routes[&declared.name]).clone() };
        for extent in [Extent::Required, Extent::All] {
            let crashes =
                |exception: &Exception| exception.flaw == Flaw::Crashes && exception.covers(&declared.name, extent);
            if exceptions.iter().any(crashes) {
                continue;
            }
            sent += 1;
            if let Err(problem) = mock.call(operation, &route, extent).await {
                refused.push(Refusal { operation: declared.name.clone(), extent, problem });
            }
        }
    }
    let operations: Vec<Arc<str>> = api.operations.iter().map(|operation| operation.name.clone()).collect();
    let (count, accepted) = (operations.len(), sent - refused.len());
    eprintln!("{count:4} operations {sent:5} requests {accepted:5} accepted | {}", file.display());
    Judgement { operations, refused }
}

pub(super) fn read(description: &Value) -> Api {
    let options = ReadOptions {
        source: "sample".to_owned(),
        url: Some("https://example.com/api.json".to_owned()),
        ..ReadOptions::default()
    };
    openapi::read(description, &options).unwrap()
}

/// A client with credentials and one without. The first sends the credential that the description prefers, and other
/// keys as operator headers. OAuth would need a token endpoint, so the operator's token is sent instead.
fn clients(api: &Api, url: &str) -> [HttpClient; 2] {
    let plain = ClientSettings { retry_delay: Duration::from_millis(1), ..ClientSettings::new(url) };
    let mut settings = plain.clone();
    let is_fixed = |scheme: &&AuthScheme| matches!(scheme, AuthScheme::Credential { .. } | AuthScheme::Basic { .. });
    let schemes: Vec<AuthScheme> = api.auth.iter().filter(is_fixed).cloned().collect();
    for scheme in schemes.iter().skip(1) {
        if let AuthScheme::Credential { place: CredentialPlace::Header(name), prefix, .. } = scheme
            && !settings.headers.iter().any(|(existing, _)| existing.eq_ignore_ascii_case(name))
        {
            settings.headers.push((name.clone(), format!("{prefix}{TOKEN}")));
        }
    }
    let authenticator = Authenticator::new(&schemes, |_| Some(TOKEN.to_owned()));
    let with_credentials = HttpClient::new(&settings, authenticator)
        .or_else(|_| HttpClient::new(&plain, Authenticator::new(&schemes, |_| Some(TOKEN.to_owned()))));
    [with_credentials.unwrap(), HttpClient::new(&plain, Authenticator::none()).unwrap()]
}

struct Mock {
    clients: [HttpClient; 2],
    catalog: Catalog,
    prism: Prism,
}

impl Mock {
    /// Calls an operation. The error is the reason for the refusal.
    async fn call(&self, operation: &Arc<Operation>, route: &Route, extent: Extent) -> Result<(), String> {
        let types = self.catalog.types();
        let arguments =
            sample_arguments(&operation.parameters, types, extent).ok_or("no arguments can be generated")?;
        let params = checked(&self.catalog, operation, arguments.clone())
            .map_err(|problem| format!("{problem} in {}", Value::Object(arguments)))?;
        let request = route.request(&self.prism.url, &params).map_err(|failure| failure.message().to_owned())?;
        let [client, anonymous] = &self.clients;
        let mut sent = send(client, request.clone()).await;
        // Prism refuses credentials if the description requires none.
        if sent.as_ref().is_err_and(|error| error.status() == Some(401)) {
            sent = send(anonymous, request.clone()).await;
        }
        verdict(sent)
            .map_err(|problem| format!("{problem} in {} {:?} {:?}", request.url, request.headers, request.body))
    }
}

async fn send(client: &HttpClient, request: HttpRequest) -> Result<HttpAnswer, RestError> {
    client.send(request, &SendRules::default(), &CancellationToken::new()).await
}

/// Whether the mock accepts the request. It then responds with a success, if the description defines one.
fn verdict(sent: Result<HttpAnswer, RestError>) -> Result<(), String> {
    match sent {
        Ok(response) => {
            let text = response.headers.get("sl-violations").map(|text| text.to_str().unwrap()).unwrap_or("[]");
            let violations: Vec<Value> = serde_json::from_str(text).unwrap();
            // Prism also warns of deprecated parameters and validates its own responses.
            let is_error =
                |violation: &&Value| violation["severity"] == "Error" && violation["location"][0] == "request";
            violations.iter().find(is_error).map_or(Ok(()), |violation| Err(violation.to_string()))
        }
        Err(error) => {
            let failure = error.into_failure("mock");
            Err(format!("{} {:?}", failure.message(), failure.reason()))
        }
    }
}

/// The arguments as the engine passes them to a source.
fn checked(
    catalog: &Catalog,
    operation: &Arc<Operation>,
    params: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let name = operation.name.to_string();
    let request = Request { operation: name, params, beside: Map::new(), metadata: Metadata::default() };
    let checked = Routed::new(operation.clone(), request).check(catalog, Strictness::Strict);
    checked.map(|checked| checked.params().clone()).map_err(|failure| failure.message().to_owned())
}
