//! Checks how a person changed a call before approving it.

use aquifer_engine::rehearsal::RehearsalResult;
use aquifer_protocol::validate::Checked;

use super::SafetyGate;
use crate::confirm::Findings;
use crate::confirm::approvals::{ReviewedApproval, Status};
use crate::confirm::edit::{CallEdit, EditError};

impl SafetyGate {
    /// Checks a changed call, which the engine has validated as `request`. Policy decides about it as if its caller had
    /// sent it: what a rule denies cannot be approved. `rehearsed` is what trying the changed call has found.
    pub fn check_edit(
        &self,
        reviewed: &ReviewedApproval,
        request: Checked,
        rehearsed: &RehearsalResult,
    ) -> Result<CallEdit, EditError> {
        let approval = reviewed.approval();
        if approval.status != Status::Pending {
            return Err(EditError::Over { id: approval.id.clone(), status: approval.status });
        }
        if !self.confirmations.allows_edits() || !approval.is_editable {
            return Err(EditError::NotEditable);
        }
        let edit = CallEdit::new(reviewed, request)?;
        let prepared = self.prepare(edit.request().operation());
        let decision = self.decide_policy(&prepared, edit.request(), &reviewed.asking_context().caller);
        if let Some(denied) = decision.failure(edit.request().operation()) {
            return Err(EditError::Refused(denied));
        }
        match rehearsed {
            RehearsalResult::WouldFail(failure) => Err(EditError::Refused(failure.clone())),
            result => {
                let findings = Findings { preview: result.preview(), obstacle: None };
                Ok(edit.with_preview(findings.summary()))
            }
        }
    }
}
