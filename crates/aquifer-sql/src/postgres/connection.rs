//! One connection to a PostgreSQL server, and how connections are made.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config};

use super::error;
use super::tls::Tls;
use crate::error::SqlError;

/// How long to wait for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for connecting.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Creates connections.
pub(super) struct Manager {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) timeout: Duration,
    pub(super) writes: bool,
}

pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) abort_handle: AbortHandle,
    pub(super) tls: Tls,
    pub(super) prepared: HashMap<String, (tokio_postgres::Statement, u64), foldhash::fast::RandomState>,
    pub(super) uses: u64,
    /// Whether a statement is running whose result has not been received.
    pub(super) is_busy: bool,
    /// Whether a transaction is open, because a caller may have been dropped within one.
    pub(super) in_transaction: bool,
}

impl Connection {
    /// Whether the connection can be reused.
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
        // Results are in UTC and in formats that can be read back, whatever the settings of the server or role.
        let session = format!(
            "SET default_transaction_read_only = {read_only}; SET statement_timeout = {}; SET timezone = 'UTC'; \
             SET datestyle = 'ISO, YMD'; SET intervalstyle = 'iso_8601'; SET extra_float_digits = 1; \
             SET bytea_output = 'hex'; SET idle_in_transaction_session_timeout = {}; SET lock_timeout = {}",
            self.timeout.as_millis(),
            self.timeout.as_millis() * 2,
            // Shorter than the statement timeout, so that the error says what the statement waited for.
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
