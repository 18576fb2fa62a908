//! Logging in and out.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;

use super::ExplorerState;
use crate::error::ApiError;
use crate::login::{self, Session};

/// A token longer than this is not one of ours.
const MAX_TOKEN_BYTES: usize = 256;

#[derive(Deserialize)]
pub(super) struct Login {
    token: String,
}

/// Exchanges the token of a link for a session.
pub(super) async fn begin(
    State(explorer): ExplorerState,
    headers: HeaderMap,
    Json(Login { token }): Json<Login>,
) -> Result<Response, ApiError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(ApiError::LoginRequired);
    }
    let secret = login::redeem_link(&explorer, &token).await?;
    let cookie = login::cookie(&headers, Some(&secret))?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

pub(super) async fn show(Extension(session): Extension<Session>) -> Json<Session> {
    Json(session)
}

pub(super) async fn end(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    login::end_session(&explorer, &session).await?;
    let cookie = login::cookie(&headers, None)?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
