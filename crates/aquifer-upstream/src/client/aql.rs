//! MCP-AQL servers as upstreams: their operations take the place of the few tools they are called through.
//!
//! Such a server is recognized by the names and schemas of its tools and by its answer to `introspect`, the only
//! operation that is called here. Each operation becomes a tool definition that names its endpoint in `_meta`, so that
//! it is pinned, classified and named like any other tool. A server that looks like one but cannot be introspected now
//! is unavailable: its endpoints are never served as tools, because rules about single operations would not apply.

use aquifer_protocol::operation::TOKEN;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::connection::Connection;
use super::delivery::Delivery;
use super::message::Json;
use super::pending_calls::CallOrigin;
use crate::error::{OperationError, UPSTREAM, UpstreamError, token_parameter};
use crate::settings::Settings;

/// What the names of endpoints contain.
const MARK: &str = "mcp_aql";

/// The member of a definition's `_meta` that names the endpoint.
const ENDPOINT: &str = "mcp-aql/endpoint";

/// Maximum number of descriptions that are requested at once.
const MAX_CONCURRENT: usize = 8;

/// Maximum number of pages of operations.
const MAX_PAGES: usize = 1_000;

/// Members of a parameter that JSON Schema has as well.
const SCHEMA_MEMBERS: &[&str] =
    &["description", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format"];

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: Value,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

/// The result of a tool call, as far as it concerns the envelope.
#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    success: bool,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<OperationError>,
}

/// The tool list with the operations of an MCP-AQL server in place of its endpoints. `None` for any other server.
pub(crate) async fn expand(
    connection: &Connection,
    settings: &Settings,
    pages: &[Json],
) -> Result<Option<String>, UpstreamError> {
    #[derive(Deserialize)]
    struct Page {
        tools: Vec<Value>,
    }
    if !pages.iter().any(|page| page.text().contains(MARK)) {
        return Ok(None);
    }
    let pages = pages.iter().filter_map(|page| serde_json::from_str::<Page>(page.text()).ok());
    let (endpoints, mut tools): (Vec<Value>, Vec<Value>) = pages.flat_map(|page| page.tools).partition(is_endpoint);
    let endpoints: Vec<&str> = endpoints.iter().filter_map(|tool| text(tool, "name")).collect();
    let reads = |suffix: &&str| endpoints.iter().find(|name| name.ends_with(*suffix)).copied();
    let Some(reader) = ["_read", "_query", MARK].iter().find_map(reads).or_else(|| endpoints.first().copied()) else {
        return Ok(None);
    };
    let server = AqlServer { connection, settings, reader };
    let Some((names, has_schemas)) = server.list().await? else { return Ok(None) };
    let describe = |name: String| server.describe(name, has_schemas);
    let described: Vec<Value> = stream::iter(names).map(describe).buffered(MAX_CONCURRENT).try_collect().await?;
    for operation in &described {
        let is_taken = tools.iter().any(|tool| text(tool, "name") == text(operation, "name"));
        if let (Some(endpoint), false) = (endpoint_of(operation, &endpoints), is_taken) {
            tools.push(definition(operation, endpoint));
        }
    }
    Ok(Some(json!({ "tools": tools }).to_string()))
}

/// The endpoint that a definition made here is called through.
pub(crate) fn endpoint(definition: &Map<String, Value>) -> Option<&str> {
    definition.get("_meta")?.get(ENDPOINT)?.as_str()
}

/// The arguments of an endpoint for a call of one of its operations.
pub(crate) fn wrap_arguments(operation: &str, arguments: &Value) -> Value {
    let own_name = |name: &str| {
        let own = name.strip_prefix(UPSTREAM).filter(|own| token_parameter(own).is_some());
        own.unwrap_or(name).to_owned()
    };
    let params = match arguments {
        Value::Object(params) => params.iter().map(|(name, value)| (own_name(name), value.clone())).collect(),
        other => other.clone(),
    };
    json!({ "operation": operation, "params": params })
}

