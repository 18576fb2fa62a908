//! A bounded pool of connections.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::{Connection, Manager};
use crate::error::SqlError;

/// A bounded pool. The connection used last is reused first, because its server-side caches are warm.
pub(super) struct Pool {
    manager: Manager,
    #[expect(clippy::vec_box, reason = "the box moves between the pool and its users, the connection does not")]
    idle: Mutex<Vec<Box<Connection>>>,
    free: Semaphore,
    timeout: Duration,
}

/// A connection taken from the pool. It is returned when dropped, or closed if it cannot be reused.
pub(super) struct PooledConnection<'p> {
    pool: &'p Pool,
    /// `Some` until it is dropped.
    connection: Option<Box<Connection>>,
    _permit: SemaphorePermit<'p>,
}

impl Pool {
    pub(super) fn new(manager: Manager, size: usize, timeout: Duration) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self { manager, idle: Mutex::default(), free: Semaphore::new(size), timeout }
    }

    /// Takes a connection as soon as one is available.
    pub(super) async fn acquire(&self) -> Result<PooledConnection<'_>, SqlError> {
        let permit = match self.free.try_acquire() {
            Ok(permit) => permit,
            // Boxed because it is rare: otherwise every caller's future would contain it.
            Err(_) => tokio::time::timeout(self.timeout, self.free.acquire())
                .boxed()
                .await
                .ok()
                .and_then(Result::ok)
                .ok_or(SqlError::Busy { reason: "too many requests are waiting for it" })?,
        };
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => Box::new(self.manager.create().boxed().await?),
        };
        Ok(PooledConnection { pool: self, connection: Some(connection), _permit: permit })
    }

    fn take_idle(&self) -> Option<Box<Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that was restarted has closed all of its connections.
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

    #[expect(clippy::expect_used, reason = "set until drop")]
    fn deref(&self) -> &Connection {
        self.connection.as_deref().expect("the connection is present until drop")
    }
}

impl DerefMut for PooledConnection<'_> {
    #[expect(clippy::expect_used, reason = "set until drop")]
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_deref_mut().expect("the connection is present until drop")
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|connection| connection.is_usable()) {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
