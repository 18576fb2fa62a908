//! A bounded pool of connections.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;

use super::connection::{Connection, Manager};
use crate::error::SqlError;
use crate::work::fair_permits::{FairPermits, Holder, Permit, Purpose};
use crate::work::session::Work;

/// A bounded pool. The connection used last is reused first, because its server-side caches are warm.
pub(super) struct Pool {
    manager: Manager,
    #[expect(clippy::vec_box, reason = "the box moves between the pool and its users, the connection does not")]
    idle: Mutex<Vec<Box<Connection>>>,
    permits: FairPermits,
    timeout: Duration,
}

/// A connection taken from the pool. It is returned when dropped, or closed if it cannot be reused.
pub(super) struct PooledConnection<'p> {
    pool: &'p Pool,
    /// `Some` until it is dropped.
    connection: Option<Box<Connection>>,
    _permit: Permit,
}

impl Pool {
    pub(super) fn new(manager: Manager, size: usize, timeout: Duration) -> Self {
        let permits = FairPermits::new(size, !manager.writes);
        Self { manager, idle: Mutex::default(), permits, timeout }
    }

    /// Takes a connection as soon as one is available for this caller.
    pub(super) async fn acquire(&self, holder: Holder) -> Result<PooledConnection<'_>, SqlError> {
        self.acquire_with(holder, || Purpose::Any).await
    }

    /// Takes a connection for work as soon as one is available.
    pub(super) async fn acquire_for(&self, work: &impl Work) -> Result<PooledConnection<'_>, SqlError> {
        self.acquire_with(work.holder(), || work.purpose()).await
    }

    async fn acquire_with(
        &self,
        holder: Holder,
        purpose: impl FnOnce() -> Purpose,
    ) -> Result<PooledConnection<'_>, SqlError> {
        let permit = self.permits.acquire(holder, purpose, self.timeout).await?;
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => Box::new(self.manager.create().boxed().await?),
        };
        Ok(PooledConnection { pool: self, connection: Some(connection), _permit: permit })
    }

    fn take_idle(&self) -> Option<Box<Connection>> {
        let mut idle = self.idle.lock();
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
            self.pool.idle.lock().push(connection);
        }
    }
}
