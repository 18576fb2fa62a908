//! How often a request may be sent.
//!
//! A call that may change something is sent once: when a session is lost, a login renewed, a redirect received or a
//! connection broken, nobody can tell whether the first copy was carried out. Every path to a transport therefore asks
//! [`Delivery::begin_attempt`] immediately before it hands over the bytes, and a second copy is refused there. After a failure
//! the same record tells whether the operation may have been carried out.
//!
//! For the same reason this is where a call is refused that was decided under a configuration which has been replaced
//! while the call waited for the upstream.

use aquifer_engine::Validity;

use crate::error::UpstreamError;

/// Requests that change nothing, so that a second copy does no harm. What is not listed here is sent once.
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

/// The deliveries of one request, over all its attempts.
#[derive(Debug)]
pub(crate) struct Delivery {
    is_repeatable: bool,
    /// Copies of which a byte may have left us.
    sent: u32,
    /// How many messages a once-only request consists of. Further ones are answers to questions of the upstream.
    rounds: u32,
    /// Whether the request may still be carried out.
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

    /// What a method allows. Tool calls are sent once unless the tool is known to only read.
    pub(crate) fn for_method(method: &str) -> Self {
        if REPEATABLE_METHODS.contains(&method) { Self::repeatable() } else { Self::once_only() }
    }

    /// What a tool allows, as long as the call is valid.
    pub(crate) fn for_tool(only_reads: bool, validity: Validity) -> Self {
        let delivery = if only_reads { Self::repeatable() } else { Self::once_only() };
        Self { validity, ..delivery }
    }

    /// From now on it is sent once: the tool is no longer known to only read. What was sent stays counted.
    pub(crate) fn restrict(&mut self) {
        self.is_repeatable = false;
    }

    /// Asks to send a copy now. Fails if that would be the second copy of a request that is sent once, or if the request
    /// must not be carried out any more.
    pub(crate) fn begin_attempt(&mut self) -> Result<(), UpstreamError> {
        if !self.may_send() {
            return Err(UpstreamError::AlreadySent);
        }
        if self.validity.is_over() {
            return Err(UpstreamError::ConfigurationChanged);
        }
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// No byte of the copy begun last has left us.
    pub(crate) fn mark_unsent(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// The upstream asked for input before it goes on and the client gave some, so there is one more message to send. It
    /// continues the call: the earlier messages are not sent again. Answers of ours, such as declining what is not
    /// allowed, are no reason for another message: an upstream that asks for nothing would get copies of the call.
    pub(crate) fn begin_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Whether a second copy does no harm.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// Whether the present message may be sent.
    pub(crate) fn may_send(&self) -> bool {
        self.is_repeatable || self.sent < self.rounds
    }

    /// Whether the whole request may be made again from its beginning.
    pub(crate) fn may_start_again(&self) -> bool {
        self.is_repeatable || self.sent == 0
    }

    /// Whether something may have been changed unless the upstream says that it refused.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.is_repeatable && self.sent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_are_not_known_to_be_harmless_are_sent_once() {
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
        // A connection that was never made.
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
