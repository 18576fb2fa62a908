//! What came of it: two tables, and whether all is well.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use anyhow::{Context, Result, bail};

use super::page;

/// Name, what happens in a round, and what the caller is told.
pub(crate) const FAULTS: [(&str, &str, &str); 7] = [
    ("killed", "killed in mid-call", "`UPSTREAM_UNAVAILABLE`"),
    ("hanging", "hangs for ever", "`UPSTREAM_TIMEOUT`"),
    ("garbage", "writes garbage to stdout", "the answer, in spite of it"),
    ("huge", "answers with 50 MB", "`VALIDATION_PAYLOAD_TOO_LARGE`"),
    ("exiting", "ends whenever it is started", "`UPSTREAM_UNAVAILABLE`"),
    ("changing", "changes its tools", "the answer, and the new tools"),
    ("moving", "restarts on another port", "`UPSTREAM_UNAVAILABLE`"),
];

/// Allocators keep some of what they got; what leaks grows with the rounds.
const MAX_GROWTH_MB: f64 = 32.0;

/// What the connections and threads of a pool may differ by between two moments.
const MAX_MORE: f64 = 4.0;

pub(crate) struct Report(HashMap<String, f64>);

impl Report {
    pub(crate) fn read(text: &str) -> Result<Self> {
        let figure = |line: &str| {
            let (name, value) = line.split_once('\t')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        let read = |line| figure(line).with_context(|| format!("not a figure: {line}"));
        text.lines().map(read).collect::<Result<_>>().map(Self)
    }

    fn of(&self, fault: &str, name: &str) -> f64 {
        self.0.get(&format!("{fault}.{name}")).copied().unwrap_or(f64::NAN)
    }

    fn done(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
        FAULTS.iter().filter(|(name, ..)| self.0.contains_key(&format!("{name}.rounds")))
    }

    /// Fails with everything that is not as it should be.
    pub(crate) fn judge(&self) -> Result<()> {
        let mut problems = String::new();
        for (fault, ..) in self.done() {
            let rounds = self.of(fault, "rounds");
            let more = |name: &str| self.of(fault, &format!("end_{name}")) - self.of(fault, &format!("start_{name}"));
            for (wrong, what) in [
                (self.of(fault, "as_expected") != rounds, "callers were told something else"),
                (self.of(fault, "recovered") != rounds, "it did not always recover"),
                (self.of(fault, "healthy_failed") > 0.0, "calls to the healthy upstream failed"),
                (more("processes") > 0.0, "there are more processes than before"),
                (more("descriptors") > MAX_MORE, "there are more file descriptors than before"),
                (more("threads") > MAX_MORE, "there are more threads than before"),
                (more("kb") / 1024.0 > MAX_GROWTH_MB, "memory has grown"),
                (self.of(fault, "left") > 0.0, "processes outlived the gateway"),
            ] {
                if wrong {
                    let _ = writeln!(problems, "  - {fault}: {what}");
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        bail!("not all is well:\n{problems}");
    }

    /// Puts the tables into docs/soak.md.
    pub(crate) fn write(&self, rounds: u32, minutes: u32) -> Result<()> {
        let verdict = match self.judge() {
            Ok(()) => "All is as it should be.".to_owned(),
            Err(problem) => format!("{problem}").trim_end().to_owned(),
        };
        let report = format!(
            "Made by `cargo xtask soak --rounds {rounds} --minutes {minutes} --update-docs`. Where there are fewer than \
             {rounds}\nrounds the minutes were over.\n\n{self}\n{verdict}\n"
        );
        page::put("soak", &report)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| the upstream | rounds | at once | callers get | so it was | recovered | within, p50 | at most |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for (fault, what, told) in self.done() {
            let [rounds, beside, expected, recovered] =
                ["rounds", "side_by_side", "as_expected", "recovered"].map(|name| self.of(fault, name));
            let [median, most] = ["recovery_p50_ms", "recovery_most_ms"].map(|name| time(self.of(fault, name)));
            writeln!(f, "| {what} | {rounds} | {beside} | {told} | {expected} | {recovered} | {median} | {most} |")?;
        }
        writeln!(f, "\n| the upstream | calls to the healthy one | failed | over 1 s | p50 | p99 | slowest |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for (fault, what, _) in self.done() {
            let [calls, failed, slow] =
                ["healthy_calls", "healthy_failed", "healthy_slow"].map(|name| self.of(fault, name));
            let [median, high, most] =
                ["healthy_p50_ms", "healthy_p99_ms", "healthy_most_ms"].map(|name| time(self.of(fault, name)));
            writeln!(f, "| {what} | {calls} | {failed} | {slow} | {median} | {high} | {most} |")?;
        }
        writeln!(
            f,
            "\n| the upstream | processes | file descriptors | threads | resident MB | outlived the gateway |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for (fault, what, _) in self.done() {
            let way = |name: &str| {
                let at = |moment: &str| self.of(fault, &format!("{moment}_{name}"));
                format!("{} → {} → {}", at("start"), at("half"), at("end"))
            };
            let mb = |moment: &str| self.of(fault, &format!("{moment}_kb")) / 1024.0;
            let memory = format!("{:.1} → {:.1} → {:.1}", mb("start"), mb("half"), mb("end"));
            let [processes, descriptors, threads] = ["processes", "descriptors", "threads"].map(way);
            let left = self.of(fault, "left");
            writeln!(f, "| {what} | {processes} | {descriptors} | {threads} | {memory} | {left} |")?;
        }
        Ok(())
    }
}

fn time(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 1_000.0 => format!("{short:.0} ms"),
        long => format!("{:.1} s", long / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: &str = "killed.rounds\t2\nkilled.as_expected\t2\nkilled.recovered\t2\nkilled.healthy_failed\t0\n\
                        killed.start_processes\t2\nkilled.end_processes\t2\nkilled.start_descriptors\t20\n\
                        killed.end_descriptors\t21\nkilled.start_threads\t3\nkilled.end_threads\t3\n\
                        killed.start_kb\t20000\nkilled.end_kb\t21000\nkilled.left\t0\n";

    #[test]
    fn what_grows_or_goes_wrong_is_told() -> Result<()> {
        Report::read(WELL)?.judge()?;
        for (before, after, words) in [
            ("end_processes\t2", "end_processes\t3", "processes"),
            ("recovered\t2", "recovered\t1", "recover"),
            ("end_kb\t21000", "end_kb\t90000", "memory"),
            ("left\t0", "left\t1", "outlived"),
        ] {
            let verdict = Report::read(&WELL.replace(before, after))?.judge();
            assert!(verdict.is_err_and(|problem| problem.to_string().contains(words)), "{after}");
        }
        Ok(())
    }
}
