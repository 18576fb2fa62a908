//! `aquifer trust`: how far an adapter file is trusted, with the reason in its history.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::Context;
use aquifer_discovery::adapter::{TrustChange, change_trust};
use aquifer_protocol::trust::Trust;
use jiff::Timestamp;

use crate::Ending;
use crate::cli::TrustArgs;
use crate::sources::sidecar_of;

pub(crate) fn run(arguments: TrustArgs) -> anyhow::Result<Ending> {
    let TrustArgs { file, to, reason, by } = arguments;
    let shown = file.display();
    let text = crate::files::read(&file).with_context(|| format!("cannot read {shown}"))?;
    let sidecar = match crate::files::read(&sidecar_of(&file)) {
        Ok(sidecar) => Some(sidecar),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", sidecar_of(&file).display())),
    };
    let now = Timestamp::from_second(Timestamp::now().as_second()).context("the clock is beyond time")?.to_string();
    let user = || std::env::var("USER").ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "operator".to_owned());
    let by = by.unwrap_or_else(user);
    let change = TrustChange { to, at: &now, by: &by, reason: &reason };
    let changed = change_trust(&text, sidecar.as_deref(), &change).with_context(|| shown.to_string())?;
    // The same file as before for everybody who may read it.
    let mode = std::fs::metadata(&file).with_context(|| format!("cannot read {shown}"))?.permissions().mode();
    super::write::replace(&file, &changed.text, mode)?;
    eprintln!("{shown} was '{}' and is '{}'.", changed.from, changed.to);
    if to > Trust::Generated {
        eprintln!("What a file says of itself counts up to 'generated'. To take its word, in the configuration:\n");
        eprintln!("  [[source]]\n  adapter = \"{shown}\"\n  trust = \"file\"\n");
        eprintln!("or on the command line: --trust file");
    }
    Ok(Ending::Done)
}
