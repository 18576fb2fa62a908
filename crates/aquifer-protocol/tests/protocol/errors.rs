//! The registry of codes, and what messages may say.

use std::collections::BTreeSet;

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::error::{Code, Failure, FailureReason, Fault, REGISTRY};
use serde_json::json;

use crate::fixture::{catalog, envelope};

#[test]
fn r_res_3a_the_registry_is_sound() {
    let names: BTreeSet<&str> = REGISTRY.iter().map(|info| info.name).collect();
    assert_eq!(names.len(), REGISTRY.len(), "codes are unique");
    for info in REGISTRY {
        assert!(info.name.chars().all(|c| c.is_ascii_uppercase() || c == '_'), "{}", info.name);
        assert!(!info.remedy.is_empty() && !info.template.is_empty(), "{}", info.name);
        assert_eq!(info.code.as_str(), info.name);
        assert_eq!(
            info.http_status.is_none(),
            info.name.starts_with("SCHEMA_") || info.name == "PLUGIN_NOT_FOUND",
            "{}",
            info.name
        );
        let is_plugin = ["TRANSPORT_", "SERIALIZATION_", "AUTH_"].iter().any(|prefix| info.name.starts_with(prefix));
        let beyond = is_plugin || ["INTERNAL_ERROR", "UPSTREAM_UNAVAILABLE", "UPSTREAM_TIMEOUT"].contains(&info.name);
        assert_eq!(info.code.is_beyond_caller(), beyond, "{}", info.name);
    }
}

#[test]
fn r_res_3a_every_code_of_the_contract_exists_and_no_other() {
    let expected = "VALIDATION_MISSING_PARAM VALIDATION_INVALID_TYPE VALIDATION_INVALID_VALUE VALIDATION_UNKNOWN_PARAM \
        VALIDATION_UNKNOWN_FIELD VALIDATION_INVALID_ENCODING VALIDATION_PAYLOAD_TOO_LARGE VALIDATION_ENDPOINT_MISMATCH \
        VALIDATION_INVALID_REQUEST NOT_FOUND_OPERATION NOT_FOUND_RESOURCE CONFLICT_ALREADY_EXISTS \
        CONFLICT_VERSION_MISMATCH CONFLICT_CONSTRAINT PERMISSION_DENIED PERMISSION_TRUST_LEVEL_INSUFFICIENT \
        PERMISSION_DANGER_LEVEL_DENIED CONFIRMATION_REQUIRED TOKEN_INVALID TOKEN_EXPIRED TOKEN_ALREADY_USED \
        TOKEN_SCOPE_MISMATCH RATE_LIMIT_EXCEEDED RATE_LIMIT_QUOTA_PAUSE RATE_LIMIT_QUOTA_EXHAUSTED INTROSPECTION_ERROR \
        INTERNAL_ERROR UPSTREAM_UNAVAILABLE UPSTREAM_TIMEOUT UPSTREAM_ERROR SCHEMA_MISSING_FIELD SCHEMA_INVALID_TYPE \
        SCHEMA_UNRESOLVED_REF SCHEMA_DUPLICATE_NAME SCHEMA_INVALID_NAME SCHEMA_VERSION_UNSUPPORTED PLUGIN_NOT_FOUND \
        TRANSPORT_DNS_ERROR TRANSPORT_CONNECTION_REFUSED TRANSPORT_TIMEOUT TRANSPORT_TLS_ERROR TRANSPORT_NETWORK_ERROR \
        SERIALIZATION_PARSE_ERROR AUTH_CONFIG_INVALID AUTH_CREDENTIAL_MISSING";
    let expected: BTreeSet<&str> = expected.split_whitespace().collect();
    let names: BTreeSet<&str> = REGISTRY.iter().map(|info| info.name).collect();
    assert_eq!(names, expected);
}

#[test]
fn r_res_3a_every_code_is_documented() {
    let page = include_str!("../../../../docs/errors.md");
    for info in REGISTRY {
        let row = format!("| `{}` | {} | {} |", info.name, status(info.http_status), fault(info.fault));
        assert!(page.contains(&row), "docs/errors.md lacks the row {row}");
        assert!(page.contains(info.remedy), "docs/errors.md lacks the remedy of {}", info.name);
    }
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    for (name, _) in
        listed.filter(|(name, _)| name.chars().all(|char| char.is_ascii_uppercase() || "_0123456789".contains(char)))
    {
        assert!(REGISTRY.iter().any(|info| info.name == name), "docs/errors.md lists {name}, which is no code");
    }
}

