//! A clock that never goes back, for everything that expires.
//!
//! The system clock can be set back: by a time server, by an administrator, or when a virtual machine is resumed.
//! Expired tokens would then be valid again. [`SteadyClock`] therefore follows the system clock while that advances.
//! While the system clock is behind, it continues from the latest time at the pace of the monotonic clock. A system
//! clock that was set far ahead and corrected leaves the steady clock ahead, but never frozen: everything still expires
//! after its lifetime.
//!
//! A process loses its latest time when it ends. State stores therefore keep the latest time they were used at,
//! and advance the clock of every process that uses them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Clock, SharedClock};

/// The start of the year 2200, in nanoseconds. A later time comes from a broken clock and is ignored: once accepted, it
/// could never be undone.
const MAX_NANOS: i64 = 7_258_118_400_000_000_000;

/// A larger jump is logged.
const NOTABLE_JUMP: Duration = Duration::from_secs(60);

/// A clock that never decreases.
pub trait MonotonicClock: Send + Sync + 'static {
    /// The time since a fixed point in the past.
    fn elapsed(&self) -> Duration;
}

/// The operating system's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemMonotonicClock(Instant);

impl Default for SystemMonotonicClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl MonotonicClock for SystemMonotonicClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that never goes back. See the module documentation.
pub struct SteadyClock {
    wall: SharedClock,
    monotonic: Box<dyn MonotonicClock>,
    /// The offset from the monotonic clock, in nanoseconds. It only grows.
    offset: AtomicI64,
    /// When the last issued item expires, in nanoseconds since the epoch.
    needed_until: AtomicI64,
}

impl SteadyClock {
    /// Creates a clock that follows `wall` while that advances.
    pub fn new(wall: SharedClock) -> Self {
        Self::with_monotonic(wall, SystemMonotonicClock::default())
    }

    /// Like [`new`](Self::new), with another monotonic clock.
    pub fn with_monotonic(wall: SharedClock, monotonic: impl MonotonicClock) -> Self {
        let clock = Self {
            wall,
            monotonic: Box::new(monotonic),
            offset: AtomicI64::new(0),
            needed_until: AtomicI64::new(i64::MIN),
        };
        clock.nanos();
        clock
    }

    /// Records that something was issued that is valid until then. Until then the time has to be stored regularly, so
    /// that it is not lost with the process.
    pub fn need_until(&self, moment: Timestamp) {
        self.needed_until.fetch_max(nanos_of(moment), Ordering::Relaxed);
    }

    /// Whether anything that was issued may still be valid.
    pub fn is_needed(&self) -> bool {
        self.nanos() <= self.needed_until.load(Ordering::Relaxed)
    }

    /// Nanoseconds since the epoch. The wall clock is read first: if the thread is suspended between the two readings,
    /// the result is still correct, and the pause is not added to the offset.
    fn nanos(&self) -> i64 {
        let wall = nanos_of(self.wall.now());
        let elapsed = self.elapsed();
        let current = self.offset.load(Ordering::Relaxed);
        let wanted = wall.saturating_sub(elapsed);
        let offset = if wanted > current && wall < MAX_NANOS {
            self.offset.fetch_max(wanted, Ordering::Relaxed).max(wanted)
        } else {
            current
        };
        offset.saturating_add(elapsed)
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.monotonic.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        timestamp_of(self.nanos())
    }

    fn wall_time(&self) -> Timestamp {
        self.wall.wall_time()
    }

    fn advance_to(&self, moment: Timestamp) {
        let (moment, now) = (nanos_of(moment), self.nanos());
        if moment <= now || moment >= MAX_NANOS {
            return;
        }
        self.offset.fetch_max(moment.saturating_sub(self.elapsed()), Ordering::Relaxed);
        let behind = Duration::from_nanos(moment.abs_diff(now));
        if behind > NOTABLE_JUMP {
            tracing::warn!(
                seconds = behind.as_secs(),
                "the system clock is behind the latest time in the state store: confirmations and limits continue from \
                 the later time"
            );
        }
    }
}

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Nanoseconds since the epoch in 64 bits: 128 bits would dominate the cost of a reading.
fn nanos_of(moment: Timestamp) -> i64 {
    let seconds = moment.as_second().saturating_mul(NANOS_PER_SECOND);
    seconds.saturating_add(i64::from(moment.subsec_nanosecond()))
}

