//! The baseline: the minimum that an MCP server on this SDK can do. One tool that returns its arguments, as text and as
//! structured content, served with the same SDK settings as ours. Anything that our server takes beyond this is our own
//! cost.
//!
//! Usage: bench-echo --stdio | bench-echo --http 127.0.0.1:0

use std::sync::Arc;

use anyhow::bail;
use axum::Router;
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// The same allocator as in our server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        // The gateway validates parameters by name.
        schema.insert("properties".to_owned(), json!({ "text": { "type": "string" } }));
        // Declared as read-only, because the gateway would otherwise record every call before making it.
        let echo = Tool::new("echo", "Answers with its arguments.", Arc::new(schema))
            .with_annotations(ToolAnnotations::new().read_only(true));
        Ok(ListToolsResult::with_all_items(vec![echo]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(Value::Object(request.arguments.unwrap_or_default())).into())
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The same runtime as in our server.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.as_slice() {
        ["--stdio"] => runtime.block_on(on_stdio()),
        ["--http", address] => runtime.block_on(on_http(address)),
        _ => bail!("usage: bench-echo --stdio | bench-echo --http ADDRESS"),
    }
}

async fn on_stdio() -> anyhow::Result<()> {
    Echo.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}

async fn on_http(address: &str) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await?;
    eprintln!("echo at http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|connection| {
        // If this fails, the connection is slow, and the figures show it.
        let _ = connection.set_nodelay(true);
    });
    let service = StreamableHttpService::new(
        || Ok(Echo),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_json_response(true),
    );
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
