//! The background tasks of all upstreams in this process, so that it can end them before its runtime ends. A task that
//! still runs then would poll a timer of a runtime that is gone, which panics.

use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

static TASKS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);
static STOP: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Starts a task that `shut_down` waits for. It must end when its upstream is stopped.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    TASKS.spawn(task);
}

/// The token of one upstream. `shut_down` cancels it, too.
pub(crate) fn stop_token() -> CancellationToken {
    STOP.child_token()
}

/// Stops all upstreams of this process for good and waits until their tasks and processes have ended. An upstream that
/// is created later does not start.
pub async fn shut_down() {
    STOP.cancel();
    TASKS.close();
    TASKS.wait().await;
}
