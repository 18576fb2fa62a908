//! An OAuth 2 token endpoint for clients with credentials of their own, and what its tokens open.

use std::collections::HashSet;

use axum::response::Response;
use serde_json::json;

use super::{Received, json_answer, problem};

#[derive(Default)]
pub(super) struct Tokens {
    /// How many were issued.
    pub(super) issued: usize,
    pub(super) valid: HashSet<String>,
}

impl Tokens {
    pub(super) fn issue(&mut self, request: &Received) -> Response {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        // `client-id:s3cret-client` as HTTP Basic has it.
        let is_known = request.header("authorization") == Some("Basic Y2xpZW50LWlkOnMzY3JldC1jbGllbnQ=")
            || (body.contains("client_id=client-id") && body.contains("client_secret=s3cret-client"));
        if !is_known || !body.contains("grant_type=client_credentials") {
            return json_answer(401, &json!({ "error": "invalid_client" }));
        }
        self.issued += 1;
        let token = format!("s3cret-token-{}", self.issued);
        self.valid.insert(token.clone());
        json_answer(200, &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }))
    }

    pub(super) fn account(&self, request: &Received) -> Response {
        let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
        match token.is_some_and(|token| self.valid.contains(token)) {
            true => json_answer(200, &json!({ "owner": "Ada", "balance": 12 })),
            false => problem(401, "The token is not valid."),
        }
    }
}
