//! The registry of error codes: one table for all uses.
//!
//! Programs react to codes, so a code is never renamed and never reused. The table also states who has to act on a
//! failure, so that call sites cannot disagree.

/// Who has to act so that the same request can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request itself has to change.
    Caller,
    /// The operator's policy forbids it.
    Policy,
    /// A system behind us refused, failed or was slow.
    Upstream,
    /// We failed.
    Us,
}

/// The registry's entry for one code.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Its name in the protocol.
    pub name: &'static str,
    /// Who has to act.
    pub fault: Fault,
    /// The HTTP status nearest in meaning. `None` for errors in files.
    pub http_status: Option<u16>,
    /// What the caller can do about it.
    pub remedy: &'static str,
    /// The beginning of messages with this code. `{…}` is replaced by a detail.
    pub template: &'static str,
}

macro_rules! codes {
    ($($variant:ident = $name:literal, $fault:ident, $status:expr, $remedy:literal, $template:literal;)*) => {
        /// A machine-readable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $remedy] $variant,)*
        }

        /// All codes, in the order of the documentation.
        pub const REGISTRY: &[CodeInfo] = &[
            $(CodeInfo {
                code: Code::$variant,
                name: $name,
                fault: Fault::$fault,
                http_status: $status,
                remedy: $remedy,
                template: $template,
            },)*
        ];

        impl Code {
            /// The registry's entry for this code.
            pub const fn info(self) -> CodeInfo {
                match self {
                    $(Code::$variant => CodeInfo {
                        code: Code::$variant,
                        name: $name,
                        fault: Fault::$fault,
                        http_status: $status,
                        remedy: $remedy,
                        template: $template,
                    },)*
                }
            }
        }
    };
}

