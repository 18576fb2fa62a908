//! Authentication schemes of an API. Credentials come from environment variables named after the source.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use aquifer_protocol::case::snake_identifier;
use reqwest::Url;
use serde_json::{Map, Value};

use super::document::Document;
use super::text::quote;
use crate::api::{AuthScheme, CredentialPlace};

/// The maximum number of authentication schemes that are used. Each set of scopes counts separately.
const MAX_SCHEMES: usize = 64;

/// The maximum number of schemes that are read from a description.
const MAX_READ: usize = 64;

/// The maximum number of scopes that are requested.
const MAX_SCOPES: usize = 64;

/// How the operations of a description use each scheme.
pub(super) type SchemeUses = BTreeMap<String, SchemeUse>;

/// How the operations of a description use a scheme.
#[derive(Debug, Default)]
pub(super) struct SchemeUse {
    count: usize,
    /// The scopes that the operations need.
    scopes: BTreeSet<String>,
}

/// Counts the schemes in one operation's requirements.
pub(super) fn count(requirements: &Value, uses: &mut SchemeUses) {
    for (name, scopes) in requirements.as_array().into_iter().flatten().filter_map(Value::as_object).flatten() {
        let known = uses.entry(scheme_name(name).to_owned()).or_default();
        known.count += 1;
        let room = MAX_SCOPES.saturating_sub(known.scopes.len());
        known.scopes.extend(scope_names(scopes).take(room));
    }
}

/// Reads the schemes: those of the whole description first, then those that most operations require.
pub(super) fn read<'r>(
    document: &'r Document<'r>,
    source: &str,
    base_url: &'r str,
    uses: &SchemeUses,
) -> SchemeReader<'r> {
    let prefix = snake_identifier(source).to_uppercase();
    let prefix = if prefix.is_empty() { "API".to_owned() } else { prefix };
    let mut reader = SchemeReader { document, prefix, base_url, ..SchemeReader::empty(document) };
    let schemes = document.root().pointer("/components/securitySchemes").and_then(Value::as_object);
    let Some(schemes) = schemes else { return reader };
    let global = document.root().get("security").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let requirements: Vec<&Map<String, Value>> = global.iter().filter_map(Value::as_object).collect();
    let mut order: Vec<&str> = Vec::new();
    // A requirement with a single scheme is met by that scheme alone; several schemes must be met together.
    for requirement in
        requirements.iter().filter(|one| one.len() == 1).chain(requirements.iter().filter(|one| one.len() > 1))
    {
        order.extend(requirement.keys().map(String::as_str));
    }
    let mut others: Vec<&str> = schemes.keys().map(String::as_str).collect();
    others.sort_by_key(|name| (Reverse(uses.get(*name).map_or(0, |known| known.count)), *name));
    order.extend(others);
    let mut seen = HashSet::new();
    for name in order.into_iter().filter(|name| seen.insert(*name)).take(MAX_READ) {
        let required = required_scopes(&requirements, name);
        let used = || uses.get(name).map(|known| known.scopes.iter().cloned().collect()).unwrap_or_default();
        let is_global = requirements.iter().any(|requirement| requirement.contains_key(name));
        let scopes: Vec<String> = if is_global { required } else { used() };
        reader.ways_with(name, scopes);
    }
    reader
}

/// The scopes that the requirements list for a scheme.
fn required_scopes(requirements: &[&Map<String, Value>], name: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in requirements.iter().filter_map(|requirement| requirement.get(name)).flat_map(scope_names) {
        if !scopes.contains(&scope) && scopes.len() < MAX_SCOPES {
            scopes.push(scope);
        }
    }
    scopes
}

/// The name of a scheme, which may also be written as a reference to it (OpenAPI 3.2).
fn scheme_name(written: &str) -> &str {
    written.strip_prefix("#/components/securitySchemes/").unwrap_or(written)
}

fn scope_names(json: &Value) -> impl Iterator<Item = String> {
    json.as_array().into_iter().flatten().filter_map(Value::as_str).take(MAX_SCOPES).map(str::to_owned)
}

/// Reads security schemes, each once per set of scopes.
pub(super) struct SchemeReader<'r> {
    document: &'r Document<'r>,
    prefix: String,
    base_url: &'r str,
    auth: Vec<AuthScheme>,
    notes: Vec<String>,
    /// The variables already used for API keys.
    keys: HashSet<String>,
    /// The indexes of the ways to meet a scheme with these scopes, the preferred one first.
    known: HashMap<(String, Vec<String>), Vec<usize>>,
    /// The scopes needed by the scheme that is being read.
    scopes: Vec<String>,
    /// The ways to meet the scheme that is being read.
    ways: Vec<usize>,
}

impl<'r> SchemeReader<'r> {
    fn empty(document: &'r Document<'r>) -> Self {
        Self {
            document,
            prefix: String::new(),
            base_url: "",
            auth: Vec::new(),
            notes: Vec::new(),
            keys: HashSet::new(),
            known: HashMap::new(),
            scopes: Vec::new(),
            ways: Vec::new(),
        }
    }

