//! How often a request may be sent.
//!
//! A request that may change something is sent once, unless the target recognizes a copy by its idempotency key. Every
//! copy must pass [`Delivery::begin_attempt`], which refuses a second one. After a failure, the same record shows
//! whether the target may have carried out the operation.

use std::sync::Arc;

use aquifer_engine::Validity;
use aquifer_engine::trace::Trace;
use reqwest::{Method, Url};

use crate::error::RestProblem;
use crate::route::Route;
use crate::route::Security;

/// What an operation does at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// It only reads, regardless of its method.
    Reads,
    /// It may change something, regardless of its method: some APIs send messages by GET.
    #[default]
    Changes,
}

/// The rules for sending a request.
#[derive(Debug, Clone, Default)]
pub struct SendRules {
    /// What the operation does.
    pub effect: Effect,
    /// The header for a random key by which the target recognizes a copy.
    pub idempotency_header: Option<Arc<str>>,
    /// The credentials that the request needs.
    pub security: Security,
    /// Whether the request may still be carried out.
    pub validity: Validity,
    /// Records what is sent and returned, if somebody follows the call.
    pub trace: Trace,
    /// Judges redirects. Without one, all redirects to the same origin are followed.
    pub links: Option<Arc<dyn LinkCheck>>,
}

/// Decides whether a call may be led to another URL of its target.
pub trait LinkCheck: std::fmt::Debug + Send + Sync {
    /// Whether the caller may send a request with this method to this URL.
    fn allows(&self, method: &Method, url: &Url) -> bool;
}

impl SendRules {
    /// The rules for a request of a route.
    pub fn for_route(route: &Route, effect: Effect, validity: Validity) -> Self {
        let (idempotency_header, security) = (route.idempotency_header.clone(), route.security.clone());
        Self { effect, idempotency_header, security, validity, trace: Trace::default(), links: None }
    }
}

/// Tracks how often a request was sent across all attempts.
#[derive(Debug)]
pub(super) struct Delivery {
    is_repeatable: bool,
    changes_nothing: bool,
    /// Copies of which at least one byte may have been sent.
    sent: u32,
    validity: Validity,
}

impl Delivery {
    pub(super) fn new(rules: &SendRules) -> Self {
        let changes_nothing = rules.effect == Effect::Reads;
        let has_key = rules.idempotency_header.is_some();
        let is_repeatable = changes_nothing || has_key;
        Self { is_repeatable, changes_nothing, sent: 0, validity: rules.validity.clone() }
    }

    /// Records that a copy is about to be sent, or refuses it.
    pub(super) fn begin_attempt(&mut self) -> Result<(), RestProblem> {
        if !self.may_send() {
            return Err(RestProblem::AlreadySent);
        }
        if self.validity.is_expired() {
            return Err(RestProblem::ConfigurationChanged);
        }
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// Records that no byte of the latest copy was sent.
    pub(super) fn mark_unsent(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// Whether a second copy is harmless.
    pub(super) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// Whether the operation is one that changes something.
    pub(super) fn may_change(&self) -> bool {
        !self.changes_nothing
    }

    /// Whether a copy may be sent now.
    pub(super) fn may_send(&self) -> bool {
        self.is_repeatable || self.sent == 0
    }

    /// Whether the target may have changed something. A reported refusal rules that out.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.changes_nothing && self.sent > 0
    }
}
