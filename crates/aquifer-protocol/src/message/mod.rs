//! Messages: requests, batches, responses and warnings.

pub mod batch;
pub mod reference;
pub mod request;
pub mod response;
pub mod warning;
