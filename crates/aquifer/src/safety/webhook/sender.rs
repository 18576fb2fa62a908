//! Sends notices, one after the other.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use aquifer_net::{client_builder_for, is_secure};
use jiff::Timestamp;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, Url};
use tokio::sync::{mpsc, watch};

use super::Notice;
use super::signature::sign;
use crate::config::{check_webhook_secret, check_webhook_url};

/// Carries the time and the signature.
pub(super) const SIGNATURE_HEADER: &str = "x-aquifer-signature";

/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before the second and the third attempt.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Sends notices to one address.
pub(super) struct Sender {
    client: Client,
    url: Url,
    secret: String,
    pub(super) retry_delays: [Duration; 2],
}

/// What came of an attempt.
enum Attempt {
    /// The notice has arrived.
    Delivered,
    /// Another attempt may succeed.
    Failed(String),
    /// Another attempt would fail, too.
    Refused(String),
}

impl Sender {
    /// Checks the settings. The address is not quoted in errors, because it may contain a credential.
    pub(super) fn new(url: &str, secret: &str) -> anyhow::Result<Self> {
        check_webhook_url(url).map_err(anyhow::Error::msg)?;
        check_webhook_secret(secret).map_err(anyhow::Error::msg)?;
        let Ok(url) = Url::parse(url) else { bail!("approvals.webhook is not a URL") };
        // Both parsers have to agree about what is sent where.
        if !is_secure(&url) {
            bail!("approvals.webhook has to begin with https://. http:// is allowed for this machine only");
        }
        let client = client_builder_for(&url).timeout(ATTEMPT_TIMEOUT).build();
        let client = client.context("approvals.webhook cannot be used")?;
        Ok(Self { client, url, secret: secret.to_owned(), retry_delays: RETRY_DELAYS })
    }

    /// Sends all notices until there is nobody left who could add one.
    pub(super) async fn run(self, mut notices: mpsc::Receiver<Notice>, outstanding: Arc<watch::Sender<usize>>) {
        while let Some(notice) = notices.recv().await {
            // After an outage, nobody needs to hear of approvals that are over.
            let is_over = notice.expires_at < Timestamp::now();
            if !is_over && let Err(error) = self.send(&notice).await {
                tracing::warn!(approval = notice.id, error, "the webhook was not told about an approval");
            }
            outstanding.send_modify(|count| *count = count.saturating_sub(1));
        }
    }

    /// Sends a notice. Returns why it did not arrive.
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        let body = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
        let mut delays = self.retry_delays.into_iter();
        loop {
            let failure = match self.attempt(&body).await {
                Attempt::Delivered => return Ok(()),
                Attempt::Refused(answer) => return Err(answer),
                Attempt::Failed(failure) => failure,
            };
            let Some(delay) = delays.next() else { return Err(failure) };
            tokio::time::sleep(delay).await;
        }
    }

    async fn attempt(&self, body: &[u8]) -> Attempt {
        let signature = sign(self.secret.as_bytes(), Timestamp::now(), body);
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, signature)
            .body(body.to_vec());
        match request.send().await.map(|response| response.status()) {
            Ok(status) if status.is_success() => Attempt::Delivered,
            Ok(status) if is_temporary(status) => Attempt::Failed(format!("it answered {status}")),
            Ok(status) => Attempt::Refused(format!("it answered {status}")),
            // The address may contain a credential, so it is not logged.
            Err(error) => Attempt::Failed(describe(&error.without_url())),
        }
    }
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}
