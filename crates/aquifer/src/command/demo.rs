//! `aquifer demo`: serves sample data to try Aquifer out.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use aquifer_engine::event::LogObserver;
use aquifer_explorer::CallFeed;

use super::serve::ServedAddresses;
use crate::CommandOutcome;
use crate::cli::{DemoArgs, UpstreamArgs};
use crate::config::Config;
use crate::explorer::serve::{ExplorerSetup, LinkPrinting, is_served};
use crate::explorer::{ExplorerOperator, OperatorContext};
use crate::safety::{Safety, SourceFacts};
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;
use crate::state;

/// The port of the demo.
pub(super) const PORT: u16 = 3910;

/// Sending a newsletter needs an approval, so that the demo shows one. It can be edited, to show that, too.
const POLICY: &str = r#"
[[gate.rule]]
name = "newsletters"
effect = "confirm"
strength = "approval"
operation = "execute_newsletter"
reason = "A newsletter cannot be called back"
message = "Send the newsletter '{subject}'?"

[gate.confirmation]
allow_edits = true
"#;

/// The operation of that rule.
const NEWSLETTER: &str = "execute_newsletter";

/// An aggregate, a search, a walk along references, a long job, and two calls that need confirmation.
const WORTH_TRYING: [(&str, &str); 6] = [
    (
        "list_orders",
        r#"{"filter": {"currency": "EUR"}, "aggregate": {"by_status": {"group_by": "status", "count": true, "sum": "total"}}}"#,
    ),
    ("search_tickets", r#"{"query": "leaking tent", "fields": ["id", "subject", "status"], "first": 5}"#),
    (
        "query_relationships",
        r#"{"root": {"element_type": "tickets", "id": 353}, "direction": "outgoing", "depth": 3, "first": 10}"#,
    ),
    ("execute_export", r#"{"table": "products", "wait": true}"#),
    ("delete_tag", r#"{"id": 3}"#),
    (NEWSLETTER, r#"{"subject": "Tents for less", "body": "All week.", "country": "Germany"}"#),
];

pub(crate) async fn run(arguments: DemoArgs) -> anyhow::Result<CommandOutcome> {
    let folder = TempDir::new()?;
    let config = Config::parse(POLICY).map_err(|problem| anyhow::anyhow!("{}", problem.message))?;
    let mut config = arguments.confirmation.apply_to(config);
    // The file in which `--state` looks for approvals.
    let store = folder.0.join("state.sqlite").display().to_string();
    config.state.store = Some(format!("sqlite:{}", store.replace("${", "$${")));
    config.audit.dir = Some(folder.0.join("audit"));
    let safety = Arc::new(Safety::new(&config, &SourceFacts::default())?);
    let targets = ["demo:".to_owned()];
    let wanted = SourceSelection { targets: &targets, upstream: &UpstreamArgs::default(), config: &config };
    let opened = wanted.open(OnUnreachable::Fail).await?;
    let feed = CallFeed::default();
    let observer = Arc::new(feed.observer(LogObserver));
    let engine = setup::engine_with_observer(&opened, &arguments.surface, &config, &safety, observer)?;
    let _unused = crate::safety::report_unused(&engine, &safety.gate, &opened);
    let operator = ExplorerOperator::new(OperatorContext {
        engine: engine.clone(),
        safety: safety.clone(),
        config: config.clone(),
        path: None,
        targets: targets.to_vec(),
        upstream: UpstreamArgs::default(),
        confirmation: arguments.confirmation,
        surface: arguments.surface.clone(),
        http: arguments.http,
    });
    // The demo has nothing to protect.
    let explorer = ExplorerSetup { operator, feed, safety: safety.clone(), link: LinkPrinting::Always };
    if arguments.stdio {
        let ending = super::serve::on_stdio(engine, None, &config, explorer).await;
        safety.close().await;
        return ending;
    }
    let address = arguments.http.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let explorer = is_served(&config.http, &arguments.access, address).then_some(explorer);
    let ending = super::serve::on_http(engine, None, address, &arguments.access, &config, explorer, |served| {
        introduce(served, &folder.0);
    })
    .await;
    safety.close().await;
    ending
}

/// Says what to try.
fn introduce(served: &ServedAddresses, state: &Path) {
    let directory = state.display();
    let url = &served.mcp;
    note!("A sample shop and its support desk are served as MCP-AQL at {url}");
    note!();
    if let Some(explorer) = &served.explorer {
        note!("{explorer}");
        note!();
    }
    note!("Add it to an MCP client:");
    note!("  {{\"mcpServers\": {{\"aquifer\": {{\"url\": \"{url}\"}}}}}}");
    note!();
    note!("Then ask the agent to try:");
    for (operation, params) in WORTH_TRYING {
        note!("  {operation} {params}");
    }
    note!();
    note!("Or try them without a client, in another terminal. Each call gets a new shop:");
    // The approval of the newsletter is a rule of this server.
    for (operation, params) in WORTH_TRYING.iter().filter(|(operation, _)| *operation != NEWSLETTER) {
        note!("  aquifer call {operation} '{params}' --source demo:");
    }
    note!();
    note!("Without \"wait\", the export returns an execution_id. get_execution shows its progress,");
    note!("cancel_execution stops it.");
    note!();
    note!("Deleting needs a confirmation. A client that can ask its user does so. Otherwise the call waits until you");
    note!("approve it, as the newsletter always does, in the explorer or here:");
    note!("  aquifer approvals secret --state {directory}");
    note!("  aquifer approvals list --state {directory}");
    note!("The audit log records every decision and its outcome:");
    note!("  aquifer audit show --state {directory}");
    note!("  aquifer policy show demo:");
    note!();
    note!("Press Ctrl-C to stop. All changes are lost then.");
}

/// A state directory that is removed when the demo ends. Other commands use it with `--state`.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> anyhow::Result<Self> {
        let name =
            format!("aquifer-demo-{:016x}", getrandom::u64().context("cannot get random bytes from the system")?);
        let path = std::env::temp_dir().join(name);
        state::create_new(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
