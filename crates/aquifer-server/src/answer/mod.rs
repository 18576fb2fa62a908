//! Encodes answers.
//!
//! The answer to a tool call is a [`payload`] with a single encoder, whichever path the call takes; [`splice`] carries
//! it past the SDK. A [`refusal`] answers a message that is not processed further.

pub(crate) mod payload;
pub(crate) mod refusal;
pub(crate) mod splice;
