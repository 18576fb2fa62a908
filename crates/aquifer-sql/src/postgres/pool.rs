//! Connections that are lent, one to each call, and kept for the next.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::{Connection, Manager};
use crate::error::SqlError;

/// So many connections and no more. The one used last is lent first: its server has everything at hand.
pub(super) struct Pool {
    manager: Manager,
    #[expect(clippy::vec_box, reason = "lent as they are, not moved about")]
    idle: Mutex<Vec<Box<Connection>>>,
    free: Semaphore,
    timeout: Duration,
}

/// A connection on loan. It goes back when it is dropped, or ends if it cannot be used again.
pub(super) struct PooledConnection<'p> {
    pool: &'p Pool,
    /// There until it is dropped.
    connection: Option<Box<Connection>>,
    _permit: SemaphorePermit<'p>,
}

impl Pool {
    pub(super) fn new(manager: Manager, size: usize, timeout: Duration) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self { manager, idle: Mutex::default(), free: Semaphore::new(size), timeout }
    }

    /// Takes a connection, when it is one's turn.
    pub(super) async fn acquire(&self) -> Result<PooledConnection<'_>, SqlError> {
        let permit = match self.free.try_acquire() {
            Ok(permit) => permit,
            // Boxed, as all that is rare: whoever takes a connection would carry it.
            Err(_) => tokio::time::timeout(self.timeout, self.free.acquire())
                .boxed()
                .await
                .ok()
                .and_then(Result::ok)
                .ok_or(SqlError::Busy { reason: "too many requests wait for it" })?,
        };
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => Box::new(self.manager.create().boxed().await?),
        };
        Ok(PooledConnection { pool: self, connection: Some(connection), _permit: permit })
    }

    fn take_idle(&self) -> Option<Box<Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Servers that went away took all of their connections along.
        while let Some(connection) = idle.pop() {
            if connection.is_usable() {
                return Some(connection);
            }
        }
        None
    }
}

impl Deref for PooledConnection<'_> {
    type Target = Connection;

    #[expect(clippy::expect_used, reason = "only dropping takes it")]
    fn deref(&self) -> &Connection {
        self.connection.as_deref().expect("a connection on loan")
    }
}

impl DerefMut for PooledConnection<'_> {
    #[expect(clippy::expect_used, reason = "only dropping takes it")]
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_deref_mut().expect("a connection on loan")
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|connection| connection.is_usable()) {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
