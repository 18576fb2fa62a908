//! Errors of requests to an upstream, and the failures that callers see.

mod operation_error;
mod rpc_error;
mod token_name;
mod upstream_error;

pub(crate) use operation_error::OperationError;
pub(crate) use rpc_error::{RpcError, is_inconclusive};
pub(crate) use token_name::{UPSTREAM, token_parameter};
pub use upstream_error::describe_failure;
pub(crate) use upstream_error::{Outage, UpstreamError, unavailable_failure};
