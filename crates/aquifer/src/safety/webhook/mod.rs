//! The webhook of approvals: tells another service that a person is needed.
//!
//! It never delays or fails a call: notices go through a bounded queue to one task, which gives up after a few attempts.
//! A notice has no parameters of the call, because those may be confidential and belong to the person who decides.

mod sender;
mod signature;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use aquifer_gate::confirm::ApprovalNotifier;
use aquifer_gate::confirm::approvals::Approval;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use crate::config::ApprovalsConfig;
use sender::Sender;

/// Maximum number of notices that wait to be sent. Further ones are dropped.
const MAX_QUEUED: usize = 256;

/// How long the end of the process waits for notices.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a notice about every approval. The task that sends them ends with the last gate that uses this.
pub(crate) struct ApprovalWebhook {
    queue: mpsc::Sender<Notice>,
    /// The number of notices that were neither delivered nor given up.
    outstanding: Arc<watch::Sender<usize>>,
    explorer_url: Option<String>,
}

/// What the service is told.
#[derive(Debug, Serialize)]
struct Notice {
    id: String,
    source: String,
    operation: String,
    danger: String,
    /// Says what is needed. The question that a person is asked contains values of the call.
    message: String,
    reasons: Vec<String>,
    asked_at: Timestamp,
    expires_at: Timestamp,
    /// The page of the approval, if the address of the explorer is known.
    url: Option<String>,
}

impl ApprovalWebhook {
    /// Starts the task that sends notices. `None` if no webhook is configured.
    pub(crate) fn start(config: &ApprovalsConfig) -> anyhow::Result<Option<Arc<Self>>> {
        let Some(url) = &config.webhook else { return Ok(None) };
        let secret = config.webhook_secret.as_deref().unwrap_or_default();
        let sender = Sender::new(&config.variables.expand(url)?, &config.variables.expand(secret)?)?;
        Ok(Some(Arc::new(Self::with_sender(sender, MAX_QUEUED, config.explorer_url.clone()))))
    }

    fn with_sender(sender: Sender, max_queued: usize, explorer_url: Option<String>) -> Self {
        let (queue, notices) = mpsc::channel(max_queued);
        let outstanding = Arc::new(watch::Sender::new(0));
        tokio::spawn(sender.run(notices, outstanding.clone()));
        Self { queue, outstanding, explorer_url }
    }
}

impl ApprovalNotifier for ApprovalWebhook {
    fn on_created(&self, approval: &Approval) {
        let base = self.explorer_url.as_deref().map(|base| base.trim_end_matches('/'));
        let notice = Notice {
            id: approval.id.clone(),
            source: approval.source.clone(),
            operation: approval.operation.clone(),
            danger: approval.danger.clone(),
            message: format!("'{}' of source '{}' needs an approval", approval.operation, approval.source),
            reasons: approval.reasons.clone(),
            asked_at: approval.asked_at,
            expires_at: approval.expires_at,
            url: base.map(|base| format!("{base}/approvals/{}", approval.id)),
        };
        self.outstanding.send_modify(|count| *count += 1);
        if self.queue.try_send(notice).is_err() {
            self.outstanding.send_modify(|count| *count = count.saturating_sub(1));
            tracing::warn!(approval = approval.id, "the webhook is not told: too many notices wait to be sent");
        }
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        let mut outstanding = self.outstanding.subscribe();
        async move {
            let all = outstanding.wait_for(|count| *count == 0);
            if tokio::time::timeout(FLUSH_TIMEOUT, all).await.is_err() {
                tracing::warn!("the webhook was not told about all approvals: it does not answer");
            }
        }
        .boxed()
    }
}
