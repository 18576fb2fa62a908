//! Confirms the operations of a batch that need it: with a token for the whole batch, or by one question.

use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::error::Failure;
use aquifer_protocol::response::Response;

use super::{BatchRun, ReadyRequest, Reply};
use crate::gate::{BatchConfirmation, BatchDecision, BatchToken, ConfirmationMethod};

impl BatchRun<'_> {
    /// Whether an operation has to be confirmed and is not confirmed yet.
    pub(super) fn is_unconfirmed(&self, index: usize) -> bool {
        let is_covered = self.grant.as_ref().is_some_and(|grant| grant.covers(index));
        let is_gated = |ready: &ReadyRequest| ready.confirmation.is_some() && ready.own_token().is_none();
        !is_covered && self.ready(index).is_some_and(is_gated)
    }

    pub(super) fn unconfirmed(&self) -> Vec<usize> {
        (0..self.entries.len()).filter(|index| self.is_unconfirmed(*index)).collect()
    }

    /// Uses a token that was sent for the batch as a whole, before anything runs.
    pub(super) async fn redeem_token(&mut self, sent: Option<String>) -> TokenStep {
        let own_token = || (0..self.entries.len()).find_map(|index| self.ready(index)?.own_token().map(str::to_owned));
        let is_of_batch = sent.is_some();
        let Some(token) = sent.or_else(own_token) else { return TokenStep::Next };
        let is_gated =
            |ready: &ReadyRequest| ready.confirmation.is_some() && ready.own_token().is_none_or(|own| own == token);
        let open = self.open();
        let gated: Vec<usize> = open.iter().copied().filter(|index| self.ready(*index).is_some_and(is_gated)).collect();
        let decision = {
            let sent = if is_of_batch { BatchToken::OfBatch(&token) } else { BatchToken::OfOperation(&token) };
            let batch = BatchConfirmation { entries: self.batch_entries(&open, &gated), token: Some(sent) };
            let snapshot = self.engine.snapshot();
            snapshot.gate().confirm_batch(&batch, &self.operation_context).await
        };
        match decision {
            BatchDecision::Confirmed(grant) => self.grant = Some(grant),
            BatchDecision::Wait { failure, indices } => {
                if let (Some(first), ConfirmStep::Halted) = (indices.first(), self.wait(&indices, &failure)) {
                    return TokenStep::Halted(*first);
                }
            }
            BatchDecision::Refuse(failure) => return TokenStep::Refused(self.refuse(failure)),
            BatchDecision::Ask(question) => return TokenStep::Refused(self.refuse(question.into_failure())),
            // A token for one operation. If it was sent beside the operations, it is for the first that needs one.
            BatchDecision::NotForBatch => {
                if let Some(first) = gated.first().copied().filter(|_| is_of_batch)
                    && let Some(entry) = self.entries.get_mut(first)
                    && let Some(request) = &mut entry.request
                {
                    request.metadata.confirmation = Some(token);
                    entry.ready = None;
                    self.prepare(first).await;
                }
            }
        }
        TokenStep::Next
    }

    /// Asks the user once about everything that needs it, before anything but reads has run.
    pub(super) async fn ask_first(&mut self) -> Option<Reply> {
        if std::mem::replace(&mut self.is_question_settled, true)
            || self.grant.is_some()
            || !self.context.interaction.can_ask()
        {
            return None;
        }
        self.prepare_all().await;
        self.fail_unresolvable();
        let gated = self.rehearse_for_question(self.unconfirmed()).await;
        let by_question = |index: &usize| {
            self.ready(*index).is_some_and(|ready| ready.confirmation == Some(ConfirmationMethod::Question))
        };
        if gated.is_empty() || !gated.iter().all(by_question) {
            return None;
        }
        let decision = {
            let snapshot = self.engine.snapshot();
            let batch = BatchConfirmation { entries: self.batch_entries(&self.open(), &gated), token: None };
            snapshot.gate().confirm_batch(&batch, &self.context).await
        };
        match decision {
            BatchDecision::Confirmed(grant) => {
                self.grant = Some(grant);
                None
            }
            BatchDecision::Ask(question) => Some(Reply::NeedsInput(question)),
            BatchDecision::Refuse(failure) => Some(self.refuse(failure)),
            BatchDecision::Wait { .. } | BatchDecision::NotForBatch => None,
        }
    }

    /// Collects the confirmations that this operation and those after it need.
    pub(super) async fn confirm_rest(&mut self, index: usize) -> ConfirmStep {
        self.prepare_all().await;
        self.fail_unresolvable();
        let gated = self.unconfirmed();
        // The usual confirmation of one operation also works outside of this batch.
        if gated.len() < 2 {
            return ConfirmStep::EachAlone;
        }
        let gated = self.rehearse_for_token(gated).await;
        if !gated.contains(&index) {
            return ConfirmStep::Skipped;
        }
        if gated.len() < 2 {
            return ConfirmStep::EachAlone;
        }
        let sent_again = match self.engine.settings().on_confirmation {
            OnConfirmation::Halt => self.open(),
            OnConfirmation::Skip => gated.clone(),
        };
        let decision = {
            let snapshot = self.engine.snapshot();
            let batch = BatchConfirmation { entries: self.batch_entries(&sent_again, &gated), token: None };
            snapshot.gate().confirm_batch(&batch, &self.operation_context).await
        };
        match decision {
            BatchDecision::Wait { failure, indices } if indices.contains(&index) => self.wait(&indices, &failure),
            _ => ConfirmStep::EachAlone,
        }
    }

    /// Marks operations that wait for one confirmation.
    fn wait(&mut self, indices: &[usize], failure: &Failure) -> ConfirmStep {
        let mut indices = indices.iter();
        match self.engine.settings().on_confirmation {
            OnConfirmation::Halt => {
                if let Some(first) = indices.next() {
                    self.push(*first, Response::Failure(failure.clone()));
                }
                ConfirmStep::Halted
            }
            OnConfirmation::Skip => {
                for index in indices {
                    self.push(*index, Response::Failure(failure.clone()));
                }
                ConfirmStep::Skipped
            }
        }
    }
}

/// What happens after the token of a batch was checked.
pub(super) enum TokenStep {
    /// The batch runs.
    Next,
    /// Nothing runs.
    Refused(Reply),
    /// The batch stops before this operation.
    Halted(usize),
}

/// What happens after confirmations were collected.
pub(super) enum ConfirmStep {
    /// The batch stops.
    Halted,
    /// The operations that wait are left out.
    Skipped,
    /// Each operation is confirmed by itself.
    EachAlone,
}
