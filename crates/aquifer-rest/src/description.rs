//! Fetches an API description over HTTP.

use std::time::Duration;

use reqwest::Url;
use tokio_util::sync::CancellationToken;

use crate::client::{Authenticator, ClientSettings, Effect, HttpClient, SendRules};
use crate::error::{RestError, RestProblem};
use crate::openapi::MAX_BYTES;
use crate::route::{HttpRequest, Method};

/// Fetches the text of a description under the same rules as every request: https, bounded size and time, and no
/// redirects to other hosts.
///
/// # Errors
///
/// If it cannot be fetched, or is not text.
pub async fn fetch_description(url: &str, timeout: Duration) -> Result<String, RestError> {
    let invalid = |problem: &str| RestError::new(RestProblem::InvalidRequest(problem.to_owned()), false);
    let url = Url::parse(url).map_err(|_| invalid("the URL of the description is invalid"))?;
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    base.set_path("");
    let mut settings = ClientSettings::new(base.as_str());
    settings.timeout = timeout;
    settings.max_answer_bytes = MAX_BYTES;
    let client = HttpClient::new(&settings, Authenticator::none())?;
    let accept = "application/json, application/yaml, application/vnd.oai.openapi, text/*, */*;q=0.5";
    let request =
        HttpRequest { method: Method::Get, url, headers: vec![("Accept".to_owned(), accept.to_owned())], body: None };
    let rules = SendRules { effect: Effect::Reads, ..SendRules::default() };
    let response = client.send(request, &rules, &CancellationToken::new()).await?;
    String::from_utf8(response.body.into()).map_err(|_| invalid("the description is not UTF-8 text"))
}
