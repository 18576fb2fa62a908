//! Opens pages in the browser of the person at this machine.

use std::process::Stdio;

/// Whether there may be a browser: the environment names one, or there is a desktop.
pub(crate) fn has_browser() -> bool {
    !command().is_empty()
}

/// Opens a browser. Returns whether one could be started.
pub(crate) fn open_browser(url: &str) -> bool {
    let command = command();
    let Some((program, arguments)) = command.split_first() else { return false };
    let quiet = || Stdio::null();
    let mut browser = tokio::process::Command::new(program);
    let started = browser.args(arguments).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    match started {
        Ok(mut browser) => {
            tokio::spawn(async move { browser.wait().await });
            true
        }
        Err(_) => false,
    }
}

fn command() -> Vec<String> {
    match std::env::var("BROWSER").ok().filter(|value| !value.is_empty()) {
        Some(program) => vec![program],
        None => {
            super::platform::processes::browser().unwrap_or_default().iter().map(|word| (*word).to_owned()).collect()
        }
    }
}