    /// The ways to meet a scheme with the scopes of a requirement. Empty if it is not supported.
    pub(super) fn ways(&mut self, name: &str, scopes: &Value) -> Vec<usize> {
        let mut scopes: Vec<String> = scope_names(scopes).collect();
        scopes.dedup();
        self.ways_with(name, scopes)
    }

    fn ways_with(&mut self, name: &str, scopes: Vec<String>) -> Vec<usize> {
        let name = scheme_name(name);
        let schemes = self.document.root().pointer("/components/securitySchemes");
        let Some(scheme) = schemes.and_then(|schemes| self.document.resolve(schemes.get(name)?).ok()) else {
            self.note(format!("The security scheme {} is required and not described.", quote(name)));
            return Vec::new();
        };
        // Scopes affect only tokens that are requested here.
        let is_scoped = scheme.get("type").is_some_and(|kind| kind == "oauth2");
        let key = (name.to_owned(), if is_scoped { scopes } else { Vec::new() });
        if let Some(ways) = self.known.get(&key) {
            return ways.clone();
        }
        self.scopes.clone_from(&key.1);
        self.ways.clear();
        self.add(name, scheme);
        let ways = std::mem::take(&mut self.ways);
        self.known.insert(key, ways.clone());
        ways
    }

    /// Whether one of these ways uses the same place in a request as another one.
    pub(super) fn shares_place(&self, chosen: &[usize], way: usize) -> bool {
        let place = |index: usize| self.auth.get(index).map(AuthScheme::place);
        chosen.iter().any(|index| place(*index) == place(way))
    }

    /// Adds a note for the operator, once.
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_READ && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// All authentication schemes, and notes for the operator about them.
    pub(super) fn finish(self) -> (Vec<AuthScheme>, Vec<String>) {
        (self.auth, self.notes)
    }

    fn add(&mut self, name: &str, scheme: &Value) {
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        match (kind, text("scheme").to_ascii_lowercase().as_str()) {
            ("apiKey", _) => self.add_key(name, scheme),
            ("http", "bearer") => self.push(self.bearer()),
            ("http", "basic") => self.push(AuthScheme::Basic {
                username_variable: self.variable("USERNAME"),
                password_variable: self.variable("PASSWORD"),
            }),
            ("oauth2", _) => self.add_oauth(scheme),
            ("openIdConnect", _) => {
                self.push(self.bearer());
                let note = format!(
                    "The security scheme {} uses OpenID Connect: get a token there and set {}.",
                    quote(name),
                    self.variable("TOKEN")
                );
                self.note(note);
            }
            (kind, scheme) => {
                let what = [kind, scheme].into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ");
                self.note(format!("The security scheme {} ({}) is not supported.", quote(name), quote(&what)));
            }
        }
    }

    fn add_key(&mut self, name: &str, scheme: &Value) {
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let key = text("name");
        let is_sendable = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        let place = match text("in") {
            "header" if is_sendable => CredentialPlace::Header(key.to_owned()),
            "query" if is_sendable => CredentialPlace::Query(key.to_owned()),
            "cookie" if is_sendable => CredentialPlace::Cookie(key.to_owned()),
            _ => {
                self.note(format!("The API key {} has no valid place; it is not sent.", quote(name)));
                return;
            }
        };
        // Before OpenAPI 3, bearer tokens had to be described as API keys in this header.
        let is_token = key.eq_ignore_ascii_case("authorization") && matches!(place, CredentialPlace::Header(_));
        let says_bearer = [text("description"), name].iter().any(|one| one.to_lowercase().contains("bearer"));
        if is_token && says_bearer {
            return self.push(self.bearer());
        }
        let mut variable = self.variable(if is_token { "TOKEN" } else { "API_KEY" });
        if !self.keys.insert(variable.clone()) {
            // `API_KEY` is always part of the name, so that a description cannot name any variable that begins with the
            // source.
            variable = self.variable(&format!("API_KEY_{}", snake_identifier(name).to_uppercase()));
            self.keys.insert(variable.clone());
        }
        self.push(AuthScheme::Credential { place, prefix: String::new(), variable });
    }

    fn add_oauth(&mut self, scheme: &Value) {
        let flow = |name: &str| scheme.get("flows").and_then(|flows| flows.get(name));
        let url = |flow: &Value, key: &str| self.absolute(flow.get(key)?.as_str()?);
        let own = flow("clientCredentials").and_then(|flow| url(flow, "tokenUrl"));
        let flows = ["authorizationCode", "deviceAuthorization", "password", "implicit"];
        let refresh = flows.iter().filter_map(|name| flow(name)).find_map(|flow| url(flow, "refreshUrl"));
        let refresh = refresh.or_else(|| flow("authorizationCode").and_then(|flow| url(flow, "tokenUrl")));
        if let Some(token_url) = own {
            let scopes = self.scopes.clone();
            let (id_variable, secret_variable) = (self.variable("CLIENT_ID"), self.variable("CLIENT_SECRET"));
            self.push(AuthScheme::ClientCredentials { token_url, id_variable, secret_variable, scopes });
        }
        if let Some(token_url) = refresh {
            self.push(AuthScheme::RefreshToken {
                token_url,
                id_variable: self.variable("CLIENT_ID"),
                secret_variable: Some(self.variable("CLIENT_SECRET")),
                token_variable: self.variable("REFRESH_TOKEN"),
            });
        }
        // An operator who already has an access token can use it.
        self.push(self.bearer());
    }

