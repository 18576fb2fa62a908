//! A plain client's connection to an MCP server, for those who want to see what any client would see: the tools as they
//! are listed, results as they come. Nothing is cached, restarted, shaped or asked again. Who is asked back declines.

use std::fmt;
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use serde::Serialize;
use serde_json::{Value, json};

use crate::calls::Companion;
use crate::delivery::Delivery;
use crate::interrogate;
use crate::link::{Era, Link, capabilities};
use crate::message::Json;
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::words::Words;

/// What a client says that a server may ask it for. Some servers have more tools for those that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Favours {
    /// Whatever an [`Upstream`](crate::Upstream) says.
    AsUpstream,
    /// Nothing.
    None,
}

/// A connection after its greeting. The server that was started for it ends with it.
pub struct Connection {
    link: Link,
    settings: Settings,
    words: Words,
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
    pub async fn open(settings: Settings, favours: Favours) -> Result<Self, Failure> {
        let words = Words::new(&settings);
        let capabilities = match favours {
            Favours::AsUpstream => capabilities(settings.allow),
            Favours::None => json!({}),
        };
        let opened = Box::pin(Link::offering(capabilities, &settings, &words, Era::default()));
        match tokio::time::timeout(settings.start_timeout, opened).await {
            Ok(Ok(link)) => Ok(Self { link, settings, words }),
            Ok(Err(trouble)) => Err(trouble.into_start_failure(&settings, &words)),
            Err(_) => Err(Trouble::TimedOut.into_start_failure(&settings, &words)),
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
                    _ => return Err(Trouble::Unintelligible("a list of tools without tools".to_owned())),
                }
            }
            Ok(tools)
        };
        asked.await.map_err(|trouble| self.told(trouble))
    }

    /// Calls a tool. What it answers with is given as it came, a failure of the tool's own included.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let params = |_| Params { name: tool, arguments, meta: self.link.meta(None) };
        let nobody = Arc::new(Companion::nobody());
        let (mut delivery, timeout) = (Delivery::once_only(), self.settings.timeout);
        let answer = self.link.deliver(&mut delivery, "tools/call", Some(tool), nobody, timeout, params).await;
        let Settings { name, largest_answer, .. } = &self.settings;
        let told = |trouble: Trouble| trouble.into_call_failure(&delivery, name, &self.words, *largest_answer);
        answer.and_then(|answer| read(&answer)).map_err(told)
    }

    fn told(&self, trouble: Trouble) -> Failure {
        trouble.into_failure(&self.settings.name, &self.words, self.settings.largest_answer)
    }
}

fn read(answer: &Json) -> Result<Value, Trouble> {
    serde_json::from_str(answer.text()).map_err(|cause| Trouble::Unintelligible(cause.to_string()))
}
