//! The results of a fault, and the problems in them.

use std::time::Duration;

use aquifer_bench::statistics::{median, percentile};
use serde_json::{Value, json};

use crate::healthy::Health;

/// Allocators keep some of their memory; a leak grows with the rounds.
const MAX_GROWTH_KB: f64 = 32.0 * 1024.0;
/// Tolerated difference in connections and threads of a pool between two measurements.
const MAX_MORE: usize = 4;

/// The resources of a gateway, as seen by the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resources {
    pub(crate) processes: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) resident_kb: f64,
}

/// The results of all rounds of a fault.
#[derive(Default)]
pub(crate) struct FaultResults {
    pub(crate) name: &'static str,
    /// Number of upstreams that misbehave at the same time.
    pub(crate) concurrency: usize,
    /// The total number of rounds.
    pub(crate) rounds: usize,
    /// Rounds in which the caller got exactly the expected result: one structured error, or the answer in spite of the
    /// fault.
    pub(crate) as_expected: usize,
    /// Rounds after which the upstream answered again.
    pub(crate) recovered: usize,
    /// Milliseconds from the error to the first answer.
    pub(crate) recovery: Vec<f64>,
    pub(crate) health: Health,
    pub(crate) start: Resources,
    pub(crate) half: Resources,
    pub(crate) end: Resources,
    /// Processes that outlived the gateway.
    pub(crate) leftover_processes: usize,
}

impl FaultResults {
    /// Counts one round.
    pub(crate) fn count(&mut self, as_expected: bool, recovered: bool, recovery: Duration) {
        self.rounds += 1;
        self.as_expected += usize::from(as_expected);
        self.recovered += usize::from(recovered);
        self.recovery.push(recovery.as_secs_f64() * 1e3);
    }

    /// Describes everything that is not as expected.
    pub(crate) fn problems(&self) -> Vec<String> {
        let (start, end) = (&self.start, &self.end);
        let wrong = [
            (self.as_expected != self.rounds, "callers got something else"),
            (self.recovered != self.rounds, "it did not always recover"),
            (self.health.failed > 0, "calls to the healthy upstream failed"),
            (end.processes > start.processes, "there are more processes than before"),
            (end.descriptors > start.descriptors + MAX_MORE, "there are more file descriptors than before"),
            (end.threads > start.threads + MAX_MORE, "there are more threads than before"),
            (end.resident_kb > start.resident_kb + MAX_GROWTH_KB, "memory has grown"),
            (self.leftover_processes > 0, "processes outlived the gateway"),
        ];
        let wrong = wrong.into_iter().filter(|(is_wrong, _)| *is_wrong);
        wrong.map(|(_, what)| format!("{}: {what}", self.name)).collect()
    }

    fn outcome(&self) -> Value {
        let (p50, max) = (median(&self.recovery).round(), percentile(&self.recovery, 1.0).round());
        json!([self.name, self.rounds, self.concurrency, self.as_expected, self.recovered, p50, max])
    }

    fn healthy(&self) -> Value {
        let Health { times, failed, slow } = &self.health;
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| percentile(times, share).round());
        json!([self.name, times.len(), failed, slow, p50, p99, max])
    }

    fn resources(&self) -> Value {
        let moments = [&self.start, &self.half, &self.end];
        let mb = moments.map(|held| (held.resident_kb / 102.4).round() / 10.0);
        json!([
            self.name,
            moments.map(|held| held.processes),
            moments.map(|held| held.descriptors),
            moments.map(|held| held.threads),
            mb,
            self.leftover_processes
        ])
    }
}

/// The tables, each with its titles.
pub(crate) fn tables(all_results: &[&FaultResults]) -> Value {
    let table = |titles: Value, row: fn(&FaultResults) -> Value| {
        std::iter::once(titles).chain(all_results.iter().map(|results| row(results))).collect::<Value>()
    };
    let outcome = ["fault", "rounds", "at once", "as expected", "recovered", "recovery p50, ms", "recovery max, ms"];
    let healthy = ["fault", "calls", "failed", "over 1 s", "p50, ms", "p99, ms", "max, ms"];
    let resources = ["fault", "processes", "file descriptors", "threads", "resident MB", "outlived the gateway"];
    json!({
        "outcome": table(json!(outcome), FaultResults::outcome),
        "healthy": table(json!(healthy), FaultResults::healthy),
        "resources": table(json!(resources), FaultResults::resources),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_and_failures_are_reported() {
        let held = Resources { processes: 2, descriptors: 20, threads: 3, resident_kb: 20_000.0 };
        let mut results = FaultResults { name: "killed", start: held, end: held, ..FaultResults::default() };
        results.count(true, true, Duration::ZERO);
        assert_eq!(results.problems(), Vec::<String>::new());
        results.end = Resources { processes: 3, descriptors: 24, threads: 3, resident_kb: 90_000.0 };
        results.count(true, false, Duration::ZERO);
        results.leftover_processes = 1;
        let problems = results.problems().join(", ");
        for word in ["more processes", "recover", "memory", "outlived"] {
            assert!(problems.contains(word), "{word}: {problems}");
        }
        assert!(!problems.contains("descriptors") && !problems.contains("callers"), "{problems}");
    }
}
