//! Serves the explorer beside MCP, and creates links to log in.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use aquifer_engine::Engine;
use aquifer_explorer::{CallFeed, Explorer, Operator, login};
use axum::Router;
use jiff::Timestamp;

use crate::cli::HttpArgs;
use crate::config::HttpConfig;
use crate::safety::Safety;

/// Who logs in by a link: whoever can read the server's terminal, or knows the admin secret.
pub(crate) const ADMIN: &str = "admin";

/// What the explorer is built from.
pub(crate) struct ExplorerSetup {
    pub(crate) operator: Arc<dyn Operator>,
    pub(crate) feed: CallFeed,
    pub(crate) safety: Arc<Safety>,
    pub(crate) link: LinkPrinting,
}

/// Where a link to log in may be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPrinting {
    /// Only to a terminal. Logs are kept, and agents can read them.
    Terminal,
    /// To stderr, whatever it is: there is nothing to protect.
    Always,
}

impl LinkPrinting {
    fn is_allowed(self) -> bool {
        self == Self::Always || std::io::stderr().is_terminal()
    }
}

impl ExplorerSetup {
    /// The router of the pages.
    pub(crate) fn router(&self, engine: &Arc<Engine>) -> Router {
        let explorer = Explorer {
            engine: engine.clone(),
            store: self.safety.store.clone(),
            clock: self.safety.clock.clone(),
            audit: self.safety.audit.clone(),
            operator: self.operator.clone(),
            feed: self.feed.clone(),
            started_at: Timestamp::now(),
        };
        explorer.router()
    }

    /// The line that tells a person where the explorer is.
    pub(crate) async fn announcement(&self, base: &str) -> anyhow::Result<String> {
        if !self.link.is_allowed() {
            return Ok(format!(
                "Explorer: {base}/ ('aquifer explorer link --url {base}' prints a link to log in with)"
            ));
        }
        let link = self.create_link(base).await?;
        Ok(format!("Open the explorer with this link, which works once, within {} minutes:\n  {link}", minutes()))
    }

    async fn create_link(&self, base: &str) -> anyhow::Result<String> {
        Ok(link(base, &self.create_token().await?))
    }

    /// A link that logs a person in and leads to this page.
    pub(crate) async fn link_to(&self, base: &str, page: &str) -> anyhow::Result<String> {
        Ok(format!("{}/login?next={page}#{}", base.trim_end_matches('/'), self.create_token().await?))
    }

    async fn create_token(&self) -> anyhow::Result<String> {
        let token = login::create_link(&*self.safety.store, &*self.safety.clock, ADMIN).await;
        token.context("cannot create a link to the explorer")
    }
}

/// The address that logs a person in.
pub(crate) fn link(base: &str, token: &str) -> String {
    format!("{}/login#{token}", base.trim_end_matches('/'))
}

/// How long a link works.
pub(crate) fn minutes() -> u64 {
    login::LINK_TTL.as_secs() / 60
}

/// Whether the explorer is served: by default only where no other machine can reach it, because the connection is not
/// encrypted.
pub(crate) fn is_served(config: &HttpConfig, arguments: &HttpArgs, address: SocketAddr) -> bool {
    !arguments.no_explorer && config.explorer.unwrap_or(address.ip().is_loopback())
}