#[test]
fn r_int_1a_codes_of_ours_are_documented_as_such() {
    let page = include_str!("../../../../docs/errors.md");
    let (_, rest) = page.split_once("declares as `error_codes`:").unwrap();
    let (sentence, _) = rest.split_once('.').unwrap();
    let documented: BTreeSet<&str> = sentence.split('`').skip(1).step_by(2).collect();
    let ours = REGISTRY.iter().filter(|info| info.code.is_extension()).map(|info| info.name);
    assert_eq!(documented, ours.collect());
}

fn status(status: Option<u16>) -> String {
    status.map_or("–".to_owned(), |status| status.to_string())
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Caller => "caller",
        Fault::Policy => "policy",
        Fault::Upstream => "upstream",
        Fault::Us => "us",
    }
}

#[test]
fn r_res_4_the_eight_patterns_are_recognised() {
    for leak in [
        "TypeError: x is not a function",
        "ReferenceError",
        "a SyntaxError here",
        "failed at Object.<anonymous>",
        "must be at least 3",
        "the format x",
        "in /src/index",
        "in /node_modules/x",
        "index.ts:12",
        "index.js:7",
    ] {
        assert!(looks_like_a_leak(leak), "{leak}");
    }
    for harmless in ["Attach a file", "the format", "database", "a.ts: b", "created"] {
        assert!(!looks_like_a_leak(harmless), "{harmless}");
    }
}

#[test]
fn r_res_4_no_template_remedy_or_description_looks_like_a_leak() {
    for info in REGISTRY {
        assert!(!looks_like_a_leak(info.template), "{}: {}", info.name, info.template);
    }
    for parameter in &catalog().operation("introspect").unwrap().parameters {
        let description = parameter.schema.description.as_deref().unwrap();
        assert!(!looks_like_a_leak(description), "{}: {description}", parameter.name);
    }
}

#[test]
fn r_res_4_causes_never_reach_the_caller() {
    let failure = Failure::internal("password=hunter2 in /etc/secret.conf").detail("source", "db");
    let reported = envelope(failure.clone()).to_string();
    assert!(!reported.contains("hunter2") && !reported.contains("/etc"), "{reported}");
    assert_eq!(failure.cause(), Some("password=hunter2 in /etc/secret.conf"));
    assert_eq!(failure.code(), Code::InternalError);
}

#[test]
fn r_res_4_identifiers_are_quoted_only_if_harmless() {
    assert_eq!(Failure::not_found("task", 7).message(), "Resource 'task' not found: '7'");
    let failure = Failure::not_found("file", "at /src/x.ts:5");
    assert_eq!(failure.message(), "Resource 'file' not found: '…'");
    assert_eq!(failure.details()["resource_id"], "at /src/x.ts:5");
}

#[test]
fn code_reads_reasons_and_callers_read_details() {
    let failure = || Failure::explained(Code::UpstreamError, "Source 's' refused the call", "no: why");
    for (reason, details) in [
        (FailureReason::SchemaChanged, json!({ "schema_changed": true })),
        (FailureReason::SourceError("no disk".into()), json!({ "upstream_error": "no disk" })),
        (FailureReason::ConfigurationChanged, json!({})),
        (FailureReason::CommandNotFound { source: "s".into() }, json!({})),
    ] {
        let failure = failure().with_reason(reason.clone());
        assert_eq!(json!(failure.details()), details, "{reason:?}");
        // What is said to the caller may change, and the reason stays.
        assert_eq!(failure.with_message("Something else").without_details().reason(), Some(&reason));
    }
    assert_eq!(failure().message(), "Source 's' refused the call: no: why");
    assert_eq!(failure().explanation(), "no: why");
    assert_eq!(failure().with_message("a: b").explanation(), "a: b");
    assert_eq!(Failure::new(Code::UpstreamError, "a: b").explanation(), "a: b");
    let renamed = failure().detail("operation", "own").with_operation_renamed("own", "catalog");
    assert_eq!(renamed.details()["operation"], "catalog");
    let other = failure().detail("operation", "other").with_operation_renamed("own", "catalog");
    assert_eq!(other.details()["operation"], "other");
}
