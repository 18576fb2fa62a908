//! How often a request may be sent.
//!
//! A request that may change something is sent once, unless the target recognizes a copy by its idempotency key. Before
//! each copy leaves, [`Delivery::begin_attempt`] is asked, and a second copy is refused there. After a failure the same
//! record tells whether the operation may have been carried out.

use std::sync::Arc;

use aquifer_engine::Validity;

use crate::api::Security;
use crate::error::RestProblem;
use crate::route::Route;

/// What an operation does at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// It only reads, whatever its method is.
    Reads,
    /// It may change something, whatever its method is: there are APIs that send messages by GET.
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
    /// Which credentials it needs.
    pub security: Security,
    /// Whether the request may still be carried out.
    pub validity: Validity,
}

impl SendRules {
    /// The rules for a request of a route.
    pub fn for_route(route: &Route, effect: Effect, validity: Validity) -> Self {
        let (idempotency_header, security) = (route.idempotency_header.clone(), route.security.clone());
        Self { effect, idempotency_header, security, validity }
    }
}

/// The deliveries of one request across all attempts.
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

    /// Asks to send a copy now.
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

    /// No byte of the latest copy was sent.
    pub(super) fn mark_unsent(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// Whether a second copy does no harm.
    pub(super) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// Whether a copy may be sent now.
    pub(super) fn may_send(&self) -> bool {
        self.is_repeatable || self.sent == 0
    }

    /// Whether the target may have changed something, unless it reports a refusal.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.changes_nothing && self.sent > 0
    }
}
