//! HTTP APIs as sources.
//!
//! Two parts are pure and one touches the network. [`openapi`] and [`adapter`] turn a description into an [`Api`]:
//! operations, and the [`Route`] behind each. A route turns the checked parameters of a call into a request
//! ([`Route::request`]). [`client`] sends requests, and [`RestSource`] puts everything together for the engine.

pub mod api;
pub mod client;
pub mod error;
pub mod route;

pub use api::{Api, AuthScheme, CredentialPlace, OmittedOperation};
pub use client::{Authenticator, ClientSettings, HttpAnswer, HttpClient, SendRules};
pub use error::RestError;
pub use route::Route;
