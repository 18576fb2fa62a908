//! The target of an adapter and its authentication: plugins by name, and no credentials.

use aquifer_protocol::error::Code;

use super::refuse;
use crate::adapter::{AdapterAuth, KeyPlace, Target};
use crate::problem::{Findings, join};
use crate::redact;
use crate::text::yaml::Node;

/// The supported plugins. The published schema names more, which are not implemented.
const TRANSPORTS: &[&str] = &["http", "native"];
const PROTOCOLS: &[&str] = &["rest", "custom"];
const SERIALIZATIONS: &[&str] = &["json"];
const AUTHENTICATIONS: &[&str] = &["none", "bearer", "api_key", "basic", "oauth2"];

pub(super) fn target(node: &Node, findings: &mut Findings, warnings: &mut Vec<String>) -> Option<Target> {
    if !findings.object(node, "target", &["base_url", "transport", "protocol", "serialization"]) {
        return None;
    }
    let mut plugin = |key: &str, supported: &[&'static str]| {
        let field = findings.required(node, key, "target")?;
        findings.one_of(field, &join("target", key), supported, Code::PluginNotFound)
    };
    let transport = plugin("transport", TRANSPORTS);
    let protocol = plugin("protocol", PROTOCOLS);
    let serialization = plugin("serialization", SERIALIZATIONS);
    let url_field = findings.required(node, "base_url", "target")?;
    let base_url = findings.text(url_field, "target.base_url")?;
    serialization?;
    let path = "target.base_url";
    match (transport?, protocol?) {
        ("native", "custom") => match base_url.strip_prefix("stdio:").filter(|name| !name.is_empty()) {
            Some(name) => Some(Target::McpStdio { name: name.to_owned() }),
            None => {
                let message = format!("Field '{path}' expected 'stdio:NAME' for a native transport");
                findings.add(Code::SchemaInvalidType, path, url_field.at, message);
                None
            }
        },
        ("http", protocol) => {
            let url = http_url(&base_url, url_field, protocol == "rest", findings, warnings)?;
            Some(if protocol == "custom" { Target::McpHttp { url } } else { Target::Rest { base_url: url } })
        }
        (_, protocol) => {
            let message = format!("Unknown plugin '{protocol}' for a native transport");
            let suggestion = Some("Use protocol 'custom'".to_owned());
            findings.add_with(Code::PluginNotFound, "target.protocol", node.at, message, suggestion);
            None
        }
    }
}

fn http_url(
    url: &str,
    node: &Node,
    is_rest: bool,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Option<String> {
    let path = "target.base_url";
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)) else {
        let message = format!("Field '{path}' expected 'an http or https URL'");
        findings.add(Code::SchemaInvalidType, path, node.at, message);
        return None;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let query_secret = query.split('&').filter_map(|pair| pair.split_once('=')).any(|(key, value)| {
        !value.is_empty() && value != "REDACTED" && (redact::names_secret(key) || redact::looks_secret(value))
    });
    if authority.contains('@') || query_secret {
        refuse(path, node.at, findings);
        return None;
    }
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if url.starts_with("http://") && !is_local && is_rest {
        let message = format!("Field '{path}' expected 'an https URL': http is for this machine only");
        findings.add(Code::SchemaInvalidType, path, node.at, message);
        return None;
    }
    if url.starts_with("http://") && !is_local {
        warnings.push(format!("'{path}' is not encrypted"));
    }
    if is_rest && url.ends_with('/') {
        let message = format!("Field '{path}' expected 'a URL without a trailing slash': paths begin with one");
        findings.add(Code::SchemaInvalidType, path, node.at, message);
        return None;
    }
    if url.contains("REDACTED") {
        warnings.push(format!("'{path}' was redacted; the configuration must contain the full URL"));
    }
    Some(url.trim_end_matches('/').to_owned())
}

const AUTH_FIELDS: &[&str] = &[
    "type",
    "header",
    "header_name",
    "prefix",
    "token_env",
    "key_env",
    "token_command",
    "username_env",
    "password_env",
    "in",
    "token_url",
    "client_id_env",
    "client_secret_env",
    "refresh_token_env",
    "config",
    "description",
    "scopes",
];