fn timestamp_of(nanos: i64) -> Timestamp {
    let subsec = i32::try_from(nanos % NANOS_PER_SECOND).unwrap_or_default();
    Timestamp::new(nanos / NANOS_PER_SECOND, subsec).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::super::SystemClock;
    use super::*;

    /// Both clocks in seconds, set by the test.
    #[derive(Clone, Default)]
    struct ManualClocks {
        wall: Arc<AtomicI64>,
        monotonic: Arc<AtomicI64>,
    }

    impl Clock for ManualClocks {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.wall.load(Ordering::SeqCst)).unwrap()
        }
    }

    impl MonotonicClock for ManualClocks {
        fn elapsed(&self) -> Duration {
            Duration::from_secs(self.monotonic.load(Ordering::SeqCst).unsigned_abs())
        }
    }

    const START: i64 = 1_700_000_000;
    const DAY: i64 = 24 * 60 * 60;

    fn steady() -> (ManualClocks, SteadyClock) {
        let clocks = ManualClocks::default();
        clocks.wall.store(START, Ordering::SeqCst);
        (clocks.clone(), SteadyClock::with_monotonic(Arc::new(clocks.clone()), clocks))
    }

    #[test]
    fn r_saf_3_time_never_goes_back_and_never_stands_still() {
        // (seconds that pass, adjustment of the wall clock, expected seconds since the start)
        let table = [
            (10, 0, 10),
            (10, -600, 20),
            (10, 0, 30),
            (10, -DAY, 40),
            (0, DAY + 600, 40),
            (10, 0, 50),
            (0, 4 * 365 * DAY, 50 + 4 * 365 * DAY),
            (0, -4 * 365 * DAY, 50 + 4 * 365 * DAY),
            (10, 0, 60 + 4 * 365 * DAY),
        ];
        let (clocks, clock) = steady();
        for (step, (passed, set, shown)) in table.into_iter().enumerate() {
            clocks.monotonic.fetch_add(passed, Ordering::SeqCst);
            clocks.wall.fetch_add(passed + set, Ordering::SeqCst);
            assert_eq!(clock.now().as_second() - START, shown, "step {step}");
            assert_eq!(clock.wall_time(), clocks.now(), "step {step}");
        }
    }

    #[test]
    fn r_saf_3_a_clock_learns_how_late_it_is_and_continues_from_there() {
        let (clocks, clock) = steady();
        let advance = |seconds: i64| clock.advance_to(Timestamp::from_second(START + seconds).unwrap());
        advance(-50);
        assert_eq!(clock.now().as_second(), START, "an earlier time changes nothing");
        advance(600);
        assert_eq!(clock.now().as_second(), START + 600);
        clocks.monotonic.fetch_add(10, Ordering::SeqCst);
        assert_eq!(clock.now().as_second(), START + 610, "it advances while the wall clock is behind");
        clocks.wall.fetch_add(700, Ordering::SeqCst);
        assert_eq!(clock.now().as_second(), START + 700, "and follows the wall clock once that is ahead");
    }

    #[test]
    fn r_saf_3_an_implausible_time_is_ignored() {
        let (clocks, clock) = steady();
        clock.advance_to(Timestamp::MAX);
        clocks.wall.store(Timestamp::MAX.as_second(), Ordering::SeqCst);
        clocks.monotonic.fetch_add(7, Ordering::SeqCst);
        assert_eq!(clock.now().as_second(), START + 7, "it advances with the monotonic clock");
        let broken = SteadyClock::with_monotonic(Arc::new(clocks.clone()), clocks.clone());
        broken.advance_to(Timestamp::from_second(START).unwrap());
        clocks.monotonic.fetch_add(1, Ordering::SeqCst);
        assert_eq!(broken.now().as_second(), START + 1, "a clock that was wrong from the start learns the time");
    }

    #[test]
    fn r_saf_3_the_time_is_needed_until_what_was_issued_ends() {
        let (clocks, clock) = steady();
        assert!(!clock.is_needed());
        clock.need_until(Timestamp::from_second(START + 5).unwrap());
        clock.need_until(Timestamp::from_second(START + 3).unwrap());
        for (passed, needed) in [(4, true), (1, true), (1, false)] {
            clocks.monotonic.fetch_add(passed, Ordering::SeqCst);
            assert_eq!(clock.is_needed(), needed);
        }
    }

    #[test]
    fn r_saf_3_threads_that_share_a_clock_never_see_it_go_back() {
        let clock = Arc::new(SteadyClock::new(Arc::new(SystemClock)));
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let clock = clock.clone();
                std::thread::spawn(move || {
                    let mut before = clock.now();
                    for step in 0..10_000_i64 {
                        if step % 1_000 == thread {
                            clock.advance_to(before + Duration::from_secs(1));
                        }
                        let now = clock.now();
                        assert!(now >= before);
                        before = now;
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
