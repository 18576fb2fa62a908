//! `aquifer demo`: sample data, ready to try.

use std::net::{Ipv4Addr, SocketAddr};

use crate::Ending;
use crate::cli::DemoArgs;
use crate::config::Config;
use crate::setup::{self, Mount};
use crate::sources;

const PORT: u16 = 3910;

pub(crate) async fn run(arguments: DemoArgs) -> anyhow::Result<Ending> {
    let config = Config::default();
    let mount = Mount { source: sources::demo()?, prefix: None };
    let engine = setup::engine(vec![mount], &arguments.surface, &config)?;
    if arguments.stdio {
        return super::serve::on_stdio(engine).await;
    }
    let address = arguments.http.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    super::serve::on_http(engine, address, &arguments.access, &config.http, |url| {
        eprintln!("The demo task board speaks MCP-AQL at {url}");
        eprintln!();
        eprintln!("Add it to an MCP client:");
        eprintln!("  {{\"mcpServers\": {{\"aquifer\": {{\"url\": \"{url}\"}}}}}}");
        eprintln!();
        eprintln!("Then let the agent try:");
        eprintln!("  create_task  {{\"title\": \"Water the plants\"}}");
        eprintln!("  list_tasks   {{\"done\": false}}");
        eprintln!("  introspect   {{\"query\": \"operations\", \"search\": \"run all tasks\"}}");
        eprintln!();
        eprintln!("Or without a client, in another terminal, on a board of its own:");
        eprintln!("  aquifer call create_task '{{\"title\": \"Water the plants\"}}' --source demo:");
        eprintln!();
        eprintln!("Stop with Ctrl-C.");
    })
    .await
}
