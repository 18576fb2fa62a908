//! `aquifer demo`: sample data, ready to try.

use std::net::{Ipv4Addr, SocketAddr};

use crate::Ending;
use crate::cli::{DemoArgs, UpstreamArgs};
use crate::config::Config;
use crate::setup::{self, Wanted};
use crate::sources::Absence;

const PORT: u16 = 3910;

/// A sum, a search and a walk along references.
const WORTH_TRYING: [(&str, &str); 3] = [
    (
        "list_orders",
        r#"{"filter": {"currency": "EUR"}, "aggregate": {"by_status": {"group_by": "status", "count": true, "sum": "total"}}}"#,
    ),
    ("search_tickets", r#"{"query": "leaking tent", "fields": ["id", "subject", "status"], "first": 5}"#),
    (
        "query_relationships",
        r#"{"root": {"element_type": "tickets", "id": 353}, "direction": "outgoing", "depth": 3, "first": 10}"#,
    ),
];

pub(crate) async fn run(arguments: DemoArgs) -> anyhow::Result<Ending> {
    let config = Config::default();
    let targets = ["demo:".to_owned()];
    let wanted = Wanted { targets: &targets, upstream: &UpstreamArgs::default(), config: &config };
    let engine = setup::engine(&wanted.open(Absence::Fails).await?, &arguments.surface, &config)?;
    if arguments.stdio {
        return super::serve::on_stdio(engine, None).await;
    }
    let address = arguments.http.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    super::serve::on_http(engine, None, address, &arguments.access, &config.http, |url| {
        eprintln!("A sample shop and its support desk speak MCP-AQL at {url}");
        eprintln!();
        eprintln!("Add it to an MCP client:");
        eprintln!("  {{\"mcpServers\": {{\"aquifer\": {{\"url\": \"{url}\"}}}}}}");
        eprintln!();
        eprintln!("Then let the agent try:");
        for (operation, params) in WORTH_TRYING {
            eprintln!("  {operation} {params}");
        }
        eprintln!();
        eprintln!("Or without a client, in another terminal, on a shop of its own:");
        for (operation, params) in WORTH_TRYING {
            eprintln!("  aquifer call {operation} '{params}' --source demo:");
        }
        eprintln!();
        eprintln!("Stop with Ctrl-C. What is changed meanwhile is gone then.");
    })
    .await
}
