//! Remembers approvals whose pages are to open by themselves, until a server can show them.

use std::sync::Arc;

use aquifer_gate::confirm::ApprovalNotifier;
use aquifer_gate::confirm::approvals::Approval;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::config::Config;
use crate::system;

/// Remembers approvals until a server can show them.
pub(crate) struct ApprovalPopup {
    sender: mpsc::Sender<String>,
    created: Mutex<Option<mpsc::Receiver<String>>>,
}

impl ApprovalPopup {
    /// A popup, if pages may open here.
    pub(crate) fn new(config: &Config) -> Option<Arc<Self>> {
        let is_wanted = config.approvals.open_page.unwrap_or(config.approvals.explorer_url.is_none());
        (is_wanted && system::has_browser()).then(|| {
            let (sender, created) = mpsc::channel(1);
            Arc::new(Self { sender, created: Mutex::new(Some(created)) })
        })
    }

    /// The ids of approvals from now on. Only the first caller gets them.
    pub(crate) fn take_created(&self) -> Option<mpsc::Receiver<String>> {
        self.created.lock().take()
    }
}

impl ApprovalNotifier for ApprovalPopup {
    fn on_created(&self, approval: &Approval) {
        // If one is about to open, the others are listed there.
        let _ = self.sender.try_send(approval.id.clone());
    }
}
