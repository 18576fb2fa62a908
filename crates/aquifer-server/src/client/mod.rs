//! What is known of the client behind a request, and what can be asked of it.

pub(crate) mod call_context;
pub(crate) mod client_name;
pub(crate) mod question;
pub(crate) mod session_client;
