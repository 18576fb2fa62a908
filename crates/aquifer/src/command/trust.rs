//! `aquifer trust`: changes the trust level of an adapter file and records the reason.

use anyhow::Context;
use aquifer_discovery::adapter::{TrustChange, change_trust};
use aquifer_protocol::trust::Trust;
use jiff::Timestamp;

use crate::CommandOutcome;
use crate::cli::TrustArgs;
use crate::sources::sidecar_of;
use crate::state::StateFiles;

pub(crate) fn run(arguments: TrustArgs) -> anyhow::Result<CommandOutcome> {
    let TrustArgs { file, to, reason, by, place } = arguments;
    let shown = file.display();
    let text = crate::files::read(&file).with_context(|| format!("cannot read {shown}"))?;
    let sidecar = match crate::files::read(&sidecar_of(&file)) {
        Ok(sidecar) => Some(sidecar),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", sidecar_of(&file).display())),
    };
    let now = Timestamp::from_second(Timestamp::now().as_second()).context("cannot read the system clock")?.to_string();
    let user = || std::env::var("USER").ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "operator".to_owned());
    let by = by.unwrap_or_else(user);
    let change = TrustChange { to, at: &now, by: &by, reason: &reason };
    let changed = change_trust(&text, sidecar.as_deref(), &change).with_context(|| shown.to_string())?;
    // Recorded first, because a gateway that serves the file reads it again as soon as it changes.
    if to > Trust::Generated {
        let texts = std::iter::once(changed.text.as_str()).chain(sidecar.as_deref());
        StateFiles::new(&place.read()?.state)?.record_trust(texts, to).context("cannot record the trust level")?;
    }
    super::write::file(&file, &changed.text, true)?;
    eprintln!("{shown}: trust changed from '{}' to '{}'.", changed.from, changed.to);
    if to > Trust::Generated {
        eprintln!("The level is valid on this machine until the file or its sidecar changes.");
    }
    Ok(CommandOutcome::Done)
}
