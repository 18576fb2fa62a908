//! Limits how often a request is sent.
//!
//! A call that may change data is sent once. After a lost session, a renewed login, a redirect or a broken connection
//! it is unknown whether the first copy was executed. Every path to a transport therefore calls
//! [`Delivery::begin_attempt`] immediately before it hands over the bytes, which refuses a second copy. After a
//! failure, the same record shows whether the operation may have been executed.
//!
//! For the same reason, a call that was authorized under a configuration that has since been replaced is refused here.

use aquifer_engine::Validity;

use crate::error::UpstreamError;

/// Requests that change nothing, so that they can safely be sent twice. All others are sent once.
const REPEATABLE_METHODS: &[&str] = &[
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
];

/// The deliveries of one request across all attempts.
#[derive(Debug)]
pub(crate) struct Delivery {
    is_repeatable: bool,
    /// Copies of which at least one byte may have been sent.
    sent: u32,
    /// Messages of a once-only request. Messages after the first answer questions of the upstream.
    rounds: u32,
    /// Whether the request may still be executed.
    validity: Validity,
}

impl Delivery {
    /// A request that may be sent again.
    pub(crate) fn repeatable() -> Self {
        Self { is_repeatable: true, sent: 0, rounds: 1, validity: Validity::default() }
    }

    /// A request that is never sent twice.
    pub(crate) fn once_only() -> Self {
        Self { is_repeatable: false, sent: 0, rounds: 1, validity: Validity::default() }
    }

    /// Decides by method. Tool calls are sent once.
    pub(crate) fn for_method(method: &str) -> Self {
        if REPEATABLE_METHODS.contains(&method) { Self::repeatable() } else { Self::once_only() }
    }

    /// Decides by tool: only read-only tools may be sent again.
    pub(crate) fn for_tool(only_reads: bool, validity: Validity) -> Self {
        let delivery = if only_reads { Self::repeatable() } else { Self::once_only() };
        Self { validity, ..delivery }
    }

    /// Makes the request once-only, because the tool is no longer known to be read-only. Copies already sent still
    /// count.
    pub(crate) fn restrict(&mut self) {
        self.is_repeatable = false;
    }

    /// Records that a copy is about to be sent. Fails if it would be the second copy of a once-only request, or if the
    /// configuration has changed.
    pub(crate) fn begin_attempt(&mut self) -> Result<(), UpstreamError> {
        if !self.may_send() {
            return Err(UpstreamError::AlreadySent);
        }
        if self.validity.is_expired() {
            return Err(UpstreamError::ConfigurationChanged);
        }
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// Records that no byte of the latest copy was sent.
    pub(crate) fn mark_unsent(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// Allows one more message, after the upstream asked for input and the client answered. The message continues the
    /// call. Our own answers, such as declining a request, do not allow another message: an upstream that keeps asking
    /// would otherwise receive copies of the call.
    pub(crate) fn begin_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Whether the request can safely be sent twice.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// Whether the current message may be sent.
    pub(crate) fn may_send(&self) -> bool {
        self.is_repeatable || self.sent < self.rounds
    }

    /// Whether the whole request may be repeated from the beginning.
    pub(crate) fn may_start_again(&self) -> bool {
        self.is_repeatable || self.sent == 0
    }

    /// Whether the upstream may have changed something, unless it reports a refusal.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.is_repeatable && self.sent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_are_sent_once() {
        for (method, repeatable) in [
            ("initialize", true),
            ("tools/list", true),
            ("resources/read", true),
            ("tools/call", false),
            ("tasks/cancel", false),
            ("TOOLS/LIST", false),
            ("", false),
        ] {
            assert_eq!(Delivery::for_method(method).is_repeatable(), repeatable, "{method}");
        }
    }

    #[test]
    fn a_second_copy_of_a_once_only_request_is_refused() {
        let mut delivery = Delivery::once_only();
        assert!(delivery.may_start_again() && !delivery.is_in_doubt());
        assert!(delivery.begin_attempt().is_ok());
        assert!(delivery.is_in_doubt() && !delivery.may_start_again());
        assert!(matches!(delivery.begin_attempt(), Err(UpstreamError::AlreadySent)));
        // The connection was never established.
        delivery.mark_unsent();
        assert!(delivery.may_start_again() && !delivery.is_in_doubt());
        assert!(delivery.begin_attempt().is_ok());
    }

    #[test]
    fn answers_to_questions_continue_a_call_and_do_not_restart_it() {
        let mut delivery = Delivery::once_only();
        assert!(delivery.begin_attempt().is_ok());
        delivery.begin_round();
        assert!(delivery.may_send() && !delivery.may_start_again());
        assert!(delivery.begin_attempt().is_ok());
        delivery.mark_unsent();
        assert!(delivery.is_in_doubt() && !delivery.may_start_again(), "the first message did leave");
    }

    #[test]
    fn a_tool_that_stopped_being_read_only_is_not_sent_again() {
        let mut delivery = Delivery::repeatable();
        assert!(delivery.begin_attempt().is_ok() && delivery.begin_attempt().is_ok());
        delivery.mark_unsent();
        assert!(delivery.may_start_again());
        delivery.restrict();
        assert!(!delivery.may_start_again() && delivery.begin_attempt().is_err());
    }
}
