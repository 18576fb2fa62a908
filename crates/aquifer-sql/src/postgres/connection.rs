//! One connection to a PostgreSQL server, and how connections are made.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config};

use super::error;
use super::tls::Tls;
use crate::error::SqlError;

/// How long to wait for somebody else's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long connecting may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections.
pub(super) struct Manager {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) timeout: Duration,
    pub(super) writes: bool,
}

/// One connection.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) abort_handle: AbortHandle,
    pub(super) tls: Tls,
    pub(super) prepared: HashMap<String, (tokio_postgres::Statement, u64), foldhash::fast::RandomState>,
    pub(super) uses: u64,
    /// Whether a statement runs of which nobody has seen the end.
    pub(super) is_busy: bool,
    /// Whether a transaction is open. A caller may leave in the middle of one.
    pub(super) in_transaction: bool,
}

impl Connection {
    /// Whether somebody else may use it.
    pub(super) fn is_usable(&self) -> bool {
        !(self.client.is_closed() || self.is_busy || self.in_transaction)
    }
}

impl Manager {
    pub(super) async fn create(&self) -> Result<Connection, SqlError> {
        let timeout = CONNECT_TIMEOUT.min(self.timeout);
        tokio::time::timeout(timeout, self.connect()).await.unwrap_or_else(|_| {
            let reason = "its server does not answer".to_owned();
            Err(SqlError::Unavailable { reason, cause: "connecting took too long".to_owned() })
        })
    }

    async fn connect(&self) -> Result<Connection, SqlError> {
        let (client, abort_handle) = self.tls.connect(&self.config).await?;
        let read_only = if self.writes { "off" } else { "on" };
        // Answers are in UTC and in forms that can be read back, whatever the server's or the role's settings are.
        let session = format!(
            "SET default_transaction_read_only = {read_only}; SET statement_timeout = {}; SET timezone = 'UTC'; \
             SET datestyle = 'ISO, YMD'; SET intervalstyle = 'iso_8601'; SET extra_float_digits = 1; \
             SET bytea_output = 'hex'; SET idle_in_transaction_session_timeout = {}; SET lock_timeout = {}",
            self.timeout.as_millis(),
            self.timeout.as_millis() * 2,
            // Before the statement's own time is over: then it is known what it waited for.
            LOCK_TIMEOUT.min(self.timeout / 2).as_millis().max(1),
        );
        client.batch_execute(&session).await.map_err(|error| error::from_driver(&error))?;
        let tls = self.tls.clone();
        Ok(Connection {
            client,
            abort_handle,
            tls,
            prepared: HashMap::default(),
            uses: 0,
            is_busy: false,
            in_transaction: false,
        })
    }
}
