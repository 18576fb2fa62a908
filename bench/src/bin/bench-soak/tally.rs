//! What became of a fault, and its figures.

use std::time::Duration;

use aquifer_bench::statistics::{median, percentile};

use crate::healthy::Health;

/// What the operating system knows of a gateway.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) processes: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) resident_kb: f64,
}

/// What happened in all rounds of a fault.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) name: &'static str,
    /// How many upstreams misbehave at the same time.
    pub(crate) side_by_side: usize,
    /// Rounds of all of them together.
    pub(crate) rounds: usize,
    /// Rounds in which the caller got exactly what it should: one structured error, or the answer in spite of it.
    pub(crate) as_expected: usize,
    /// Rounds after which the upstream answered again.
    pub(crate) recovered: usize,
    /// Milliseconds from the error to the first answer.
    pub(crate) recovery: Vec<f64>,
    pub(crate) health: Health,
    pub(crate) start: Held,
    pub(crate) half: Held,
    pub(crate) end: Held,
    /// Processes that outlived the gateway.
    pub(crate) left: usize,
}

impl Tally {
    /// Counts one round.
    pub(crate) fn count(&mut self, as_expected: bool, recovered: bool, recovery: Duration) {
        self.rounds += 1;
        self.as_expected += usize::from(as_expected);
        self.recovered += usize::from(recovered);
        self.recovery.push(recovery.as_secs_f64() * 1e3);
    }

    #[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
    pub(crate) fn print(&self) {
        let number = |count: usize| count as f64;
        let mut figures = vec![
            ("rounds", number(self.rounds)),
            ("side_by_side", number(self.side_by_side)),
            ("as_expected", number(self.as_expected)),
            ("recovered", number(self.recovered)),
            ("recovery_p50_ms", median(&self.recovery)),
            ("recovery_most_ms", percentile(&self.recovery, 1.0)),
            ("healthy_calls", number(self.health.times.len())),
            ("healthy_failed", number(self.health.failed)),
            ("healthy_slow", number(self.health.slow)),
            ("healthy_p50_ms", median(&self.health.times)),
            ("healthy_p99_ms", percentile(&self.health.times, 0.99)),
            ("healthy_most_ms", percentile(&self.health.times, 1.0)),
            ("left", number(self.left)),
        ];
        let moments = [
            (["start_processes", "start_descriptors", "start_threads", "start_kb"], self.start),
            (["half_processes", "half_descriptors", "half_threads", "half_kb"], self.half),
            (["end_processes", "end_descriptors", "end_threads", "end_kb"], self.end),
        ];
        for ([processes, descriptors, threads, kb], held) in moments {
            figures.extend([
                (processes, number(held.processes)),
                (descriptors, number(held.descriptors)),
                (threads, number(held.threads)),
                (kb, held.resident_kb),
            ]);
        }
        for (name, value) in figures {
            println!("{}.{name}\t{value:.3}", self.name);
        }
    }
}
