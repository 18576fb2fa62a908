//! The address at which the configuration is served.

use std::io::ErrorKind;

use tokio::net::TcpListener;

use super::Finding;
use crate::config::Config;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let Some(address) = config.http.address else { return Vec::new() };
    let subject = format!("http.address {address}");
    let found = match TcpListener::bind(address).await {
        // The server warns of it, too.
        Ok(_) if !address.ip().is_loopback() => {
            let message = "free, can be reached from other machines, and callers are not authenticated";
            let advice = "Use 127.0.0.1, unless a proxy in front of it or a closed network decides who can call it";
            Finding::note(subject, message, advice)
        }
        Ok(_) => Finding::ok(subject, "free"),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let advice = "If that is not an Aquifer that is already running, stop it, or choose another port";
            Finding::problem(subject, "another program listens there", advice)
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let advice = "Ports below 1024 need a privilege: choose a higher one";
            Finding::problem(subject, "this user may not listen there", advice)
        }
        Err(error) => {
            let advice = "Use an address of this machine, such as 127.0.0.1";
            Finding::problem(subject, format!("cannot be listened at: {error}"), advice)
        }
    };
    vec![found]
}
