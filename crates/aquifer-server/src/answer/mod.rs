//! How an answer becomes bytes.
//!
//! Whichever path a tool call takes, its answer is a [`payload`], for which there is one encoder; [`splice`] carries it
//! past the SDK. A [`refusal`] answers a message that goes no further.

pub(crate) mod payload;
pub(crate) mod refusal;
pub(crate) mod splice;
