//! A build without MCP servers has nothing to review.

use aquifer_explorer::ApiError;
use serde_json::{Value, json};

use super::operator::OperatorContext;

#[derive(Default)]
pub(super) struct Reviewer(());

impl Reviewer {
    pub(super) async fn show(&self, _context: &OperatorContext) -> Result<Value, ApiError> {
        Ok(json!({ "sources": [] }))
    }

    pub(super) async fn decide(
        &self,
        _context: &OperatorContext,
        _decision: Value,
        _person: &str,
    ) -> Result<(), ApiError> {
        Err(ApiError::Unavailable(crate::config::feature::missing("MCP servers", "gateway").to_string()))
    }
}
