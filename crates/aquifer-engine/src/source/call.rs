//! A call, as its source gets it.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value};

use crate::call::configuration::Validity;
use crate::call::{Context, PageRequest};

/// A call to a source.
#[derive(Debug)]
pub struct Call {
    /// The source's own name of the operation.
    pub name: Arc<str>,
    /// The operation from the catalog.
    pub operation: Arc<Operation>,
    /// The parameters, checked and complete.
    pub params: Map<String, Value>,
    /// The context of the call.
    pub context: Arc<Context>,
    /// The prefix of resource URIs for the caller, if there are several sources: a URI in a result has to lead back to
    /// its source.
    pub uri_prefix: Option<Arc<str>>,
    /// The token budget of the answer. A source that returns pages or groups ends them within it; the engine shortens
    /// other answers.
    pub max_tokens: Option<usize>,
    /// The page of a list, for operations whose [`Shaping`](aquifer_protocol::operation::Shaping) is paged.
    pub page: PageRequest,
    /// Whether the call may still be carried out. A source that queues calls checks again after the wait.
    pub validity: Validity,
    /// Decides about other operations that the call is led to.
    pub targets: TargetCheck,
}

/// Judges an operation that the source of a call is led to, as if the caller had called it.
pub(crate) trait TargetJudge: Send + Sync {
    /// Whether this operation of the source may be called with these parameters, in place of the one that was called.
    fn judge_target(
        &self,
        called: &Operation,
        own_name: &Arc<str>,
        params: &Map<String, Value>,
        context: &Context,
    ) -> Result<(), Failure>;
}

/// Decides whether a call may be led to another operation of its source, for example by a redirect.
#[derive(Clone)]
pub struct TargetCheck {
    /// `None` for a rehearsal, which is led nowhere.
    judge: Option<Arc<dyn TargetJudge>>,
    /// The operation that was called.
    called: Arc<Operation>,
    context: Arc<Context>,
}

impl TargetCheck {
    pub(crate) fn new(judge: Option<Arc<dyn TargetJudge>>, called: Arc<Operation>, context: Arc<Context>) -> Self {
        Self { judge, called, context }
    }

    /// Judges the operation with this name of the source, with the parameters that it would have, as if the caller had
    /// called it. Another operation than that of the call is refused if it does more than read.
    ///
    /// # Errors
    ///
    /// If the caller may not call it, or not without confirmation. The message names the operation, which may be
    /// concealed from the caller.
    pub fn judge(&self, own_name: &Arc<str>, params: &Map<String, Value>) -> Result<(), Failure> {
        let judge = self.judge.as_ref().ok_or_else(target_gone)?;
        judge.judge_target(&self.called, own_name, params, &self.context)
    }
}

/// The failure for a target that does not exist any more.
pub(crate) fn target_gone() -> Failure {
    Failure::new(Code::NotFoundOperation, "The operation is gone")
}

impl std::fmt::Debug for TargetCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TargetCheck").field("called", &self.called.name).finish_non_exhaustive()
    }
}
