//! The redirect target of the browser: a local port that is open during a login.

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::error::{LoginError, sanitized};
use super::pkce;

const PATH: &str = "/callback";
const MAX_REQUEST_BYTES: usize = 16 * 1024;
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of connections. Browsers open some that they may never use; more than this do not come from a
/// browser.
const MAX_CONNECTIONS: usize = 32;

/// A listener for the redirect of the browser.
pub(crate) struct Callback {
    listener: TcpListener,
    redirect: String,
}

/// The response in the redirect URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationResponse {
    /// The code, or the reason why there is none.
    pub(crate) code: Result<String, LoginError>,
    /// The issuer of the response (RFC 9207).
    pub(crate) issuer: Option<String>,
}

impl Callback {
    pub(crate) async fn open(port: Option<u16>) -> Result<Self, LoginError> {
        let closed = |_| LoginError::new("no local port can be opened for the browser's redirect");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await.map_err(closed)?;
        let port = listener.local_addr().map_err(closed)?.port();
        Ok(Self { listener, redirect: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The redirect URL.
    pub(crate) fn redirect(&self) -> &str {
        &self.redirect
    }

    /// Waits for the browser. Requests without our `state` are refused, and waiting continues. The caller limits the
    /// time.
    pub(crate) async fn wait(&self, state: &str) -> AuthorizationResponse {
        let mut visits = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if visits.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => {
                        let (state, redirect) = (state.to_owned(), self.redirect.clone());
                        visits.spawn(async move {
                            tokio::time::timeout(READ_TIMEOUT, visit(stream, &redirect, &state)).await.ok().flatten()
                        });
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                Some(visited) = visits.join_next() => if let Ok(Some(response)) = visited {
                    return response;
                },
            }
        }
    }
}

async fn visit(mut stream: TcpStream, redirect: &str, state: &str) -> Option<AuthorizationResponse> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_REQUEST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse(redirect).ok()?.join(target).ok();
    let (status, words, response) = match url.map(|url| read(&url, redirect, state)) {
        Some(CallbackRequest::Answer(response)) => match &response.code {
            Ok(_) => (
                "200 OK",
                "Login complete. Aquifer continues in the terminal. You can close this page.",
                Some(response),
            ),
            Err(_) => {
                ("200 OK", "Login failed. See the terminal for the reason. You can close this page.", Some(response))
            }
        },
        Some(CallbackRequest::WrongState) => {
            ("400 Bad Request", "This response does not belong to the login in progress.", None)
        }
        _ => ("404 Not Found", "Not found.", None),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Aquifer</title><p>{words}</p>");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    response
}

/// A request to the local port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallbackRequest {
    /// The browser, with the response to our request.
    Answer(AuthorizationResponse),
    /// A response to another request.
    WrongState,
    /// Any other request.
    OtherPath,
}

/// Reads the URL that a browser was redirected to.
pub(crate) fn read(url: &Url, redirect: &str, state: &str) -> CallbackRequest {
    let is_ours = Url::parse(redirect).is_ok_and(|own| own.origin() == url.origin() && own.path() == url.path());
    if !is_ours {
        return CallbackRequest::OtherPath;
    }
    let field = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if !field("state").is_some_and(|given| pkce::constant_time_eq(&given, state)) {
        return CallbackRequest::WrongState;
    }
    let code = match (field("code"), field("error")) {
        (_, Some(error)) if error == "access_denied" => Err(LoginError::new("the login was declined")),
        (_, Some(error)) => {
            let words = field("error_description").map(|words| format!(": {}", sanitized(&words, &[])));
            let words = format!("{}{}", sanitized(&error, &[]), words.unwrap_or_default());
            Err(LoginError::from_server("the authorization server refused the login", &words, &[]))
        }
        (Some(code), None) if !code.is_empty() => Ok(code),
        _ => Err(LoginError::new("the authorization server sent the browser back without a code")),
    };
    CallbackRequest::Answer(AuthorizationResponse { code, issuer: field("iss") })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:5000/callback";

    fn visit_to(url: &str) -> CallbackRequest {
        read(&Url::parse(url).unwrap(), REDIRECT, "our-state")
    }

    #[test]
    fn only_responses_with_our_state_are_accepted() {
        let code = |code: &str, issuer: Option<&str>| {
            CallbackRequest::Answer(AuthorizationResponse {
                code: Ok(code.to_owned()),
                issuer: issuer.map(str::to_owned),
            })
        };
        for (url, expected) in [
            ("http://127.0.0.1:5000/callback?code=a%2Bb&state=our-state", code("a+b", None)),
            (
                "http://127.0.0.1:5000/callback?state=our-state&code=c&iss=https%3A%2F%2Fas",
                code("c", Some("https://as")),
            ),
            ("http://127.0.0.1:5000/callback?code=c&state=other", CallbackRequest::WrongState),
            ("http://127.0.0.1:5000/callback?code=c&state=", CallbackRequest::WrongState),
            ("http://127.0.0.1:5000/callback?code=c", CallbackRequest::WrongState),
            ("http://127.0.0.1:5000/callback?error=access_denied&state=other", CallbackRequest::WrongState),
            ("http://127.0.0.1:5000/favicon.ico", CallbackRequest::OtherPath),
            ("http://evil.example/callback?code=c&state=our-state", CallbackRequest::OtherPath),
        ] {
            assert_eq!(visit_to(url), expected, "{url}");
        }
    }

    #[test]
    fn refusals_are_reported() {
        for (query, expected) in [
            ("error=access_denied", "declined"),
            ("error=invalid_scope&error_description=no%20such%1b%5b31m%20scope", "invalid_scope: no such scope"),
            ("code=", "without a code"),
            ("", "without a code"),
        ] {
            let CallbackRequest::Answer(response) = visit_to(&format!("{REDIRECT}?{query}&state=our-state")) else {
                panic!("{query}")
            };
            let failure = response.code.unwrap_err().to_string();
            assert!(failure.contains(expected), "{query}: {failure}");
        }
    }
}
