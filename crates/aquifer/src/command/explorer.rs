//! `aquifer explorer`: logs a person in to the explorer of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context as _, bail};
use aquifer_explorer::login;

use super::approvals::open_store;
use super::demo::PORT;
use crate::CommandOutcome;
use crate::cli::StateArgs;
use crate::config::Config;
use crate::explorer::serve::{ADMIN, link as login_link, minutes};
use crate::terminal;

/// Prints a link that logs a person in once. It is printed to a terminal only: whoever reads it can approve calls.
pub(crate) async fn link(place: &StateArgs, url: Option<String>) -> anyhow::Result<CommandOutcome> {
    terminal::require("Creating a link")?;
    let (config, store, clock) = open_store(place)?;
    let base = match url {
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => url,
        Some(url) => bail!("'{url}' is not the address of a server: it begins with http:// or https://"),
        None => configured_url(&config),
    };
    let token = login::create_link(&*store, &*clock, ADMIN).await.context("cannot create a link")?;
    terminal::print(&format!(
        "This link works once, within {} minutes:\n\n  {}\n\n",
        minutes(),
        login_link(&base, &token)
    ))?;
    Ok(CommandOutcome::Done)
}

/// Where people reach the explorer according to the configuration.
fn configured_url(config: &Config) -> String {
    if let Some(url) = &config.approvals.explorer_url {
        return url.clone();
    }
    let mut address = config.http.address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    // A server can listen on all addresses, but a browser needs one of them.
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_begin_with_the_address_that_people_use() {
        for (address, explorer_url, expected) in [
            (None, None, "http://127.0.0.1:3910"),
            (Some("127.0.0.1:80"), None, "http://127.0.0.1:80"),
            (Some("0.0.0.0:80"), None, "http://127.0.0.1:80"),
            (Some("[::]:80"), None, "http://[::1]:80"),
            (Some("10.1.2.3:80"), None, "http://10.1.2.3:80"),
            (Some("0.0.0.0:80"), Some("https://aquifer.example.com"), "https://aquifer.example.com"),
        ] {
            let mut config = Config::default();
            config.http.address = address.and_then(|address: &str| address.parse().ok());
            config.approvals.explorer_url = explorer_url.map(str::to_owned);
            assert_eq!(configured_url(&config), expected, "{address:?} {explorer_url:?}");
        }
    }
}
