//! Adapters written in Rust: the annotated methods of a type become MCP-AQL operations.
//!
//! ```
//! use aquifer_adapter::{Answer, IntoAdapter as _, adapter};
//!
//! struct Greeter;
//!
//! #[adapter]
//! impl Greeter {
//!     /// Greet somebody.
//!     #[operation]
//!     async fn get_greeting(
//!         &self,
//!         /// Whom to greet.
//!         #[schemars(length(min = 1, max = 50))]
//!         name: String,
//!     ) -> Answer<String> {
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//!
//! let source = Greeter.into_adapter().build().unwrap();
//! assert_eq!(&*source.offering().operations[0].name, "get_greeting");
//! ```
//!
//! [`serve_stdio`], [`serve_http`] and [`router`] serve an adapter behind a gate, so that an operation that deletes
//! something asks first. `docs/adapters.md` is the guide.

mod adapter;
mod answer;
mod describe;
mod error;
mod etag;
mod execution;
mod extract;
mod json;
mod params;
mod query;
#[cfg(feature = "serve")]
mod serve;

pub use aquifer_derive::{Etag, adapter};
pub use aquifer_engine::{Caller, Source};
pub use aquifer_protocol::category::Category;
pub use aquifer_protocol::danger::Danger;
pub use aquifer_protocol::error::{Code, Failure, UnexpectedError};
pub use aquifer_protocol::warning::Warning;
pub use aquifer_query::plan;
pub use aquifer_query::{CursorKey, Plan};

pub use adapter::{Adapter, IntoAdapter};
pub use answer::{Answer, IntoAnswer, ItemStream, Reply, WithWarnings};
pub use describe::OperationDraft;
pub use error::{AdapterError, AdapterErrors};
pub use etag::{Etag, IfMatch};
pub use execution::{Execution, Executions, Reporter, Status};
pub use extract::elicitation::Elicitation;
pub use extract::{CallParts, Context, FromCall, Progress};
pub use params::{Binary, DryRun, Items, Patch};
pub use query::{Collection, Page, Query, Scan, VersionedQuery};
#[cfg(feature = "serve")]
pub use serve::{ServeError, engine, router, serve_http, serve_stdio};

/// Used by the expansion of [`adapter`] and [`derive@Etag`].
#[doc(hidden)]
pub mod macros {
    pub use schemars;
    pub use schemars::JsonSchema;
    pub use serde;
    pub use serde::Deserialize;
    pub use serde_json::json;

    pub use crate::answer::{EtagAnswerKind, HandlerResult, PlainAnswerKind, Returned};
    pub use crate::etag::version;
    pub use crate::extract::argument::{Argument, DerivedParameter, ExtractorKind, ParameterKind};
}

/// Definitions that must not compile. What the macro itself refuses is tested in `aquifer-derive`.
///
/// An argument that is neither a parameter nor an extractor:
/// ```compile_fail,E0599
/// use aquifer_adapter::{Answer, adapter};
/// struct Opaque;
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self, opaque: Opaque) -> Answer<u8> {
///         Ok(1)
///     }
/// }
/// ```
///
/// A handler that does not return a `Result`:
/// ```compile_fail,E0277
/// use aquifer_adapter::adapter;
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self) -> u8 {
///         1
///     }
/// }
/// ```
///
/// An answer that cannot be described:
/// ```compile_fail,E0599
/// use aquifer_adapter::{Answer, adapter};
/// struct Opaque;
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self) -> Answer<Opaque> {
///         Ok(Opaque)
///     }
/// }
/// ```
///
/// An extractor of another adapter's state:
/// ```compile_fail,E0599
/// use aquifer_adapter::{Answer, CallParts, FromCall, adapter};
/// struct Desk;
/// struct Shop;
/// struct Till;
/// impl FromCall<Shop> for Till {
///     async fn from_call(_: &mut CallParts<Shop>) -> Answer<Self> {
///         Ok(Till)
///     }
/// }
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self, till: Till) -> Answer<u8> {
///         Ok(1)
///     }
/// }
/// ```
///
/// An error of the adapter's own without a conversion into a `Failure`, passed on with `?`:
/// ```compile_fail,E0277
/// use aquifer_adapter::{Answer, Code, Failure, adapter};
/// #[derive(Debug)]
/// struct Locked;
/// impl std::fmt::Display for Locked {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("The file is locked")
///     }
/// }
/// impl std::error::Error for Locked {}
/// fn lock() -> Result<(), Locked> {
///     Err(Locked)
/// }
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self) -> Answer<u8> {
///         lock()?;
///         Ok(1)
///     }
/// }
/// ```
///
/// The same error as the error of a handler:
/// ```compile_fail,E0277
/// use aquifer_adapter::{Answer, Code, Failure, adapter};
/// #[derive(Debug)]
/// struct Locked;
/// impl std::fmt::Display for Locked {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("The file is locked")
///     }
/// }
/// impl std::error::Error for Locked {}
/// fn lock() -> Result<(), Locked> {
///     Err(Locked)
/// }
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self) -> Result<u8, Locked> {
///         lock()?;
///         Ok(1)
///     }
/// }
/// ```
///
/// With the conversion, both compile:
/// ```
/// use aquifer_adapter::{Answer, Code, Failure, adapter};
/// #[derive(Debug)]
/// struct Locked;
/// impl std::fmt::Display for Locked {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("The file is locked")
///     }
/// }
/// impl std::error::Error for Locked {}
/// impl From<Locked> for Failure {
///     fn from(error: Locked) -> Self {
///         Failure::new(Code::ConflictConstraint, error.to_string())
///     }
/// }
/// fn lock() -> Result<(), Locked> {
///     Err(Locked)
/// }
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation]
///     async fn get_it(&self) -> Answer<u8> {
///         lock()?;
///         Ok(1)
///     }
///     /// Get it once more.
///     #[operation]
///     async fn get_it_again(&self) -> Result<u8, Locked> {
///         lock()?;
///         Ok(1)
///     }
/// }
/// ```
///
/// An unknown argument:
/// ```compile_fail
/// use aquifer_adapter::{Answer, adapter};
/// struct Desk;
/// #[adapter]
/// impl Desk {
///     /// Get it.
///     #[operation(categroy = Read)]
///     async fn get_it(&self) -> Answer<u8> {
///         Ok(1)
///     }
/// }
/// ```
#[cfg(doctest)]
struct MustNotCompile;

/// The programs of the guide are compiled with the crate's own.
#[cfg(all(doctest, feature = "serve"))]
#[doc = include_str!("../../../docs/adapters.md")]
struct AdapterGuide;
