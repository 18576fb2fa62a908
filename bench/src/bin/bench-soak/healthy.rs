//! The upstream beside the faulty one, called all the while. Whatever it suffers is the fault's doing, or the machine's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aquifer_bench::http::Address;
use serde_json::json;

use crate::ask::{Asker, is_success};

const PAUSE: Duration = Duration::from_millis(20);

/// A call that took longer was disturbed, even if it was answered.
const SLOW: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Health {
    /// Milliseconds of each call.
    pub(crate) times: Vec<f64>,
    pub(crate) failed: usize,
    pub(crate) slow: usize,
}

/// Calls until it is over. The connection is opened anew after whatever is no answer.
pub(crate) fn watch(address: &Address, over: &AtomicBool) -> Health {
    let mut health = Health::default();
    let mut asker = Asker::open(address).ok();
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let params = json!({ "text": "well" });
        let answer = asker.as_mut().map(|asker| asker.ask("well_echo", &params));
        health.times.push(asked.elapsed().as_secs_f64() * 1e3);
        health.slow += usize::from(asked.elapsed() > SLOW);
        match answer {
            Some(Ok(envelope)) if is_success(&envelope) => {}
            Some(Ok(_)) => health.failed += 1,
            Some(Err(_)) | None => {
                health.failed += 1;
                asker = Asker::open(address).ok();
            }
        }
        std::thread::sleep(PAUSE);
    }
    health
}
