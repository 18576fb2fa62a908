//! The context of checks: the connection, the description of the server, requests that are known to work, and the rows
//! that the run created.

mod answer_monitor;
mod check_context;
mod introspect;
mod kinds;
mod prepare;
mod sandbox;
pub(crate) mod values;
mod walk;
mod writes;

pub(crate) use answer_monitor::AnswerMonitor;
pub(crate) use check_context::{CheckContext, SecondSurface, example_params, example_value};
pub(crate) use walk::{Collection, Paging, Walk};
