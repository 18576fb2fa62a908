//! The server URLs of an API.

use reqwest::Url;
use serde_json::Value;

use super::options::ReadOptions;
use super::text::quote;

/// The maximum number of variables in a URL.
const MAX_VARIABLES: usize = 32;

/// The URL of the first server in a list, without a trailing slash, or the reason why there is none.
pub(super) fn base_url(servers: Option<&Value>, options: &ReadOptions<'_>) -> Result<String, String> {
    let server = servers.and_then(Value::as_array).and_then(|all| all.first());
    let written = server.and_then(|server| server.get("url")).and_then(Value::as_str).unwrap_or("/");
    let url = fill_in(written, server.and_then(|server| server.get("variables")), options)?;
    let absolute = match Url::parse(&url) {
        Ok(url) => url,
        Err(_) => {
            let Some(base) = options.url.as_deref().and_then(|base| Url::parse(base).ok()) else {
                return Err(match server {
                    Some(_) => format!("the server URL {} is relative, and it is not known to what", quote(&url)),
                    None => "the description names no server".to_owned(),
                });
            };
            base.join(&url).map_err(|_| format!("the server URL {} is invalid", quote(&url)))?
        }
    };
    if !matches!(absolute.scheme(), "http" | "https") || !absolute.has_host() {
        return Err(format!("the server URL {} is not an HTTP URL", quote(&url)));
    }
    let mut absolute = absolute;
    absolute.set_query(None);
    absolute.set_fragment(None);
    // Credentials belong in environment variables. These calls fail only for URLs without a host.
    let _ = absolute.set_username("");
    let _ = absolute.set_password(None);
    Ok(absolute.as_str().trim_end_matches('/').to_owned())
}

/// The URL with its variables replaced by the operator's values, or by their defaults.
fn fill_in(written: &str, variables: Option<&Value>, options: &ReadOptions<'_>) -> Result<String, String> {
    let mut url = String::new();
    let mut rest = written;
    for _ in 0..MAX_VARIABLES {
        let Some((before, after)) = rest.split_once('{') else { break };
        let Some((name, after)) = after.split_once('}') else { break };
        let variable = variables.and_then(|variables| variables.get(name));
        let default = || match variable?.get("default")? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let first = || variable?.get("enum")?.as_array()?.first()?.as_str().map(str::to_owned);
        let Some(value) = options.server_variables.get(name).cloned().or_else(default).or_else(first) else {
            return Err(format!("the variable {} of the server URL has no value", quote(name)));
        };
        url.push_str(before);
        url.push_str(&value);
        rest = after;
    }
    url.push_str(rest);
    Ok(url)
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_are_absolute_and_without_variables() {
        let mut options =
            ReadOptions { url: Some("https://example.com/docs/api.yaml".to_owned()), ..ReadOptions::default() };
        options.server_variables.insert("region".to_owned(), "eu".to_owned());
        for (servers, expected) in [
            (json!([{ "url": "https://api.example.com/v1/" }]), Ok("https://api.example.com/v1")),
            (json!([{ "url": "/v2" }]), Ok("https://example.com/v2")),
            (json!([{ "url": "v2" }]), Ok("https://example.com/docs/v2")),
            (json!([{ "url": "//other.example.com" }]), Ok("https://other.example.com")),
            (json!([]), Ok("https://example.com")),
            (
                json!([{ "url": "https://{region}.example.com:{port}", "variables": { "region": { "default": "us" }, "port": { "default": 8443 } } }]),
                Ok("https://eu.example.com:8443"),
            ),
            (json!([{ "url": "https://{host}" }]), Err("'host'")),
            (json!([{ "url": "ftp://example.com" }]), Err("not an HTTP URL")),
        ] {
            let found = base_url(Some(&servers), &options);
            match (found, expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url, expected),
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason}"),
                (found, _) => panic!("{servers}: {found:?}"),
            }
        }
        let nowhere = base_url(Some(&json!([{ "url": "/v2" }])), &ReadOptions::default());
        assert!(nowhere.is_err_and(|reason| reason.contains("relative")));
    }
}
