//! Calls the healthy upstream next to the faulty ones all the time. Any disturbance is caused by the fault or by the
//! machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aquifer_bench::http::Address;
use serde_json::json;

use crate::client::{GatewayClient, is_success};

const PAUSE: Duration = Duration::from_millis(20);

/// A slower call counts as disturbed, even if it was answered.
const SLOW: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Health {
    /// Milliseconds of each call.
    pub(crate) times: Vec<f64>,
    pub(crate) failed: usize,
    pub(crate) slow: usize,
}

/// Makes calls until `over` is set.
pub(crate) fn monitor(address: &Address, over: &AtomicBool) -> Health {
    let mut health = Health::default();
    let mut client = GatewayClient::new(address);
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = client.call("well_echo", &json!({ "text": "well" }));
        health.times.push(asked.elapsed().as_secs_f64() * 1e3);
        health.slow += usize::from(asked.elapsed() > SLOW);
        health.failed += usize::from(!answer.is_ok_and(|envelope| is_success(&envelope)));
        std::thread::sleep(PAUSE);
    }
    health
}
