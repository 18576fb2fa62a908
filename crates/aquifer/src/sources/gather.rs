//! Waits for several MCP servers at once, so that a slow one does not hold up the others.
//!
//! A server may take long to start, for example because it is downloaded first, and one that hangs looks the same.
//! After a second, a person at a terminal sees which servers are awaited. Once another source has answered, the wait is
//! limited to a few seconds.

use std::future::Future;
use std::io::IsTerminal as _;
use std::time::Duration;

use crate::terminal;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::Instant;

/// How long to wait for a server if there is something else to show.
const LATE_TIMEOUT: Duration = Duration::from_secs(10);

/// When the progress line appears, and how often it is updated.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Waits for all servers and returns their answers in the same order. The answer is `None` for a server that is late
/// while another one `is_there`. `has_more` means that there is something to show without waiting.
pub(crate) async fn gather<T>(
    asked: Vec<(String, impl Future<Output = T>)>,
    has_more: bool,
    is_there: impl Fn(&T) -> bool,
) -> Vec<Option<T>> {
    gather_within(LATE_TIMEOUT, asked, has_more, is_there).await
}

async fn gather_within<T>(
    late_timeout: Duration,
    asked: Vec<(String, impl Future<Output = T>)>,
    has_more: bool,
    is_there: impl Fn(&T) -> bool,
) -> Vec<Option<T>> {
    let started_at = Instant::now();
    let mut progress = Progress::new();
    let (names, futures): (Vec<String>, Vec<_>) = asked.into_iter().unzip();
    let mut answers: Vec<Option<T>> = names.iter().map(|_| None).collect();
    let numbered = futures.into_iter().enumerate().map(|(index, asked)| async move { (index, asked.await) });
    let mut waiting: FuturesUnordered<_> = numbered.collect();
    let mut ticks = tokio::time::interval_at(started_at + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    let mut has_any = has_more;
    while !waiting.is_empty() {
        tokio::select! {
            Some((index, answer)) = waiting.next() => {
                has_any |= is_there(&answer);
                if let Some(place) = answers.get_mut(index) {
                    *place = Some(answer);
                }
            }
            _ = ticks.tick() => {
                let missing = names.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
                progress.show(missing.map(|(name, _)| name.as_str()), started_at.elapsed());
            }
            () = tokio::time::sleep_until(started_at + late_timeout), if has_any => break,
        }
    }
    answers
}

/// The message about a server that took too long.
pub(crate) fn late_message(name: &str) -> String {
    format!("Source '{name}' did not answer within {} s", LATE_TIMEOUT.as_secs())
}

/// A line on the terminal that names the awaited servers. Dropping this removes it.
struct Progress {
    is_terminal: bool,
    is_shown: bool,
}

impl Progress {
    fn new() -> Self {
        let is_dumb = std::env::var("TERM").is_ok_and(|terminal| terminal == "dumb");
        Self { is_terminal: std::io::stderr().is_terminal() && !is_dumb, is_shown: false }
    }

    fn show<'a>(&mut self, names: impl Iterator<Item = &'a str>, elapsed: Duration) {
        const MAX_NAMES: usize = 4;
        if !self.is_terminal {
            return;
        }
        let all: Vec<&str> = names.collect();
        let more = all.len().saturating_sub(MAX_NAMES);
        let shown: Vec<String> = all.iter().take(MAX_NAMES).map(|name| format!("'{name}'")).collect();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        self.is_shown = true;
        terminal::replace_line(&format!("waiting for {}{more} ({} s)", shown.join(", "), elapsed.as_secs()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            terminal::replace_line("");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::*;

    fn asked(answers: &[Option<bool>]) -> Vec<(String, futures::future::BoxFuture<'static, bool>)> {
        let future = |answer: &Option<bool>| match answer {
            Some(answer) => ready(*answer).boxed(),
            None => pending().boxed(),
        };
        answers.iter().map(|answer| (String::new(), future(answer))).collect()
    }

    #[tokio::test]
    async fn a_server_that_hangs_keeps_nobody_waiting_who_is_there() {
        const LATE: Duration = Duration::from_millis(10);
        let gathered = async |answers: &[Option<bool>], has_more| {
            gather_within(LATE, asked(answers), has_more, |is_there| *is_there).await
        };
        // All answer.
        assert_eq!(gathered(&[Some(true), Some(false)], false).await, [Some(true), Some(false)]);
        assert_eq!(gathered(&[Some(false)], false).await, [Some(false)]);
        assert_eq!(gathered(&[], false).await, []);
        // One hangs, but another answers, or there is something else to show.
        assert_eq!(gathered(&[None, Some(true)], false).await, [None, Some(true)]);
        assert_eq!(gathered(&[None], true).await, [None]);
        // Without another source, the wait is not shortened.
        let alone = tokio::time::timeout(LATE * 10, gathered(&[None, Some(false)], false)).await;
        assert!(alone.is_err());
    }
}
