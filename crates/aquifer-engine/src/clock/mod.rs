//! Clocks and random ids. Clocks are passed in, so that tests can control the time.

mod steady;

use std::sync::Arc;

use aquifer_protocol::hex::push_hex;
use jiff::Timestamp;

/// A clock.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;

    /// The time of the system clock, even if it was set back. For records that people compare with other logs.
    fn wall_time(&self) -> Timestamp {
        self.now()
    }

    /// Advances the clock to a time that another process has already seen. Only a [`SteadyClock`] can follow; other
    /// clocks ignore it.
    fn advance_to(&self, _moment: Timestamp) {}
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

pub use steady::MonotonicClock;
pub use steady::SteadyClock;
pub use steady::SystemMonotonicClock;

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// 128 random bits as text. Fails only if the operating system provides no randomness.
pub fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    let mut id = String::with_capacity(prefix.len() + 32);
    id.push_str(prefix);
    push_hex(&mut id, &bytes);
    Ok(id)
}
