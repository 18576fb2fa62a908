//! Rehearses the operations of a batch that have to be confirmed.

use std::time::{Duration, Instant};

use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;

use super::super::rehearsal::{SnapshotRehearsal, can_rehearse};
use super::BatchRun;
use crate::call::rehearsal::{Rehearsal as _, RehearsalResult};

/// How long the operations of a batch are rehearsed. The rest is confirmed without a rehearsal.
const REHEARSALS_TIMEOUT: Duration = Duration::from_secs(10);

impl BatchRun<'_> {
    /// Rehearses operations before a token for them is issued, and returns those that remain. One that cannot succeed
    /// fails at once, unless an earlier operation of the batch may change that.
    pub(super) async fn rehearse_for_token(&mut self, gated: Vec<usize>) -> Vec<usize> {
        for (index, failure) in self.rehearse(&gated).await {
            self.fail(index, failure);
        }
        self.fail_unresolvable();
        let is_open = |index: &usize| self.entry(*index).is_some_and(|entry| !entry.is_finished);
        gated.into_iter().filter(is_open).collect()
    }

    /// Rehearses operations before a person is asked about them. The client sends the whole batch again with the
    /// answer, so the question is about all of them, and says which would fail; unless none can succeed.
    pub(super) async fn rehearse_for_question(&mut self, gated: Vec<usize>) -> Vec<usize> {
        // An answer means that a person has already decided.
        if !self.context.answers.is_empty() {
            return gated;
        }
        let failures = self.rehearse(&gated).await;
        if failures.len() < gated.len() {
            return gated;
        }
        for (index, failure) in failures {
            self.fail(index, failure);
        }
        self.fail_unresolvable();
        Vec::new()
    }

    /// Rehearses these operations, and returns the failures of those that cannot succeed.
    async fn rehearse(&mut self, gated: &[usize]) -> Vec<(usize, Failure)> {
        let deadline = Instant::now() + REHEARSALS_TIMEOUT;
        let mut failures = Vec::new();
        for index in gated {
            let result = match self.ready(*index).filter(|ready| can_rehearse(&ready.checked)) {
                Some(ready) if Instant::now() < deadline => {
                    let rehearsal = SnapshotRehearsal { snapshot: &ready.snapshot };
                    rehearsal.rehearse(&ready.checked, &self.operation_context).await
                }
                _ => RehearsalResult::Unknown,
            };
            if let RehearsalResult::WouldFail(failure) = &result {
                let failing: Vec<usize> = failures.iter().map(|(index, _)| *index).collect();
                if !self.may_depend_on_earlier(*index, &failing) {
                    failures.push((*index, failure.clone()));
                }
            }
            if let Some(entry) = self.entries.get_mut(*index) {
                entry.rehearsal = result;
            }
        }
        failures
    }

    /// Whether an earlier operation may determine whether this one succeeds: one that changes something in the same
    /// source, or may do so. Operations that fail change nothing.
    fn may_depend_on_earlier(&self, index: usize, failing: &[usize]) -> bool {
        let source = self.ready(index).map(|ready| ready.checked.operation().origin.source.clone());
        let earlier = self.entries.iter().enumerate().take(index);
        let mut open = earlier.filter(|(index, earlier)| !earlier.is_finished && !failing.contains(index));
        open.any(|(_, earlier)| match &earlier.ready {
            Some(ready) => {
                let operation = ready.checked.operation();
                operation.category != Category::Read && Some(&operation.origin.source) == source.as_ref()
            }
            None => true,
        })
    }
}
