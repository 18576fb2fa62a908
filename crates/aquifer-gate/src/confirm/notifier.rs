//! Telling others that an approval is waiting.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::approvals::Approval;

/// Is told about every approval that waits for a person.
pub trait ApprovalNotifier: Send + Sync + 'static {
    /// Called once for each approval, after it was stored. The caller gets its answer only after this returns, so it
    /// must neither block nor wait. Nobody learns of a failure.
    fn on_created(&self, approval: &Approval);

    /// Waits, for a limited time, until everybody was told. Called before the process ends.
    fn flush(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}
