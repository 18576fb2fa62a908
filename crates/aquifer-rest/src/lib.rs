//! HTTP APIs as sources.
//!
//! Only one part performs I/O. [`openapi`] and adapter files ([`Api::from_adapter`]) produce an [`Api`]: its operations
//! and the [`Route`] of each. A route builds a request from the validated parameters of a call ([`Route::request`]).
//! [`client`] sends requests, and [`RestSource`] exposes the API to the engine as a source.

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
pub use api::{Api, AuthScheme, CredentialPlace, OmittedOperation, UnservedRequest};
pub use client::{Authenticator, ClientSettings, HttpAnswer, HttpClient, SendRules};
pub use description::fetch_description;
pub use error::RestError;
pub use route::{Route, Security};
pub use source::{RestSettings, RestSource};