    fn absolute(&self, written: &str) -> Option<String> {
        let url =
            Url::parse(written).or_else(|_| Url::parse(self.base_url).and_then(|base| base.join(written))).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.to_string())
    }

    fn bearer(&self) -> AuthScheme {
        AuthScheme::Credential {
            place: CredentialPlace::Header("Authorization".to_owned()),
            prefix: "Bearer ".to_owned(),
            variable: self.variable("TOKEN"),
        }
    }

    fn variable(&self, what: &str) -> String {
        format!("{}_{what}", self.prefix)
    }

    fn push(&mut self, scheme: AuthScheme) {
        let index = self.auth.iter().position(|known| *known == scheme).unwrap_or(self.auth.len());
        if index == self.auth.len() {
            if index == MAX_SCHEMES {
                self.note(format!(
                    "The API has more than {MAX_SCHEMES} ways to authenticate; the others are not used."
                ));
                return;
            }
            self.auth.push(scheme);
        }
        if !self.ways.contains(&index) {
            self.ways.push(index);
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::super::options::ReadOptions;
    use super::*;

    fn read_schemes(root: &Value, uses: &SchemeUses) -> (Vec<AuthScheme>, Vec<String>) {
        let options = ReadOptions::default();
        let document = Document::load(root, &options);
        read(&document, "git-hub", "https://api.example.com/v1", uses).finish()
    }

    fn key(place: CredentialPlace, prefix: &str, variable: &str) -> AuthScheme {
        AuthScheme::Credential { place, prefix: prefix.to_owned(), variable: variable.to_owned() }
    }

    #[test]
    fn schemes_name_variables_of_the_source() {
        let header = || CredentialPlace::Header("Authorization".to_owned());
        for (scheme, expected) in [
            (json!({ "type": "http", "scheme": "Bearer" }), key(header(), "Bearer ", "GIT_HUB_TOKEN")),
            (
                json!({ "type": "apiKey", "in": "query", "name": "key" }),
                key(CredentialPlace::Query("key".to_owned()), "", "GIT_HUB_API_KEY"),
            ),
            (json!({ "type": "apiKey", "in": "header", "name": "Authorization" }), key(header(), "", "GIT_HUB_TOKEN")),
            (
                json!({ "type": "apiKey", "in": "header", "name": "Authorization", "description": "Bearer token" }),
                key(header(), "Bearer ", "GIT_HUB_TOKEN"),
            ),
            (
                json!({ "type": "http", "scheme": "basic" }),
                AuthScheme::Basic {
                    username_variable: "GIT_HUB_USERNAME".to_owned(),
                    password_variable: "GIT_HUB_PASSWORD".to_owned(),
                },
            ),
            (
                json!({ "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "/oauth/token", "scopes": {} } } }),
                AuthScheme::ClientCredentials {
                    token_url: "https://api.example.com/oauth/token".to_owned(),
                    id_variable: "GIT_HUB_CLIENT_ID".to_owned(),
                    secret_variable: "GIT_HUB_CLIENT_SECRET".to_owned(),
                    scopes: vec!["read".to_owned()],
                },
            ),
        ] {
            let root =
                json!({ "security": [{ "one": ["read"] }], "components": { "securitySchemes": { "one": scheme } } });
            assert_eq!(read_schemes(&root, &SchemeUses::new()).0[0], expected, "{root}");
        }
    }

    #[test]
    fn the_first_global_requirement_is_preferred_then_the_most_used() {
        let schemes = json!({ "securitySchemes": {
            "a": { "type": "apiKey", "in": "header", "name": "X-A" },
            "b": { "type": "apiKey", "in": "header", "name": "X-B" },
            "c": { "type": "http", "scheme": "bearer" },
            "d": { "type": "mutualTLS" }
        } });
        let mut uses = SchemeUses::new();
        count(&json!([{ "b": [] }, { "b": [] }, { "a": [] }]), &mut uses);
        let first = |root: &Value| read_schemes(root, &uses).0[0].clone();
        assert_eq!(
            first(&json!({ "components": schemes, "security": [{}, { "d": [] }, { "c": [] }] })),
            key(CredentialPlace::Header("Authorization".to_owned()), "Bearer ", "GIT_HUB_TOKEN")
        );
        let (auth, notes) = read_schemes(&json!({ "components": schemes }), &uses);
        assert_eq!(auth[0], key(CredentialPlace::Header("X-B".to_owned()), "", "GIT_HUB_API_KEY"));
        assert_eq!(auth[1], key(CredentialPlace::Header("X-A".to_owned()), "", "GIT_HUB_API_KEY_A"));
        assert!(notes[0].contains("mutualTLS"));
    }
}
