//! HTTP requests, and how a route builds them from parameters.

use aquifer_protocol::error::{Code, Failure, too_large};
use aquifer_protocol::limits::LimitKind;
use bytes::Bytes;
use reqwest::Url;
use serde_json::{Map, Value};

use super::encoding::Escape;
use super::{Method, Place, Route, body, header, notation, path};

/// The maximum length of a URL. Servers accept much less.
const MAX_URL_BYTES: usize = 32 * 1024;

/// A request without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<RequestBody>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBody {
    /// Its media type.
    pub media_type: String,
    /// Its content.
    pub bytes: Bytes,
}

impl Route {
    /// Builds the request for these parameters, which have their canonical names. `base_url` is that of the API.
    ///
    /// # Errors
    ///
    /// If a parameter is missing or cannot be sent in its place, or if the route itself is invalid.
    pub fn request(&self, base_url: &str, params: &Map<String, Value>) -> Result<HttpRequest, Failure> {
        self.request_at(&BaseUrl::new(base_url).map_err(invalid_route)?, params)
    }

    /// Builds the request with a base URL that has been checked.
    pub(crate) fn request_at(&self, base: &BaseUrl, params: &Map<String, Value>) -> Result<HttpRequest, Failure> {
        let own_base = self.base_url.as_deref().map(BaseUrl::new).transpose().map_err(invalid_route)?;
        let base = own_base.as_ref().unwrap_or(base);
        let mut path = path::path(self, params)?;
        path.insert_str(0, base.path());
        let query = self.query(params)?;
        let headers = self.request_headers(params)?;
        let url = assemble_url(base, &path, &query)?;
        let body = body::body(self, params)?;
        Ok(HttpRequest { method: self.method, url, headers, body })
    }

    fn query(&self, params: &Map<String, Value>) -> Result<String, Failure> {
        let mut query = String::new();
        for parameter in &self.parameters {
            let Place::Query { notation, allow_reserved } = parameter.place else { continue };
            let Some(value) = params.get(&*parameter.name) else { continue };
            let escape = if allow_reserved { Escape::Reserved } else { Escape::Unreserved };
            for (name, text) in notation::pairs(&parameter.original_name, value, notation, escape) {
                header::refuse_override(&parameter.name, &name)?;
                // Some servers also separate parameters by semicolons, which are not encoded where reserved characters
                // are allowed.
                for piece in text.split(';').skip(1) {
                    header::refuse_override(&parameter.name, piece.split('=').next().unwrap_or_default())?;
                }
                if !query.is_empty() {
                    query.push('&');
                }
                query.extend([name.as_str(), "=", text.as_str()]);
            }
        }
        Ok(query)
    }

    fn request_headers(&self, params: &Map<String, Value>) -> Result<Vec<(String, String)>, Failure> {
        let mut headers = self.fixed_headers()?;
        let mut cookies = Vec::new();
        for parameter in &self.parameters {
            let Some(value) = params.get(&*parameter.name) else { continue };
            match parameter.place {
                Place::Header(notation) => {
                    let Some(header) = header::header(parameter, value, notation)? else { continue };
                    if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(&header.0)) {
                        let problem = format_args!("cannot be sent: the header '{}' has a fixed value", header.0);
                        return Err(Failure::invalid_value(&parameter.name, problem));
                    }
                    headers.push(header);
                }
                Place::Cookie(notation) => cookies.extend(header::cookies(parameter, value, notation)?),
                _ => {}
            }
        }
        if !cookies.is_empty() {
            let cookies: Vec<String> = cookies.into_iter().map(|(name, text)| format!("{name}={text}")).collect();
            headers.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        Ok(headers)
    }

    /// The headers that do not depend on parameters.
    fn fixed_headers(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut headers = Vec::with_capacity(self.headers.len() + 2);
        let states_accept = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        if !states_accept {
            let accept = if self.accept.is_empty() { "application/json" } else { &*self.accept };
            headers.push(("Accept".to_owned(), accept.to_owned()));
        }
        headers.extend(self.headers.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        for (name, value) in &headers {
            let is_allowed = header::is_token(name) && !header::is_reserved_header(name);
            if !is_allowed || name.eq_ignore_ascii_case("content-type") || !header::is_field_value(value) {
                return Err(invalid_route("it states a header that cannot be sent"));
            }
        }
        Ok(headers)
    }
}

/// A checked base URL.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl(Url);

impl BaseUrl {
    pub(crate) fn new(text: &str) -> Result<Self, &'static str> {
        check_base_url(text).map(Self)
    }

    /// Its path, without a trailing slash.
    fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }
}

/// Whether two URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme() && a.host_str() == b.host_str() && a.port_or_known_default() == b.port_or_known_default()
}

/// Checks a base URL: `https` or `http`, a host, no user name, no query and no fragment.
///
/// # Errors
///
/// The reason why it is invalid.
pub fn check_base_url(base_url: &str) -> Result<Url, &'static str> {
    if base_url.is_empty() {
        return Err("the base URL is missing");
    }
    // The parser removes whitespace and control characters, and reads a backslash as a slash. Both hide where a URL
    // leads.
    if base_url.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("the base URL contains spaces, control characters or backslashes");
    }
    let url = Url::parse(base_url).map_err(|_| "the base URL is not a URL")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err("the base URL begins with neither https:// nor http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the base URL contains a user name or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("the base URL has a query or a fragment");
    }
    Ok(url)
}

/// Assembles a URL and verifies that the parser reads every part of it as intended. The origin is that of the base URL,
/// and is not parsed again.
fn assemble_url(base: &BaseUrl, path: &str, query: &str) -> Result<Url, Failure> {
    let size = base.0.as_str().len() + path.len() + query.len();
    if size > MAX_URL_BYTES {
        return Err(too_large(LimitKind::RequestSize, MAX_URL_BYTES, size));
    }
    let mut url = base.0.clone();
    url.set_path(path);
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    let is_as_written = url.path() == path && url.query().unwrap_or_default() == query && url.fragment().is_none();
    if is_as_written { Ok(url) } else { Err(invalid_route("its URL is ambiguous")) }
}

/// The failure for an invalid route, which no parameters could turn into a valid request.
pub(super) fn invalid_route(problem: &str) -> Failure {
    Failure::explained(Code::InternalError, "Internal error", format_args!("the route is invalid: {problem}"))
        .detail("plugin_error", "PROTOCOL_INVALID_MAPPING")
}
