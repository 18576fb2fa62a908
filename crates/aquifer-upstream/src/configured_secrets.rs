//! Configured values of an upstream that must not be shown.
//!
//! Every value of an environment variable, a header or a query may be a secret, so all of them are removed from errors
//! and logs. Descriptions and lists lose only values whose name or format marks them as secrets: a configured region or
//! mode may also occur in the texts of tools and has to stay readable there.

use aquifer_discovery::redact;
use aquifer_protocol::secrets::{self, is_auth_scheme, may_name_secret};

use crate::settings::{Settings, Transport};

/// Shorter values are too common to be removed everywhere.
pub(crate) const MIN_SECRET_CHARS: usize = 6;

/// Configured values that must not be shown.
#[derive(Default)]
pub(crate) struct ConfiguredSecrets {
    /// Secrets, which are removed from all text.
    pub(crate) secrets: Vec<String>,
    /// Values that are probably not secrets, which are removed from errors and logs only.
    pub(crate) values: Vec<String>,
}

impl ConfiguredSecrets {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let mut configured = Self::default();
        match &settings.transport {
            Transport::Stdio { args, env, .. } => {
                env.iter().for_each(|(name, value)| configured.add(name, value));
                let hidden = args.iter().zip(redact::arguments(args)).filter(|(argument, shown)| *argument != shown);
                hidden.for_each(|(argument, _)| configured.add_argument(argument));
            }
            Transport::Http { url, headers, bearer } => {
                configured.add_url(url);
                for (name, value) in headers.iter().filter(|(name, value)| redact::header(name, value) != *value) {
                    value
                        .split_whitespace()
                        .filter(|word| !is_auth_scheme(word))
                        .for_each(|word| configured.add(name, word));
                }
                bearer.iter().for_each(|bearer| configured.add_secret(&bearer.token));
            }
        }
        for secret in settings.login.iter().filter_map(|login| login.client_secret.as_deref()) {
            configured.add_secret(secret);
        }
        configured.sorted()
    }

    fn add(&mut self, name: &str, value: &str) {
        // A common word in a description reveals nothing, even if it is also a password.
        let is_common = value.len() <= 10 && value.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_secret = may_name_secret(name) || redact::looks_secret(value) || !is_plain(value);
        if is_secret && !is_common {
            self.add_secret(value);
        } else {
            self.values.push(value.to_owned());
        }
    }

    fn add_secret(&mut self, secret: &str) {
        self.secrets.extend(spellings(secret));
    }

    /// Adds a secret argument: the whole argument, and the value it contains.
    fn add_argument(&mut self, argument: &str) {
        self.add_secret(argument);
        if argument.contains("://") {
            self.add_url(argument);
        }
        if let Some((_, value)) = argument.split_once(['=', ':']).filter(|(_, value)| !value.starts_with("//")) {
            value.split_whitespace().filter(|word| !is_auth_scheme(word)).for_each(|word| self.add_secret(word));
        }
    }

    fn add_url(&mut self, url: &str) {
        let Some((_, rest)) = url.split_once("://") else { return };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some((user_info, _)) = authority.rsplit_once('@') {
            let (user, password) = user_info.split_once(':').unwrap_or(("", user_info));
            self.add_secret(password);
            self.values.push(user.to_owned());
        }
        path.split('/').filter(|segment| redact::looks_secret(segment)).for_each(|segment| self.add_secret(segment));
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            self.add(name, value);
        }
    }

    /// Longest first, because one may contain another.
    fn sorted(mut self) -> Self {
        for list in [&mut self.secrets, &mut self.values] {
            list.retain(|text| text.chars().count() >= MIN_SECRET_CHARS);
            list.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
            list.dedup();
        }
        self
    }
}

/// The spellings in which a server may repeat a secret.
pub(crate) fn spellings(secret: &str) -> Vec<String> {
    if secret.len() < MIN_SECRET_CHARS { vec![secret.to_owned()] } else { secrets::spellings(secret) }
}

/// Whether a value consists of words and small numbers, like modes, regions, versions, hosts and paths.
fn is_plain(value: &str) -> bool {
    const MAX_WORD: usize = 20;
    const MAX_DIGITS: usize = 5;
    value.split(|c: char| "-_./:, ~@".contains(c)).all(|part| {
        (part.len() <= MAX_WORD && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
            || (part.len() <= MAX_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_distinguished_from_plain_settings() {
        let mut settings =
            Settings::stdio("x", "server", ["--token=s3cret-argument", "--db", "postgres://u:p4ssw0rd@db/x"]);
        if let Transport::Stdio { env, .. } = &mut settings.transport {
            for (name, value) in [
                ("API_KEY", "abc-def-ghi-jkl"),
                ("REGION", "eu-west-1"),
                ("MODE", "production"),
                ("PASSWORD", "postgres"),
                ("ODD", "hunter2-x9"),
                ("SHORT_TOKEN", "abc"),
                ("DATA", "/srv/data"),
            ] {
                env.push((name.to_owned(), value.to_owned()));
            }
        }
        let ConfiguredSecrets { secrets, values } = ConfiguredSecrets::from_settings(&settings);
        for secret in ["--token=s3cret-argument", "s3cret-argument", "p4ssw0rd", "abc-def-ghi-jkl", "hunter2-x9"] {
            assert!(secrets.iter().any(|known| known == secret), "{secret}: {secrets:?}");
        }
        for value in ["eu-west-1", "production", "postgres", "/srv/data"] {
            assert!(values.iter().any(|known| known == value), "{value}: {values:?}");
            assert!(!secrets.iter().any(|known| known == value), "{value}: {secrets:?}");
        }
    }

    #[test]
    fn secrets_in_urls_and_headers_are_found() {
        let mut settings = Settings::http(
            "x",
            "https://user:pa55word@example.com/s/ghp_0123456789abcdef/mcp?api_key=abcdef&mode=readonly",
        );
        if let Transport::Http { headers, bearer, .. } = &mut settings.transport {
            headers.push(("Authorization".to_owned(), "Bearer h3ader-token".to_owned()));
            headers.push(("X-Team".to_owned(), "blue-team".to_owned()));
            *bearer = Some(crate::BearerToken { token: "be4rer\"quoted+token".to_owned(), env: None });
        }
        let ConfiguredSecrets { secrets, values } = ConfiguredSecrets::from_settings(&settings);
        for secret in [
            "pa55word",
            "ghp_0123456789abcdef",
            "h3ader-token",
            "be4rer\"quoted+token",
            "be4rer\\\"quoted+token",
            "be4rer%22quoted%2Btoken",
        ] {
            assert!(secrets.iter().any(|known| known == secret), "{secret}: {secrets:?}");
        }
        assert!(
            values.iter().any(|known| known == "readonly") && values.iter().any(|known| known == "blue-team"),
            "{values:?}"
        );
        assert!(!secrets.iter().chain(&values).any(|known| known == "Bearer"), "{secrets:?}");
    }
}
