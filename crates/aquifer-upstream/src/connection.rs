//! A plain client's connection to an MCP server, for those who want to see what any client would see: the tools as they
//! are listed, results as they come. Nothing is cached, restarted, shaped or asked again. Who is asked back declines.

use std::fmt;
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use serde::Serialize;
use serde_json::{Value, json};

use crate::calls::CallOrigin;
use crate::delivery::Delivery;
use crate::error::UpstreamError;
use crate::interrogate;
use crate::link::{Link, ProtocolMode, capabilities};
use crate::message::Json;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// What a client says that a server may ask it for. Some servers have more tools for those that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCapabilities {
    /// Whatever an [`Upstream`](crate::Upstream) says.
    AsUpstream,
    /// Nothing.
    None,
}

/// A connection after its greeting. The server that was started for it ends with it.
pub struct Connection {
    link: Link,
    settings: Settings,
    sanitizer: Sanitizer,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: &'a Value,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl Connection {
    /// Starts or reaches a server, and greets it.
    pub async fn open(settings: Settings, offered: ClientCapabilities) -> Result<Self, Failure> {
        let sanitizer = Sanitizer::new(&settings);
        let capabilities = match offered {
            ClientCapabilities::AsUpstream => capabilities(settings.allow),
            ClientCapabilities::None => json!({}),
        };
        let opened = Box::pin(Link::offering(capabilities, &settings, &sanitizer, ProtocolMode::default()));
        match tokio::time::timeout(settings.start_timeout, opened).await {
            Ok(Ok(link)) => Ok(Self { link, settings, sanitizer }),
            Ok(Err(error)) => Err(error.into_start_failure(&settings, &sanitizer)),
            Err(_) => Err(UpstreamError::TimedOut.into_start_failure(&settings, &sanitizer)),
        }
    }

    /// What the server is called here.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// What the server says about its use, cleaned.
    pub fn instructions(&self) -> Option<&str> {
        self.link.greeting.instructions.as_deref()
    }

    /// Every tool, as it is listed.
    pub async fn tools(&self) -> Result<Vec<Value>, Failure> {
        let asked = async {
            let mut tools = Vec::new();
            for page in interrogate::pages(&self.link, &self.settings, "tools/list").await? {
                match read(&page)?.get_mut("tools").map(Value::take) {
                    Some(Value::Array(listed)) => tools.extend(listed),
                    _ => return Err(UpstreamError::Unintelligible("a list of tools without tools".to_owned())),
                }
            }
            Ok(tools)
        };
        asked.await.map_err(|error| self.told(error))
    }

    /// Calls a tool. What it answers with is given as it came, a failure of the tool's own included.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let params = |_| Params { name: tool, arguments, meta: self.link.meta(None) };
        let nobody = Arc::new(CallOrigin::nobody());
        let (mut delivery, timeout) = (Delivery::once_only(), self.settings.timeout);
        let answer = self.link.deliver(&mut delivery, "tools/call", Some(tool), nobody, timeout, params).await;
        let Settings { name, max_answer_bytes, .. } = &self.settings;
        let told = |error: UpstreamError| error.into_call_failure(&delivery, name, &self.sanitizer, *max_answer_bytes);
        answer.and_then(|answer| read(&answer)).map_err(told)
    }

    fn told(&self, error: UpstreamError) -> Failure {
        error.into_failure(&self.settings.name, &self.sanitizer, self.settings.max_answer_bytes)
    }
}

fn read(answer: &Json) -> Result<Value, UpstreamError> {
    serde_json::from_str(answer.text()).map_err(|cause| UpstreamError::Unintelligible(cause.to_string()))
}