/// The result of an operation without its envelope. The blocks after the envelope stay.
pub(crate) fn unwrap_result(result: &Json) -> Result<Json, UpstreamError> {
    let invalid = || UpstreamError::InvalidResponse("an answer without an envelope".to_owned());
    let parsed: CallResult<'_> = serde_json::from_str(result.text()).map_err(|_| invalid())?;
    let text = envelope_text(&parsed).ok_or_else(invalid)?;
    let envelope: Envelope<'_> = serde_json::from_str(&text).map_err(|_| invalid())?;
    match envelope {
        Envelope { success: true, data, .. } => {
            let blocks: Vec<&str> = parsed.content.iter().skip(1).map(|block| block.get()).collect();
            let data = data.map_or("null", RawValue::get);
            Ok(Json::new(format!("{{\"content\":[{}],\"structuredContent\":{data}}}", blocks.join(","))))
        }
        Envelope { error, .. } => Err(UpstreamError::Operation(Box::new(error.ok_or_else(invalid)?))),
    }
}

/// The envelope: the structured content, or the first block of text.
fn envelope_text(result: &CallResult<'_>) -> Option<String> {
    if let Some(structured) = result.structured {
        return Some(structured.get().to_owned());
    }
    let block: TextBlock = serde_json::from_str(result.content.first()?.get()).ok()?;
    block.text.filter(|_| block.kind == "text")
}

/// A member that is text.
fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member)?.as_str()
}

/// Whether a tool has the name and the schema of an endpoint.
fn is_endpoint(tool: &Value) -> bool {
    let Some((prefix, family)) = text(tool, "name").and_then(|name| name.rsplit_once(MARK)) else { return false };
    let is_family = |family: &str| !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_lowercase());
    (prefix.is_empty() || prefix.ends_with('_'))
        && (family.is_empty() || family.strip_prefix('_').is_some_and(is_family))
        && tool.pointer("/inputSchema/properties/operation/type").is_some_and(|kind| kind == "string")
}

/// The endpoint that an operation names, or the one of its family, or the only one.
fn endpoint_of<'a>(operation: &Value, endpoints: &[&'a str]) -> Option<&'a str> {
    let named = text(operation, "mcpTool").and_then(|tool| endpoints.iter().find(|name| **name == tool));
    let family = || {
        let family = format!("_{}", text(operation, "endpoint")?.to_ascii_lowercase());
        endpoints.iter().find(|name| name.ends_with(&family))
    };
    named.or_else(family).or_else(|| endpoints.first().filter(|_| endpoints.len() == 1)).copied()
}

/// The definition of an operation as a tool. Anything that is not certain counts as the worse case.
fn definition(operation: &Value, endpoint: &str) -> Value {
    let allows = |name: &str| {
        operation.get("permissions").and_then(|permissions| permissions.get(name)).and_then(Value::as_bool)
    };
    let only_reads = text(operation, "semantic_category") == Some("READ") && allows("readOnly") != Some(false);
    let is_destructive = match text(operation, "danger") {
        Some(danger) => !matches!(danger, "safe" | "reversible"),
        None => allows("destructive") != Some(false),
    };
    let mut schema = match operation.get("input_schema") {
        Some(Value::Object(schema)) => Value::Object(schema.clone()),
        _ => input_schema(operation.get("parameters")),
    };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let own_tokens: Vec<String> = properties
            .keys()
            .filter_map(|name| Some((name, token_parameter(name)?)))
            .map(|(name, _)| name.clone())
            .collect();
        own_tokens.iter().for_each(|name| drop(properties.shift_remove(name)));
        if !only_reads {
            let further = own_tokens.iter().map(String::as_str).filter(|name| *name != TOKEN);
            for name in std::iter::once(TOKEN).chain(further).filter_map(token_parameter) {
                let description = "The token of this server, if it asked for a confirmation.";
                properties.insert(name, json!({ "type": "string", "description": description }));
            }
        }
    }
    json!({
        "name": text(operation, "name"),
        "description": text(operation, "description").unwrap_or_default(),
        "inputSchema": schema,
        "annotations": { "readOnlyHint": only_reads, "destructiveHint": !only_reads && is_destructive },
        "_meta": { ENDPOINT: endpoint },
    })
}

