//! Errors of the API, as the page shows them.

use aquifer_engine::store::StoreError;
use aquifer_gate::audit::AuditError;
use aquifer_gate::confirm::approvals::ApprovalError;
use aquifer_gate::confirm::edit::EditError;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request of the page was refused.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There is no session, or it has ended.
    #[error("Open a link from the server to log in")]
    LoginRequired,
    /// The request is not one of the page.
    #[error("{0}")]
    Forbidden(&'static str),
    /// There is nothing under this name.
    #[error("{0}")]
    NotFound(String),
    /// Something has changed since the page was shown.
    #[error("{0}")]
    Conflict(String),
    /// The request is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The request is valid, but cannot be carried out with this configuration.
    #[error("{0}")]
    Unavailable(String),
    /// Something failed on the server. The cause is logged, not shown.
    #[error("The server could not do this. Its log says why")]
    Internal(String),
}

impl ApiError {
    fn parts(&self) -> (StatusCode, &'static str) {
        match self {
            ApiError::LoginRequired => (StatusCode::UNAUTHORIZED, "LOGIN_REQUIRED"),
            ApiError::Forbidden(_) => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            ApiError::NotFound(_) => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            ApiError::Conflict(_) => (StatusCode::CONFLICT, "CONFLICT"),
            ApiError::Invalid(_) => (StatusCode::BAD_REQUEST, "INVALID"),
            ApiError::Unavailable(_) => (StatusCode::UNPROCESSABLE_ENTITY, "UNAVAILABLE"),
            ApiError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<AuditError> for ApiError {
    fn from(error: AuditError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<ApprovalError> for ApiError {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::Unknown(_) => {
                Self::NotFound("This approval does not exist, or ended some time ago".to_owned())
            }
            ApprovalError::Over { .. } | ApprovalError::Incomplete(_) => Self::Conflict(error.to_string()),
            ApprovalError::Store(error) => error.into(),
        }
    }
}

impl From<EditError> for ApiError {
    fn from(error: EditError) -> Self {
        match &error {
            EditError::Over { .. } => Self::Conflict(error.to_string()),
            EditError::NotEditable => Self::Unavailable(sentence(&error.to_string())),
            _ => Self::Invalid(sentence(&error.to_string())),
        }
    }
}

/// The text with a capital letter at its beginning.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if let ApiError::Internal(cause) = &self {
            tracing::error!(cause, "a request of the explorer failed");
        }
        let (status, code) = self.parts();
        (status, Json(json!({ "error": { "code": code, "message": self.to_string() } }))).into_response()
    }
}
