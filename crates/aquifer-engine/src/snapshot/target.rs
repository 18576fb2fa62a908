//! Whether the source of a call may be led to another of its operations.

use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value};

use super::Snapshot;
use crate::call::Context;
use crate::source::{TargetJudge, target_gone};

impl TargetJudge for Snapshot {
    fn judge_target(
        &self,
        called: &Operation,
        own_name: &Arc<str>,
        params: &Map<String, Value>,
        context: &Context,
    ) -> Result<(), Failure> {
        let (operation, catalog) = self.operation_of(&called.origin.source, own_name).ok_or_else(target_gone)?;
        if operation.category != Category::Read && operation.name != called.name {
            return Err(Failure::new(Code::PermissionDenied, "Permission denied: the operation does more than read"));
        }
        self.gate().admit_target(operation, params, catalog.types(), context)
    }
}
