//! Converts the sources' resources and prompts to SDK types. Entries that the SDK cannot parse are skipped.

use aquifer_engine::source::FetchRequest;
use aquifer_engine::{Context, Engine};
use aquifer_protocol::error::{Code, Failure, FailureReason};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, ErrorCode, Reference};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The entries of a list.
pub(crate) async fn list<T: DeserializeOwned>(engine: &Engine, list: FetchRequest, context: Context) -> Vec<T> {
    let cancelled = context.cancelled.clone();
    let entries = cancelled.run_until_cancelled(engine.list(&list, context)).await.unwrap_or_default();
    entries.into_iter().filter_map(|entry| serde_json::from_value(Value::Object(entry)).ok()).collect()
}

/// One document, prompt or completion.
pub(crate) async fn fetch<T: DeserializeOwned>(
    engine: &Engine,
    wanted: FetchRequest,
    context: Context,
) -> Result<T, ErrorData> {
    let cancelled = context.cancelled.clone();
    let fetched = cancelled.run_until_cancelled(engine.fetch(wanted, context)).await;
    let mut result =
        fetched.ok_or_else(|| ErrorData::internal_error("The request was cancelled", None))?.map_err(to_error_data)?;
    // Older servers omit it and newer clients require it. The SDK removes it for older clients.
    if let Value::Object(result) = &mut result {
        result.entry("resultType").or_insert_with(|| "complete".into());
    }
    serde_json::from_value(result)
        .map_err(|_| ErrorData::internal_error("The source returned an unexpected result", None))
}

/// Adds the URI to the error about a resource that does not exist, as MCP asks for, or that its server refuses: in the
/// newest revision both have the same code.
pub(crate) fn with_uri(mut error: ErrorData, uri: String) -> ErrorData {
    if matches!(error.code, ErrorCode::RESOURCE_NOT_FOUND | ErrorCode::INVALID_PARAMS) {
        error.data = Some(Map::from_iter([("uri".to_owned(), uri.into())]).into());
    }
    error
}

/// Converts a completion request for the sources.
pub(crate) fn completion(request: CompleteRequestParams) -> FetchRequest {
    let (target, by_uri) = match &request.r#ref {
        Reference::Resource(template) => (template.uri.clone(), true),
        Reference::Prompt(prompt) => (prompt.name.clone(), false),
        _ => (String::new(), false),
    };
    let params = match serde_json::to_value(request) {
        Ok(Value::Object(mut fields)) => {
            fields.remove("_meta");
            fields
        }
        _ => Map::new(),
    };
    FetchRequest::Completion { target, by_uri, params }
}

/// Converts a failure to a protocol error, because these requests are not tool calls.
fn to_error_data(failure: Failure) -> ErrorData {
    let message = match failure.reason() {
        Some(FailureReason::SourceError(text)) => format!("{}: {text}", failure.message()),
        _ => failure.message().to_owned(),
    };
    match failure.code() {
        Code::NotFoundResource => ErrorData::resource_not_found(message, None),
        Code::UpstreamError => ErrorData::invalid_params(message, None),
        _ => ErrorData::internal_error(message, None),
    }
}
