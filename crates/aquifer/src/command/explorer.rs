//! `aquifer explorer`: logs a person in to the explorer of a server.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, bail};
use aquifer_explorer::login;

use super::approvals::open_store;
use super::demo::PORT;
use crate::CommandOutcome;
use crate::cli::StateArgs;
use crate::explorer::serve::{ADMIN, link as login_link, minutes};
use crate::terminal;

/// Prints a link that logs a person in once. It is printed to a terminal only: whoever reads it can approve calls.
pub(crate) async fn link(place: &StateArgs, url: Option<String>) -> anyhow::Result<CommandOutcome> {
    terminal::require("Creating a link")?;
    let (config, store, clock) = open_store(place)?;
    let base = match url {
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => url,
        Some(url) => bail!("'{url}' is not the address of a server: it begins with http:// or https://"),
        None => {
            let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
            format!("http://{}", config.http.address.unwrap_or(usual))
        }
    };
    let token = login::create_link(&*store, &*clock, ADMIN).await.context("cannot create a link")?;
    terminal::print(&format!(
        "This link works once, within {} minutes:\n\n  {}\n\n",
        minutes(),
        login_link(&base, &token)
    ))?;
    Ok(CommandOutcome::Done)
}
