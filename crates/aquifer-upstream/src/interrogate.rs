//! Asking a server what it offers, and nothing else (R-DIS-1).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_discovery::{Bundle, normalize};
use aquifer_protocol::error::Failure;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calls::Companion;
use crate::link::{Era, Link};
use crate::message::Json;
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::words::Words;

/// No server has more pages than this; one that always has another is stopped here.
const MOST_PAGES: usize = 1_000;

/// What a server said of itself.
#[derive(Debug, Clone)]
pub struct Interrogation {
    /// Its tools, byte for byte.
    pub capture: RawCapture,
    /// Who it says it is.
    pub server: ServerIdentity,
    /// The MCP revision it speaks.
    pub protocol: String,
    /// What it says about its use, cleaned.
    pub instructions: Option<String>,
    /// What it says it can do, as MCP has it.
    pub capabilities: Value,
}

impl Interrogation {
    /// The discovery bundle of it.
    pub fn bundle(&self, settings: &Settings, captured_at: Timestamp) -> Bundle {
        normalize(settings.source(captured_at, Some(self.server.clone())), self.capture.clone())
    }

    pub(crate) fn of(link: &Link, capture: RawCapture) -> Self {
        let greeting = &link.greeting;
        Self {
            capture,
            server: greeting.server.clone(),
            protocol: greeting.protocol.clone(),
            instructions: greeting.instructions.clone(),
            capabilities: greeting.capabilities.clone(),
        }
    }
}

/// Asks a server who it is and which tools it has. No tool is called, and the server is left again.
pub async fn interrogate(settings: &Settings) -> Result<Interrogation, Failure> {
    let words = Words::new(settings);
    let told = |trouble: Trouble| trouble.into_failure(&settings.name, &words, settings.largest_answer);
    let asked = async {
        let link = Link::open(settings, &words, Era::default()).await?;
        let capture = list(&link, settings).await?;
        Ok(Interrogation::of(&link, capture))
    };
    // Boxed, so that callers' futures do not hold all that it takes.
    match tokio::time::timeout(settings.start_timeout, Box::pin(asked)).await {
        Ok(asked) => asked.map_err(told),
        Err(_) => Err(told(Trouble::TimedOut)),
    }
}

/// Every page of the tools.
pub(crate) async fn list(link: &Link, settings: &Settings) -> Result<RawCapture, Trouble> {
    let changes = *link.shared.tools_changed.borrow();
    let pages = match pages(link, settings, "tools/list").await {
        // A server without tools need not know the question.
        Err(Trouble::Refused(error)) if error.code == -32601 && link.greeting.capabilities.get("tools").is_none() => {
            Vec::new()
        }
        pages => pages?,
    };
    link.listed.store(changes, Ordering::Release);
    let mut texts: Vec<&str> = pages.iter().map(Json::text).collect();
    if texts.is_empty() {
        texts.push("{\"tools\":[]}");
    }
    RawCapture::of_pages(&texts).map_err(|cause| Trouble::Unintelligible(cause.to_string()))
}

/// Every page of a list, as long as it ends and all of it is no larger than one answer may be.
pub(crate) async fn pages(link: &Link, settings: &Settings, method: &str) -> Result<Vec<Json>, Trouble> {
    #[derive(Serialize)]
    struct Params<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<&'a str>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    }
    #[derive(Deserialize)]
    struct Page {
        #[serde(rename = "nextCursor", default)]
        next: Option<String>,
    }
    let (mut pages, mut bytes): (Vec<Json>, usize) = (Vec::new(), 0);
    let (mut cursor, mut seen): (Option<String>, HashSet<String>) = (None, HashSet::new());
    loop {
        let nobody = Arc::new(Companion::nobody());
        let params = |_| Params { cursor: cursor.as_deref(), meta: link.meta(None) };
        let page = link.request(method, None, nobody, settings.start_timeout, params).await?;
        bytes += page.text().len();
        if bytes > settings.largest_answer {
            return Err(Trouble::TooLarge { size: bytes });
        }
        let next = serde_json::from_str::<Page>(page.text()).ok().and_then(|page| page.next);
        pages.push(page);
        match next.filter(|next| !next.is_empty()) {
            None => return Ok(pages),
            Some(next) if pages.len() < MOST_PAGES && seen.insert(next.clone()) => cursor = Some(next),
            Some(_) => {
                tracing::warn!(source = &*link.shared.name, method, "the list does not end; the rest is left out");
                return Ok(pages);
            }
        }
    }
}
