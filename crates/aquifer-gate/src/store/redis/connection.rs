//! One connection to Redis, opened when needed and reopened after an error.
//!
//! No command is sent twice, because an interrupted one may have run. So an idle connection is tested before it is
//! used, and a connection that timed out is discarded.

use std::time::{Duration, Instant};

use aquifer_engine::store::StoreError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, RedisResult};
use tokio::sync::Mutex;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The total time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// After being idle for this long, a connection is tested before it is used.
const MAX_IDLE: Duration = Duration::from_secs(10);
/// How long calls fail immediately after a failed connection attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct RedisConnection {
    client: Client,
    address: String,
    state: Mutex<ConnectionState>,
}

#[derive(Default)]
struct ConnectionState {
    connection: Option<MultiplexedConnection>,
    /// Numbers the connections, so that only the failed one is discarded.
    number: u64,
    used: Option<Instant>,
    failed: Option<(Instant, StoreError)>,
}

impl RedisConnection {
    pub(super) fn new(client: Client) -> Self {
        let address = client.get_connection_info().addr().to_string();
        Self { client, address, state: Mutex::default() }
    }

    pub(super) async fn run<T>(
        &self,
        act: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        self.run_with_timeout(CALL_TIMEOUT, act).await
    }

    async fn run_with_timeout<T>(
        &self,
        timeout: Duration,
        act: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let work = async {
            let (number, mut connection) = self.connection().await?;
            match act(&mut connection).await {
                Ok(output) => Ok(output),
                Err(error) => {
                    if error.is_io_error() || error.is_unrecoverable_error() {
                        self.discard(number).await;
                    }
                    Err(self.describe_error(&error))
                }
            }
        };
        tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| Err(self.timeout_error()))
    }

    /// The connection and its number. The lock ensures that only one caller connects.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), StoreError> {
        let mut state = self.state.lock().await;
        let idle = state.used.is_none_or(|used| used.elapsed() > MAX_IDLE);
        if let Some(mut connection) = state.connection.take()
            && (!idle || is_alive(&mut connection).await)
        {
            state.used = Some(Instant::now());
            state.connection = Some(connection.clone());
            return Ok((state.number, connection));
        }
        if let Some((when, error)) = &state.failed
            && when.elapsed() < RETRY_INTERVAL
        {
            return Err(error.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let made = timeout(
            CONNECT_TIMEOUT + RESPONSE_TIMEOUT,
            self.client.get_multiplexed_async_connection_with_config(&config),
        )
        .await;
        let failure = match made {
            Ok(Ok(connection)) => {
                tracing::info!(address = self.address, "connected to Redis");
                *state = ConnectionState {
                    connection: Some(connection.clone()),
                    number: state.number.wrapping_add(1),
                    used: Some(Instant::now()),
                    failed: None,
                };
                return Ok((state.number, connection));
            }
            Ok(Err(error)) => self.describe_error(&error),
            Err(_) => self.timeout_error(),
        };
        state.failed = Some((Instant::now(), failure.clone()));
        Err(failure)
    }

    async fn discard(&self, number: u64) {
        let mut state = self.state.lock().await;
        if state.number == number {
            state.connection = None;
        }
    }

    fn timeout_error(&self) -> StoreError {
        StoreError(format!("Redis at {} did not answer in time", self.address))
    }

    /// Describes an error without the server's text, which may echo the command.
    fn describe_error(&self, error: &RedisError) -> StoreError {
        if error.is_timeout() {
            return self.timeout_error();
        }
        let what = match error.kind() {
            _ if error.is_connection_refusal() => "refuses connections".to_owned(),
            ErrorKind::Io => "cannot be reached, or closed the connection".to_owned(),
            ErrorKind::AuthenticationFailed => "does not accept the user or the password".to_owned(),
            _ => match error.code().filter(|code| is_code(code)) {
                Some("NOAUTH" | "WRONGPASS") => "does not accept the user or the password".to_owned(),
                Some("NOPERM") => "does not allow its user to do this".to_owned(),
                Some("OOM") => "has no memory left".to_owned(),
                Some(code) => format!("answered {code}"),
                None => format!("failed: {}", error.category()),
            },
        };
        StoreError(format!("Redis at {} {what}", self.address))
    }
}

async fn is_alive(connection: &mut MultiplexedConnection) -> bool {
    redis::cmd("PING").query_async::<()>(connection).await.is_ok()
}

fn is_code(text: &str) -> bool {
    text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}
