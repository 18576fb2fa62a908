//! Encodes answers.
//!
//! The answer to a tool call is a [`payload`]. A direct call is answered with its bytes; the SDK gets its own result
//! type, made from the same payload. A [`refusal`] answers a message that is not processed further.

pub(crate) mod payload;
pub(crate) mod refusal;
