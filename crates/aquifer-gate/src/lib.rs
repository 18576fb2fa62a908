//! Policy: the one place where an operation that would be accepted can be stopped.
//!
//! [`policy`] decides what is to happen, purely; [`audit`] writes down what did; [`store`] keeps what outlives a request.

pub mod audit;
pub mod policy;
pub mod store;