/// A JSON Schema for published parameters. Types that are explained elsewhere accept anything.
fn input_schema(parameters: Option<&Value>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters.and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = text(parameter, "name") else { continue };
        let members =
            SCHEMA_MEMBERS.iter().filter_map(|member| Some(((*member).to_owned(), parameter.get(*member)?.clone())));
        let mut schema: Map<String, Value> = members.collect();
        schema.extend(type_members(text(parameter, "type").unwrap_or_default()));
        properties.insert(name.to_owned(), Value::Object(schema));
        if parameter.get("required") == Some(&Value::Bool(true)) {
            required.push(name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The type of a parameter, such as `string`, `integer[]` or `string | string[]`.
fn type_members(words: &str) -> Map<String, Value> {
    let schema = |word: &str| {
        const TYPES: &[&str] = &["string", "integer", "number", "boolean", "object", "array", "null"];
        let is_known = |word: &&str| TYPES.contains(word);
        match word.strip_suffix("[]") {
            Some(items) => {
                Some(items).filter(is_known).map(|items| json!({ "type": "array", "items": { "type": items } }))
            }
            None => Some(word).filter(is_known).map(|word| json!({ "type": word })),
        }
    };
    let alternatives: Option<Vec<Value>> = words.split('|').map(str::trim).map(schema).collect();
    match alternatives {
        Some(mut one) if one.len() == 1 => match one.pop() {
            Some(Value::Object(schema)) => schema,
            _ => Map::new(),
        },
        Some(several) => Map::from_iter([("anyOf".to_owned(), several.into())]),
        None => Map::new(),
    }
}

/// A server that is being introspected.
struct AqlServer<'a> {
    connection: &'a Connection,
    settings: &'a Settings,
    /// The endpoint that introspection is requested from.
    reader: &'a str,
}

impl AqlServer<'_> {
    /// The names of all operations, and whether descriptions can contain JSON Schemas. `None` if the answer is not
    /// MCP-AQL.
    async fn list(&self) -> Result<Option<(Vec<String>, bool)>, UpstreamError> {
        let mut names: Vec<String> = Vec::new();
        let mut params = Map::from_iter([("query".to_owned(), json!("operations"))]);
        let mut has_schemas = false;
        for page in 0..MAX_PAGES {
            let data = match self.introspect(&params).await {
                Ok(data) => data,
                // Its answer is not an envelope, so it is another kind of server.
                Err(UpstreamError::InvalidResponse(_)) if page == 0 => return Ok(None),
                Err(error) => return Err(error),
            };
            let Some(operations) = data.get("operations").and_then(Value::as_array) else { break };
            let listed = operations.iter().filter_map(|operation| text(operation, "name"));
            names.extend(listed.filter(|name| *name != "introspect").map(str::to_owned));
            let at = |path: &str| data.pointer(path);
            let extensions = at("/_protocol/extensions").and_then(Value::as_array);
            has_schemas |= extensions.is_some_and(|all| all.iter().any(|extension| extension == "introspection"));
            let has_next = at("/_protocol/page/hasNextPage") == Some(&Value::Bool(true));
            let next = at("/_protocol/page/endCursor").and_then(Value::as_str).filter(|_| has_next);
            match next {
                Some(cursor) if names.len() <= self.settings.limits.max_tools => {
                    params.insert("after".to_owned(), cursor.into());
                }
                _ => break,
            }
        }
        names.truncate(self.settings.limits.max_tools.saturating_add(1));
        Ok(Some((names, has_schemas)))
    }

    async fn describe(&self, name: String, has_schemas: bool) -> Result<Value, UpstreamError> {
        let mut params =
            Map::from_iter([("query".to_owned(), json!("operations")), ("name".to_owned(), Value::String(name))]);
        if has_schemas {
            params.insert("fields".to_owned(), "full".into());
        }
        Ok(self.introspect(&params).await?.get_mut("operation").map(Value::take).unwrap_or_default())
    }

    async fn introspect(&self, params: &Map<String, Value>) -> Result<Value, UpstreamError> {
        let arguments = json!({ "operation": "introspect", "params": params });
        let call = |_| CallParams { name: self.reader, arguments, meta: self.connection.meta(None) };
        let (origin, mut delivery) = (Arc::new(CallOrigin::internal()), Delivery::repeatable());
        let timeout = self.settings.start_timeout;
        let result =
            self.connection.deliver(&mut delivery, "tools/call", Some(self.reader), origin, timeout, call).await?;
        let data = unwrap_result(&result)?;
        let invalid = |cause: serde_json::Error| UpstreamError::InvalidResponse(cause.to_string());
        let mut data: Value = serde_json::from_str(data.text()).map_err(invalid)?;
        Ok(data.get_mut("structuredContent").map(Value::take).unwrap_or_default())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_recognized_by_name_and_schema() {
        let tool = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
        let schema = json!({ "type": "object", "properties": { "operation": { "type": "string" } } });
        for (name, expected) in [
            ("mcp_aql", true),
            ("mcp_aql_read", true),
            ("shop_mcp_aql_delete", true),
            ("mcp_aql_", false),
            ("mcp_aqlread", false),
            ("xmcp_aql_read", false),
            ("read", false),
        ] {
            assert_eq!(is_endpoint(&tool(name, schema.clone())), expected, "{name}");
        }
        assert!(!is_endpoint(&tool("mcp_aql_read", json!({ "type": "object" }))));
    }

    #[test]
    fn definitions_keep_parameters_and_assume_the_worse() {
        let parameters = json!([
            { "name": "id", "type": "integer", "required": true, "minimum": 1, "description": "Which" },
            { "name": "tags", "type": "string | string[]", "required": false },
            { "name": "input", "type": "TaskInput", "required": true },
            { "name": "confirmation_token", "type": "string", "required": false },
        ]);
        let operation = json!({ "name": "drop", "semantic_category": "DELETE", "parameters": parameters });
        let made = definition(&operation, "mcp_aql_delete");
        assert_eq!(made["annotations"], json!({ "readOnlyHint": false, "destructiveHint": true }));
        let schema = &made["inputSchema"];
        assert_eq!(schema["required"], json!(["id", "input"]));
        assert_eq!(schema["properties"]["id"], json!({ "type": "integer", "minimum": 1, "description": "Which" }));
        let either = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
        assert_eq!(schema["properties"]["tags"], either);
        assert_eq!(schema["properties"]["input"], json!({}));
        assert!(schema["properties"].get("confirmation_token").is_none());
        assert_eq!(endpoint(made.as_object().unwrap()), Some("mcp_aql_delete"));
        let tokens =
            json!({ "id": 1, "upstream_confirmation_token": "t", "upstream_upstream_confirmation_token": "u" });
        let sent = json!({ "id": 1, "confirmation_token": "t", "upstream_confirmation_token": "u" });
        assert_eq!(wrap_arguments("drop", &tokens), json!({ "operation": "drop", "params": sent }));
    }

    #[test]
    fn envelopes_are_removed_and_blocks_stay() {
        let block = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let text = r#"{"success":true,"data":{"n":1.10}}"#;
        let result = json!({ "content": [{ "type": "text", "text": text }, block] });
        let unwrapped = unwrap_result(&Json::new(result.to_string())).unwrap();
        assert_eq!(unwrapped.text(), format!(r#"{{"content":[{block}],"structuredContent":{{"n":1.10}}}}"#));
        let failed = json!({ "success": false, "error": { "code": "NOT_FOUND_RESOURCE", "message": "m" } });
        let failed = json!({ "content": [], "structuredContent": failed, "isError": true });
        let error = unwrap_result(&Json::new(failed.to_string())).unwrap_err();
        assert!(matches!(error, UpstreamError::Operation(error) if error.code == "NOT_FOUND_RESOURCE"));
        assert!(unwrap_result(&Json::new(json!({ "content": [] }).to_string())).is_err());
    }
}