pub(super) fn auth(node: &Node, is_rest: bool, findings: &mut Findings) -> AdapterAuth {
    let Some(entries) = node.entries() else {
        findings.wrong_type(node, "auth", "object");
        return AdapterAuth::None;
    };
    let mut holds_credential = false;
    for entry in entries {
        let path = join("auth", &entry.key);
        if AUTH_FIELDS.contains(&entry.key.as_str()) {
            if entry.key.ends_with("_env") && !entry.value.as_str().is_some_and(redact::is_variable_name) {
                let message = format!("Field '{path}' expected 'the name of an environment variable'");
                let suggestion = Some("Write the variable's name, never its value".to_owned());
                findings.add_with(Code::SchemaInvalidType, &path, entry.value.at, message, suggestion);
            }
        } else if redact::names_secret(&entry.key) || entry.key == "value" {
            refuse(&path, entry.key_at, findings);
            holds_credential = true;
        }
        // Other keys are allowed here: the published schema leaves the block open.
    }
    let Some(kind) = findings.required(node, "type", "auth") else { return AdapterAuth::None };
    let kind = findings.one_of(kind, "auth.type", AUTHENTICATIONS, Code::PluginNotFound);
    let header = findings.optional_text(node, "header", "auth").or(findings.optional_text(node, "header_name", "auth"));
    // The credential check has already suggested what to write instead.
    if is_rest
        && !holds_credential
        && let Some(key) = kind.and_then(credential_field)
    {
        findings.required(node, key, "auth");
    }
    match kind {
        Some("bearer") => AdapterAuth::Bearer {
            token_env: findings.optional_text(node, "token_env", "auth"),
            prefix: findings.optional_text(node, "prefix", "auth").unwrap_or_else(|| "Bearer ".to_owned()),
            header: header.unwrap_or_else(|| "Authorization".to_owned()),
        },
        Some("api_key") => {
            let key_env = findings.optional_text(node, "key_env", "auth");
            let Some(header) = header else {
                findings.missing("auth.header_name", node.at);
                return AdapterAuth::None;
            };
            AdapterAuth::ApiKey { key_env, header, place: key_place(node, findings) }
        }
        Some("basic") => AdapterAuth::Basic {
            username_env: required_variable(node, "username_env", findings),
            password_env: required_variable(node, "password_env", findings),
        },
        Some("oauth2") => oauth2(node, findings),
        _ => AdapterAuth::None,
    }
}

/// The field that names the variable with the credential. An MCP server may get its credential in another way.
fn credential_field(kind: &str) -> Option<&'static str> {
    match kind {
        "bearer" => Some("token_env"),
        "api_key" => Some("key_env"),
        _ => None,
    }
}

/// The name of an environment variable that the authentication requires.
fn required_variable(node: &Node, key: &str, findings: &mut Findings) -> String {
    findings.required(node, key, "auth").and_then(|field| field.as_str().map(str::to_owned)).unwrap_or_default()
}

fn key_place(node: &Node, findings: &mut Findings) -> KeyPlace {
    let Some(field) = node.get("in") else { return KeyPlace::Header };
    match findings.one_of(field, "auth.in", &["header", "query", "cookie"], Code::SchemaInvalidType) {
        Some("query") => KeyPlace::Query,
        Some("cookie") => KeyPlace::Cookie,
        _ => KeyPlace::Header,
    }
}

/// An OAuth 2 client that gets tokens with its own credentials, or with a refresh token.
fn oauth2(node: &Node, findings: &mut Findings) -> AdapterAuth {
    let token_url = match findings.required(node, "token_url", "auth") {
        Some(field) => findings.text(field, "auth.token_url").unwrap_or_default(),
        None => String::new(),
    };
    let refresh_token_env = findings.optional_text(node, "refresh_token_env", "auth");
    let client_secret_env = findings.optional_text(node, "client_secret_env", "auth");
    if client_secret_env.is_none() && refresh_token_env.is_none() {
        findings.missing("auth.client_secret_env", node.at);
    }
    let scopes = match node.get("scopes") {
        Some(list) => match list.items() {
            Some(items) => items.iter().filter_map(|item| findings.text(item, "auth.scopes")).collect(),
            None => {
                findings.text(list, "auth.scopes").iter().flat_map(|text| text.split(' ').map(str::to_owned)).collect()
            }
        },
        None => Vec::new(),
    };
    AdapterAuth::OAuth2 {
        token_url,
        client_id_env: required_variable(node, "client_id_env", findings),
        client_secret_env,
        refresh_token_env,
        scopes,
    }
}
