//! The `WWW-Authenticate` header of a server that requires a login.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// A request for a bearer token.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The URL of the protected resource metadata (RFC 9728).
    pub(crate) resource_metadata: Option<String>,
    /// The required scopes.
    pub(crate) scopes: Vec<String>,
    /// The error code for the token that was sent.
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// The first challenge for a bearer token in the headers.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE);
        values.iter().filter_map(|value| value.to_str().ok()).find_map(Self::parse)
    }

    /// Whether the token is valid but its scopes do not suffice (RFC 6750).
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return found;
            }
            let (word, after) = split_token(rest);
            if word.is_empty() {
                // Invalid syntax. The rest of the header may still be valid.
                rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
                continue;
            }
            match after.trim_start_matches([' ', '\t']).strip_prefix('=') {
                Some(after) => {
                    let (value, after) = split_value(after.trim_start_matches([' ', '\t']));
                    if let Some(challenge) = &mut found {
                        challenge.set_parameter(word, value);
                    }
                    rest = after;
                }
                // Another scheme begins.
                None if found.is_some() => return found,
                None => {
                    found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                    rest = after;
                }
            }
        }
    }

    fn set_parameter(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" if self.resource_metadata.is_none() => self.resource_metadata = Some(value),
            "scope" if self.scopes.is_empty() => self.scopes = split_scopes(&value),
            "error" if self.error.is_none() => self.error = Some(value),
            _ => {}
        }
    }
}

/// Splits a list of scopes and removes duplicates.
pub(crate) fn split_scopes(text: &str) -> Vec<String> {
    const MAX_SCOPES: usize = 100;
    let mut found: Vec<String> = Vec::new();
    for scope in text.split_whitespace().take(MAX_SCOPES) {
        if !found.iter().any(|known| known == scope) {
            found.push(scope.to_owned());
        }
    }
    found
}

fn split_token(text: &str) -> (&str, &str) {
    let end = text.find([' ', '\t', ',', '=', '"']).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, after) = text.split_at_checked(end).unwrap_or((text, ""));
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_leniently() {
        let metadata = Some("https://a.example/meta?x=1,2".to_owned());
        for (text, expected) in [
            ("Bearer", Some(Challenge::default())),
            ("bearer   realm=\"x\"", Some(Challenge::default())),
            (
                r#"Bearer realm="a \"b\", c", error="invalid_token", resource_metadata="https://a.example/meta?x=1,2""#,
                Some(Challenge {
                    resource_metadata: metadata.clone(),
                    error: Some("invalid_token".into()),
                    ..Challenge::default()
                }),
            ),
            (
                r#"Basic realm="x", Bearer scope="a b  a", resource_metadata = "https://a.example/meta?x=1,2", Digest nonce="n""#,
                Some(Challenge { resource_metadata: metadata, scopes: vec!["a".into(), "b".into()], error: None }),
            ),
            (
                "Basic YWJj==, Bearer error=insufficient_scope,scope=files",
                Some(Challenge {
                    resource_metadata: None,
                    scopes: vec!["files".into()],
                    error: Some("insufficient_scope".into()),
                }),
            ),
            ("Negotiate", None),
            ("", None),
            (",,=\"==\"\\", None),
            (
                "Bearer scope=\"never ends",
                Some(Challenge { scopes: vec!["never".into(), "ends".into()], ..Challenge::default() }),
            ),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn all_headers_are_parsed() {
        let mut headers = HeaderMap::new();
        headers.append(WWW_AUTHENTICATE, "Basic realm=x".parse().unwrap());
        headers.append(WWW_AUTHENTICATE, "Bearer scope=y".parse().unwrap());
        assert_eq!(Challenge::read(&headers).unwrap().scopes, ["y"]);
        assert_eq!(Challenge::read(&HeaderMap::new()), None);
    }
}
