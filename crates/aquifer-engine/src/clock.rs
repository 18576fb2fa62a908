//! Time and chance, passed in so that tests can hold them still.

mod steady;

use std::sync::Arc;

use aquifer_protocol::hex::push_hex;
use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;

    /// What the system's clock shows, even if that was set back: for records that people compare with other logs.
    fn wall_time(&self) -> Timestamp {
        self.now()
    }

    /// Tells the clock that it is at least this late, because somebody else has seen that time already. Only a
    /// [`SteadyClock`] can follow.
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

/// 128 unguessable bits as text. Fails only where the operating system has no randomness to give.
pub(crate) fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    let mut id = String::with_capacity(prefix.len() + 32);
    id.push_str(prefix);
    push_hex(&mut id, &bytes);
    Ok(id)
}
