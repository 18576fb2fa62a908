//! Checks how a person changed a call before approving it.

use aquifer_protocol::validate::Checked;

use super::SafetyGate;
use crate::confirm::approvals::{ReviewedApproval, Status};
use crate::confirm::edit::{CallEdit, EditError};

impl SafetyGate {
    /// Checks a changed call, which the engine has validated as `request`. Policy decides about it as if its caller had
    /// sent it: what a rule denies cannot be approved. It decides again when the caller sends the call.
    pub fn check_edit(&self, reviewed: &ReviewedApproval, request: Checked) -> Result<CallEdit, EditError> {
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
        match decision.failure(edit.request().operation()) {
            Some(denied) => Err(EditError::Refused(denied)),
            None => Ok(edit),
        }
    }
}
