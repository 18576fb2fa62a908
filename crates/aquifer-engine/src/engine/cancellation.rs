//! Ends a call when its caller cancels.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_util::sync::CancellationToken;

/// Runs a future until it is ready or the caller cancels. If it is ready at once, nothing waits for cancellation.
pub(super) async fn run_unless_cancelled<T>(
    running: impl Future<Output = T>,
    cancelled: &CancellationToken,
) -> Option<T> {
    if cancelled.is_cancelled() {
        return None;
    }
    let mut running = pin!(running);
    if let Poll::Ready(output) = poll_fn(|task| Poll::Ready(running.as_mut().poll(task))).await {
        return Some(output);
    }
    let mut cancelled = pin!(cancelled.cancelled());
    // It was polled just now. Polling it again without an event would take a future that yields for one that is ready.
    let mut was_polled = true;
    poll_fn(|task| {
        if cancelled.as_mut().poll(task).is_ready() {
            return Poll::Ready(None);
        }
        if std::mem::take(&mut was_polled) {
            return Poll::Pending;
        }
        running.as_mut().poll(task).map(Some)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Context;

    use futures::task::noop_waker_ref;

    use super::*;

    /// Counts how often it is polled, and is ready after this many times.
    async fn ready_after(polls: usize, counted: &AtomicUsize) -> &'static str {
        poll_fn(|_| match counted.fetch_add(1, Ordering::Relaxed) + 1 {
            count if count >= polls => Poll::Ready("done"),
            _ => Poll::Pending,
        })
        .await
    }

    #[test]
    fn a_future_that_waits_is_polled_once_for_each_event() {
        let (counted, cancelled) = (AtomicUsize::new(0), CancellationToken::new());
        let mut task = Context::from_waker(noop_waker_ref());
        let mut running = pin!(run_unless_cancelled(ready_after(3, &counted), &cancelled));
        for polls in 1..=2 {
            assert!(running.as_mut().poll(&mut task).is_pending());
            assert_eq!(counted.load(Ordering::Relaxed), polls);
        }
        assert_eq!(running.as_mut().poll(&mut task), Poll::Ready(Some("done")));
    }

    #[test]
    fn a_future_that_is_ready_at_once_is_polled_once() {
        let (counted, cancelled) = (AtomicUsize::new(0), CancellationToken::new());
        let mut task = Context::from_waker(noop_waker_ref());
        let running = pin!(run_unless_cancelled(ready_after(1, &counted), &cancelled));
        assert_eq!(running.poll(&mut task), Poll::Ready(Some("done")));
        assert_eq!(counted.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nothing_runs_after_cancellation() {
        let (counted, cancelled) = (AtomicUsize::new(0), CancellationToken::new());
        let mut task = Context::from_waker(noop_waker_ref());
        // It would be ready the next time.
        let mut running = pin!(run_unless_cancelled(ready_after(2, &counted), &cancelled));
        assert!(running.as_mut().poll(&mut task).is_pending());
        cancelled.cancel();
        assert_eq!(running.poll(&mut task), Poll::Ready(None));

        let later = pin!(run_unless_cancelled(ready_after(2, &counted), &cancelled));
        assert_eq!(later.poll(&mut task), Poll::Ready(None));
        assert_eq!(counted.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn cancellation_wakes_a_future_that_waits() {
        let cancelled = CancellationToken::new();
        let running = run_unless_cancelled(std::future::pending::<()>(), &cancelled);
        let (ended, ()) = tokio::join!(running, async { cancelled.cancel() });
        assert_eq!(ended, None);
    }
}
