//! What is exchanged: requests, batches of them, responses and their warnings.

pub mod batch;
pub mod request;
pub mod response;
pub mod warning;
