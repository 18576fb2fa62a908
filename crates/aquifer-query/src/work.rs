//! Bounds what a query over values in memory may cost: one budget of steps and memory for filters, aggregates, order and
//! selected fields together.
//!
//! A step is about what it takes to look at one value, or to compare 512 bytes of text. Loops spend steps as they go. Once the budget
//! is used up, or the caller is gone, everything that is still to be done ends early, and what was computed is discarded:
//! [`check`](Work::check) must be called before a result is used.

use std::cell::Cell;
use std::cmp::Ordering;

use aquifer_protocol::error::{Code, Failure};
use serde_json::Value;

/// What a query may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// The maximum number of steps.
    pub max_steps: u64,
    /// The maximum number of bytes of intermediate and final results, in addition to the rows.
    pub max_bytes: usize,
}

impl WorkLimits {
    /// About a second of one processor, and as much memory as a large result.
    pub const DEFAULT: Self = Self { max_steps: 50_000_000, max_bytes: 64 * 1_024 * 1_024 };
}

/// How many steps are spent between two questions whether to stop.
const STEPS_BETWEEN_CHECKS: u64 = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopReason {
    Steps,
    Memory,
    Cancelled,
}

/// The work of one query.
pub struct Work<'a> {
    steps_left: Cell<u64>,
    next_check: Cell<u64>,
    bytes_left: Cell<usize>,
    stopped: Cell<Option<StopReason>>,
    must_stop: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("steps_left", &self.steps_left)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

impl<'a> Work<'a> {
    /// Work within limits. `must_stop` is asked now and then whether the caller is gone or has waited too long.
    pub fn new(limits: WorkLimits, must_stop: &'a dyn Fn() -> bool) -> Self {
        Self {
            steps_left: Cell::new(limits.max_steps),
            next_check: Cell::new(limits.max_steps.saturating_sub(STEPS_BETWEEN_CHECKS)),
            bytes_left: Cell::new(limits.max_bytes),
            stopped: Cell::new(None),
            must_stop,
        }
    }

    /// Work without limits, for values that are known to be few.
    pub fn unlimited() -> Work<'static> {
        Work::new(WorkLimits { max_steps: u64::MAX, max_bytes: usize::MAX }, &|| false)
    }

    fn stop(&self, reason: StopReason) {
        if self.stopped.get().is_none() {
            self.stopped.set(Some(reason));
        }
    }

    /// Spends steps.
    pub(crate) fn spend(&self, steps: usize) {
        let left = self.steps_left.get().saturating_sub(steps as u64);
        self.steps_left.set(left);
        if left <= self.next_check.get() {
            self.next_check.set(left.saturating_sub(STEPS_BETWEEN_CHECKS));
            if left == 0 {
                self.stop(StopReason::Steps);
            } else if (self.must_stop)() {
                self.stop(StopReason::Cancelled);
            }
        }
    }

    /// Spends what it takes to look at a value of any length.
    pub(crate) fn spend_on(&self, value: &Value) {
        self.spend(1 + length(value));
    }

    /// Takes memory, until it is [released](Self::release).
    pub(crate) fn reserve(&self, bytes: usize) {
        match self.bytes_left.get().checked_sub(bytes) {
            Some(left) => self.bytes_left.set(left),
            None => self.stop(StopReason::Memory),
        }
    }

    /// Returns memory.
    pub(crate) fn release(&self, bytes: usize) {
        self.bytes_left.set(self.bytes_left.get().saturating_add(bytes));
    }

    /// A copy of a value, which takes memory until the end.
    pub(crate) fn copy(&self, value: &Value) -> Value {
        self.reserve(crate::value::memory_size(value));
        if self.is_stopped() { Value::Null } else { value.clone() }
    }

    /// Whether the work has to end early.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// The failure of work that had to end early.
    pub fn check(&self) -> Result<(), Failure> {
        let message = match self.stopped.get() {
            None => return Ok(()),
            Some(StopReason::Steps | StopReason::Cancelled) => "The query takes too long",
            Some(StopReason::Memory) => "The query takes too much memory",
        };
        let message = format!(
            "{message} for this many rows. Use fewer aggregates, groups or conditions, or narrow the rows with the \
             operation's own parameters"
        );
        Err(Failure::new(Code::ValidationPayloadTooLarge, message))
    }

    /// Sorts stably, and ends early if the work has to. The sort of the standard library cannot be left, and may panic if
    /// the order becomes arbitrary.
    pub(crate) fn sort_by<T: Copy>(&self, items: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut compare = |a: &T, b: &T| {
            self.spend(1);
            compare(a, b)
        };
        let buffer_bytes = items.len().saturating_mul(size_of::<T>());
        self.reserve(buffer_bytes);
        // Items that are in order already form one run.
        let mut runs: Vec<usize> = Vec::new();
        for (index, pair) in items.windows(2).enumerate() {
            if self.is_stopped() {
                return;
            }
            if let [a, b] = pair
                && compare(a, b) == Ordering::Greater
            {
                runs.push(index + 1);
            }
        }
        runs.push(items.len());
        let mut merged: Vec<T> = Vec::with_capacity(items.len());
        while runs.len() > 1 {
            let (mut ends, mut start) = (Vec::with_capacity(runs.len().div_ceil(2)), 0);
            for pair in runs.chunks(2) {
                let (middle, end) = match pair {
                    [middle, end] => (*middle, *end),
                    [end] => (*end, *end),
                    _ => break,
                };
                let (mut left, mut right) = (
                    items.get(start..middle).unwrap_or_default().iter().peekable(),
                    items.get(middle..end).unwrap_or_default().iter().peekable(),
                );
                while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                    if self.is_stopped() {
                        return;
                    }
                    let next = if compare(a, b) == Ordering::Greater { right.next() } else { left.next() };
                    merged.extend(next);
                }
                merged.extend(left.chain(right));
                ends.push(end);
                start = end;
            }
            std::mem::swap(items, &mut merged);
            merged.clear();
            runs = ends;
        }
        self.release(buffer_bytes);
    }
}

/// The length of a value in steps, as far as comparing it looks at it.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 512,
        Value::Array(elements) => elements.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn r_req_7_sorting_is_stable_and_ends_when_the_work_does() {
        let mut seed = 7_u64;
        for count in [0, 1, 2, 3, 7, 64, 1_000] {
            let items: Vec<(u64, usize)> = (0..count)
                .map(|index| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (seed >> 59, index)
                })
                .collect();
            let (mut sorted, mut expected) = (items.clone(), items.clone());
            Work::unlimited().sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
            expected.sort_by_key(|item| item.0);
            assert_eq!(sorted, expected);
            let work = Work::new(WorkLimits { max_steps: 100, ..WorkLimits::DEFAULT }, &|| false);
            let compared = Cell::new(0);
            work.sort_by(&mut sorted.iter().rev().copied().collect(), |a, b| {
                compared.set(compared.get() + 1);
                a.0.cmp(&b.0)
            });
            assert!(compared.get() <= 101, "{}", compared.get());
        }
    }

    #[test]
    fn r_req_7_a_caller_who_is_gone_ends_the_work() {
        let work = Work::new(WorkLimits::DEFAULT, &|| true);
        assert!(work.check().is_ok());
        work.spend(5_000);
        assert!(work.check().is_err());
        let work = Work::new(WorkLimits { max_bytes: 1_000, ..WorkLimits::DEFAULT }, &|| false);
        work.reserve(600);
        work.release(600);
        work.reserve(700);
        assert!(!work.is_stopped());
        work.reserve(700);
        assert!(work.check().is_err());
    }
}
