//! `aquifer trust`: changes the trust level of an adapter file and records the reason.
//!
//! A published level is written into the file. `accepted` is ours, so it is only recorded in the state directory. Nobody can
//! merely say `validated`: a conformance run of the file has to be recorded.

use anyhow::{Context, bail};
use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::{TrustChange, change_trust};
use aquifer_protocol::trust::Trust;
use jiff::Timestamp;

use crate::CommandOutcome;
use crate::cli::TrustArgs;
use crate::sources::sidecar_of;
use crate::state::{StateFiles, ValidationKey};

/// Said after a level was recorded.
const SCOPE: &str = "The level is valid on this machine until the file or its sidecar changes.";

pub(crate) fn run(arguments: TrustArgs) -> anyhow::Result<CommandOutcome> {
    let TrustArgs { file, to, reason, by, place } = arguments;
    let shown = file.display().to_string();
    let text = crate::files::read(&file).with_context(|| format!("cannot read {shown}"))?;
    let sidecar = match crate::files::read(&sidecar_of(&file)) {
        Ok(sidecar) => Some(sidecar),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", sidecar_of(&file).display())),
    };
    let now = Timestamp::from_second(Timestamp::now().as_second()).context("cannot read the system clock")?.to_string();
    let user = || std::env::var("USER").ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "operator".to_owned());
    let by = by.unwrap_or_else(user);
    let with_sidecar =
        |text: &str| -> Vec<String> { std::iter::once(text.to_owned()).chain(sidecar.clone()).collect() };
    let texts = with_sidecar(&text);
    let state = StateFiles::new(&place.read()?.state)?;
    let recorded = state.recorded_trust(texts.iter().map(String::as_str));
    let stated = Adapter::read(&text, sidecar.as_deref()).map(|adapter| adapter.stated_trust);
    if to == Trust::Accepted {
        return accept(&shown, stated.ok(), recorded, &texts, &state);
    }
    if to <= Trust::Generated && stated == Ok(to) && recorded.is_some() {
        state.forget_trust(texts.iter().map(String::as_str)).context("cannot change the recorded trust level")?;
        note!("{shown}: trust changed from '{}' to '{to}'.", recorded.unwrap_or(to));
        return Ok(CommandOutcome::Done);
    }
    let change = TrustChange { to, at: &now, by: &by, reason: &reason };
    let changed = change_trust(&text, sidecar.as_deref(), &change).with_context(|| shown.clone())?;
    let report = match to {
        Trust::Validated if changed.from < to => {
            let reports = state.validations(ValidationKey::Files(&texts));
            let Some(report) = reports.latest().cloned() else { bail!(unearned(&shown, recorded)) };
            Some(report)
        }
        _ => None,
    };
    // Recorded first, because a gateway that serves the file reads it again as soon as it changes.
    if to > Trust::Generated {
        let texts = with_sidecar(&changed.text);
        state
            .record_trust(texts.iter().map(String::as_str), to)
            .and_then(|()| report.map_or(Ok(()), |report| state.store_validation(ValidationKey::Files(&texts), report)))
            .context("cannot record the trust level")?;
    }
    crate::files::write::file(&file, &changed.text, true)?;
    note!("{shown}: trust changed from '{}' to '{}'.", changed.from, changed.to);
    if to > Trust::Generated {
        note!("{SCOPE}");
    }
    Ok(CommandOutcome::Done)
}

/// Records that the operator accepts the file as it is. The file itself does not change.
fn accept(
    shown: &str,
    stated: Option<Trust>,
    recorded: Option<Trust>,
    texts: &[String],
    state: &StateFiles,
) -> anyhow::Result<CommandOutcome> {
    match stated {
        None => bail!("{shown} is not a valid adapter file. Run aquifer validate {shown} to see why"),
        Some(Trust::Untested) => bail!(
            "{shown}: its trust level is '{}', and no level may be skipped: the next one is '{}', not '{}'",
            Trust::Untested,
            Trust::Generated,
            Trust::Accepted
        ),
        Some(_) if recorded == Some(Trust::Accepted) => {
            bail!("{shown}: its trust level is '{}' already", Trust::Accepted)
        }
        Some(stated) => {
            state
                .record_trust(texts.iter().map(String::as_str), Trust::Accepted)
                .context("cannot record the trust level")?;
            note!("{shown}: trust changed from '{}' to '{}'.", recorded.unwrap_or(stated), Trust::Accepted);
            note!("{SCOPE}");
            Ok(CommandOutcome::Done)
        }
    }
}

/// How to earn `validated`.
fn unearned(shown: &str, recorded: Option<Trust>) -> String {
    let accept = match recorded {
        Some(_) => String::new(),
        None => format!("aquifer trust {shown} --to {} --reason …, then ", Trust::Accepted),
    };
    format!(
        "{shown}: '{}' is earned by a conformance run, and none of this file is recorded. Run {accept}aquifer \
         conformance {shown} --allow-writes on test data",
        Trust::Validated
    )
}
