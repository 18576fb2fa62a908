//! Stops the process: gracefully on the first signal, at once on the second.

use std::sync::Arc;

use aquifer_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::system::StopSignals;

/// A token that is cancelled on SIGINT or SIGTERM, on Windows on Ctrl-C and the like. A second signal ends the process.
pub(crate) fn shutdown_token() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let fired = stop.clone();
    let mut signals = StopSignals::new()?;
    tokio::spawn(async move {
        for first in [true, false] {
            signals.recv().await;
            if !first {
                std::process::exit(1);
            }
            fired.cancel();
        }
    });
    Ok(stop)
}

/// Refreshes the catalog whenever a source reports a change, until the process stops.
pub(crate) fn refresh_on_change(engine: &Arc<Engine>, stop: &CancellationToken) {
    let (engine, stop) = (engine.clone(), stop.clone());
    tokio::spawn(async move { stop.run_until_cancelled(engine.watch_sources()).await });
}
