//! HTTP APIs as sources.
//!
//! Two parts are pure and one touches the network. [`openapi`] and adapter files ([`Api::from_adapter`]) are turned into an
//! [`Api`]: operations, and the [`Route`] behind each. A route turns the checked parameters of a call into a request
//! ([`Route::request`]). [`client`] sends requests, and [`RestSource`] puts everything together for the engine.

mod adapter;
pub mod api;
pub mod client;
mod description;
pub mod error;
pub mod openapi;
mod pagination;
pub mod route;
mod source;

pub use adapter::{AdapterError, BuildError, beyond_front_matter, build_adapter};
pub use api::{Api, AuthScheme, CredentialPlace, OmittedOperation, Security};
pub use client::{Authenticator, ClientSettings, HttpAnswer, HttpClient, SendRules};
pub use description::fetch_description;
pub use error::RestError;
pub use route::Route;
pub use source::{RestSettings, RestSource};