codes! {
    ValidationMissingParam = "VALIDATION_MISSING_PARAM", Caller, Some(400),
        "Add the parameter.", "Missing required parameter '{param_name}'";
    ValidationInvalidType = "VALIDATION_INVALID_TYPE", Caller, Some(400),
        "Send the parameter with the expected type.", "Parameter '{param_name}' expected '{expected_type}', got '{actual_type}'";
    ValidationInvalidValue = "VALIDATION_INVALID_VALUE", Caller, Some(400),
        "Choose a value inside the documented constraints.", "Parameter '{param_name}' {problem}";
    ValidationUnknownParam = "VALIDATION_UNKNOWN_PARAM", Caller, Some(400),
        "Remove the parameter or use the suggested name.", "Unknown parameter(s) for operation '{operation}': {unknown_params}";
    ValidationUnknownField = "VALIDATION_UNKNOWN_FIELD", Caller, Some(400),
        "Remove the field or use the suggested name.", "Unknown field(s) in '{param_name}': {unknown_fields}";
    ValidationInvalidEncoding = "VALIDATION_INVALID_ENCODING", Caller, Some(400),
        "Send valid UTF-8 without unpaired surrogates or NUL.", "Invalid character encoding in request";
    ValidationPayloadTooLarge = "VALIDATION_PAYLOAD_TOO_LARGE", Caller, Some(413),
        "Send less, or ask for less.", "Payload exceeds '{limit_type}' limit of {limit_value} {unit}";
    ValidationEndpointMismatch = "VALIDATION_ENDPOINT_MISMATCH", Caller, Some(400),
        "Call the tool named in expected_tool.", "Operation '{operation}' must use {expected_endpoint} endpoint, not {actual_endpoint}";
    ValidationInvalidRequest = "VALIDATION_INVALID_REQUEST", Caller, Some(400),
        "Send one object with 'operation', or a list of them in 'operations'.", "Invalid request: {problem}";
    NotFoundOperation = "NOT_FOUND_OPERATION", Caller, Some(404),
        "Find the right name with introspect.", "Unknown operation: '{operation}'";
    NotFoundResource = "NOT_FOUND_RESOURCE", Caller, Some(404),
        "Look for the resource with a list or search operation.", "Resource '{resource_type}' not found: '{resource_id}'";
    ConflictAlreadyExists = "CONFLICT_ALREADY_EXISTS", Caller, Some(409),
        "Choose another identifier, or update the existing resource.", "Resource '{resource_type}' already exists";
    ConflictVersionMismatch = "CONFLICT_VERSION_MISMATCH", Caller, Some(409),
        "Read the resource again and repeat with its present '_etag'.", "Resource '{resource_type}' has changed since it was read";
    ConflictConstraint = "CONFLICT_CONSTRAINT", Caller, Some(409),
        "Change what the constraint forbids.", "Constraint '{constraint}' forbids the change";
    PermissionDenied = "PERMISSION_DENIED", Policy, Some(403),
        "Ask the operator for access.", "Permission denied: {reason}";
    PermissionTrustLevelInsufficient = "PERMISSION_TRUST_LEVEL_INSUFFICIENT", Policy, Some(403),
        "Ask the operator to review the source.", "Permission denied: {reason}";
    PermissionDangerLevelDenied = "PERMISSION_DANGER_LEVEL_DENIED", Policy, Some(403),
        "Ask the operator, or use a less dangerous operation.", "Permission denied: {reason}";
    ConfirmationRequired = "CONFIRMATION_REQUIRED", Policy, Some(403),
        "Let a person decide, then repeat the request with the token.", "This operation requires confirmation";
    TokenInvalid = "TOKEN_INVALID", Caller, Some(400),
        "Repeat the request without a token to get a new one.", "Invalid confirmation token";
    TokenExpired = "TOKEN_EXPIRED", Caller, Some(400),
        "Repeat the request without a token to get a new one.", "Confirmation token has expired";
    TokenAlreadyUsed = "TOKEN_ALREADY_USED", Caller, Some(400),
        "Repeat the request without a token to get a new one.", "Confirmation token has already been used";
    TokenScopeMismatch = "TOKEN_SCOPE_MISMATCH", Caller, Some(403),
        "Use the token with exactly the request it was issued for.", "Confirmation token scope mismatch";
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED", Policy, Some(429),
        "Wait for retry_after_seconds, then repeat.", "API rate limit exceeded";
    RateLimitQuotaPause = "RATE_LIMIT_QUOTA_PAUSE", Policy, Some(429),
        "Let a person decide, then repeat the request with the token.", "Quota pause threshold reached";
    RateLimitQuotaExhausted = "RATE_LIMIT_QUOTA_EXHAUSTED", Policy, Some(429),
        "Wait for the quota to reset.", "Quota exhausted";
    IntrospectionError = "INTROSPECTION_ERROR", Us, Some(500),
        "Tell the operator: the catalog could not be built.", "The catalog cannot be read";
    InternalError = "INTERNAL_ERROR", Us, Some(500),
        "Tell the operator; the log has the cause under the request's id.", "Internal error: {description}";
    UpstreamUnavailable = "UPSTREAM_UNAVAILABLE", Upstream, Some(502),
        "Repeat later, or tell the operator.", "Source '{source}' is unavailable";
    UpstreamTimeout = "UPSTREAM_TIMEOUT", Upstream, Some(504),
        "Repeat later, or ask for less.", "Source '{source}' did not answer in time";
    UpstreamError = "UPSTREAM_ERROR", Upstream, Some(502),
        "Read details.upstream_error and correct the request.", "Source '{source}' refused the call";
    TransportDnsError = "TRANSPORT_DNS_ERROR", Upstream, Some(502),
        "Tell the operator: the host's name is wrong or cannot be resolved.", "Source '{source}' has an unknown host";
    TransportConnectionRefused = "TRANSPORT_CONNECTION_REFUSED", Upstream, Some(502),
        "Repeat later, or tell the operator.", "Source '{source}' refuses connections";
    TransportTimeout = "TRANSPORT_TIMEOUT", Upstream, Some(504),
        "Repeat later, or ask for less.", "Source '{source}' did not answer in time";
    TransportTlsError = "TRANSPORT_TLS_ERROR", Upstream, Some(502),
        "Tell the operator: the host's certificate is not accepted.", "Source '{source}' cannot be reached securely";
    TransportNetworkError = "TRANSPORT_NETWORK_ERROR", Upstream, Some(502),
        "Repeat later, or tell the operator.", "Source '{source}' is unavailable";
    SerializationParseError = "SERIALIZATION_PARSE_ERROR", Upstream, Some(502),
        "Tell the operator: the API does not answer as described.", "Source '{source}' gave an unreadable answer";
    AuthConfigInvalid = "AUTH_CONFIG_INVALID", Upstream, Some(502),
        "Tell the operator: the credentials of the source are not set up.", "Source '{source}' cannot authenticate";
    AuthCredentialMissing = "AUTH_CREDENTIAL_MISSING", Upstream, Some(502),
        "Tell the operator to set the environment variable.", "Source '{source}' has no credential";
    SchemaMissingField = "SCHEMA_MISSING_FIELD", Caller, None,
        "Add the field to the file.", "Missing field '{field}'";
    SchemaInvalidType = "SCHEMA_INVALID_TYPE", Caller, None,
        "Give the field the expected type.", "Field '{field}' expected '{expected_type}', got '{actual_type}'";
    SchemaUnresolvedRef = "SCHEMA_UNRESOLVED_REF", Caller, None,
        "Point the reference to something defined in the file.", "Unresolved reference '{reference}'";
    SchemaDuplicateName = "SCHEMA_DUPLICATE_NAME", Caller, None,
        "Rename one of them.", "Duplicate name '{name}'";
    SchemaInvalidName = "SCHEMA_INVALID_NAME", Caller, None,
        "Use lower-case snake_case, and no reserved name.", "Invalid name '{name}'";
    SchemaVersionUnsupported = "SCHEMA_VERSION_UNSUPPORTED", Caller, None,
        "Use a supported version.", "Unsupported version '{version}'";
    PluginNotFound = "PLUGIN_NOT_FOUND", Caller, None,
        "Use one of the known plugin names.", "Unknown plugin '{plugin}'";
}

impl Code {
    /// The name of the code in the protocol.
    pub const fn as_str(self) -> &'static str {
        self.info().name
    }

    /// Whether the registry of the specification does not have it. `_protocol.extensions` declares that there are such codes (R-INT-1a).
    pub const fn is_extension(self) -> bool {
        matches!(
            self,
            Code::ValidationInvalidValue
                | Code::ValidationInvalidRequest
                | Code::ConflictConstraint
                | Code::UpstreamUnavailable
                | Code::UpstreamTimeout
                | Code::UpstreamError
        )
    }

    /// Whether the failure is outside the caller's control. MCP clients then receive a failed call (`isError`) instead
    /// of a result that a model can react to.
    ///
    /// True only if no change to the request can fix the failure (R-RES-3a).
    pub const fn is_beyond_caller(self) -> bool {
        matches!(
            self,
            Code::UpstreamUnavailable
                | Code::UpstreamTimeout
                | Code::InternalError
                | Code::TransportDnsError
                | Code::TransportConnectionRefused
                | Code::TransportTimeout
                | Code::TransportTlsError
                | Code::TransportNetworkError
                | Code::SerializationParseError
                | Code::AuthConfigInvalid
                | Code::AuthCredentialMissing
        )
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
